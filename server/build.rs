//! Puts the style sheet, the icons and, where it has been built, the browser part into the binary, each under an address that
//! holds its content's hash. `src/http/assets.rs` serves them. Nothing is compiled or compressed here: that is xtask's work.

#[path = "../xtask/src/digest.rs"]
mod digest;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const GLUE: &str = "tallystick.js";
const WASM: &str = "tallystick_bg.wasm";
/// Written last by xtask: what the browser part was made from, and its hash.
const MANIFEST: &str = "browser-part.txt";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("..").canonicalize()?;
    let mut table = Table::new(PathBuf::from(std::env::var("OUT_DIR")?));
    embed_style(&root.join("style"), &mut table)?;
    embed_browser_part(&root, &mut table)?;
    table.write()
}

/// The file of constants that `assets.rs` includes.
struct Table {
    folder: PathBuf,
    rows: String,
    stylesheet: String,
    browser_part: String,
}

impl Table {
    fn new(folder: PathBuf) -> Self {
        Self { folder, rows: String::new(), stylesheet: String::new(), browser_part: "None".to_owned() }
    }

    /// Adds one file. Its bytes, and those of its compressed forms, are copied first: the originals may be replaced while
    /// the compiler is still reading.
    fn add(&mut self, address: &str, hash: &str, content: &[u8], packed: &[(&str, PathBuf)]) -> Outcome<()> {
        let copy = format!("{hash}-{}", address.rsplit('/').next().unwrap_or("file"));
        fs::write(self.folder.join(&copy), content)?;
        let mut forms = format!("Form {{ encoding: \"\", bytes: {} }}", include(&copy));
        for (encoding, file) in packed.iter().filter(|(_, file)| file.is_file()) {
            let packed_copy = format!("{copy}.{encoding}");
            fs::copy(file, self.folder.join(&packed_copy))?;
            write!(forms, ", Form {{ encoding: {encoding:?}, bytes: {} }}", include(&packed_copy))?;
        }
        writeln!(self.rows, "    File {{ address: {address:?}, hash: {hash:?}, forms: &[{forms}] }},")?;
        Ok(())
    }

    fn write(&self) -> Outcome<()> {
        let text = format!(
            "const FILES: &[File] = &[\n{}];\nconst STYLESHEET: &str = {:?};\nconst BROWSER_PART: Option<BrowserPart> = {};\n",
            self.rows, self.stylesheet, self.browser_part
        );
        Ok(fs::write(self.folder.join("assets.rs"), text)?)
    }
}

fn include(name: &str) -> String {
    format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\"))")
}

/// All sheets become one, in the order of their file names (the first declares the order of the layers); the other files in
/// the folder are embedded as they are.
fn embed_style(style: &Path, table: &mut Table) -> Outcome<()> {
    println!("cargo::rerun-if-changed={}", style.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(style)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.sort();
    let (sheets, others): (Vec<_>, Vec<_>) = files
        .into_iter()
        .filter(|file| file.is_file())
        .partition(|file| file.extension().is_some_and(|end| end == "css"));
    let mut sheet = Vec::new();
    for file in sheets {
        sheet.extend(fs::read(file)?);
        sheet.push(b'\n');
    }
    table.stylesheet = embed_hashed("tallystick.css", &sheet, table)?;
    for file in others {
        if let Some(name) = file.file_name().and_then(|name| name.to_str()).filter(|name| !name.starts_with('.')) {
            embed_hashed(name, &fs::read(&file)?, table)?;
        }
    }
    Ok(())
}

fn embed_hashed(name: &str, content: &[u8], table: &mut Table) -> Outcome<String> {
    let hash = digest::short(&[content]);
    let address = format!("/assets/{hash}/{name}");
    table.add(&address, &hash, content, &[])?;
    Ok(address)
}

/// A browser part made from other sources than those beside it is left out: pages hydrate only with their own code, and
/// the console works without.
fn embed_browser_part(root: &Path, table: &mut Table) -> Outcome<()> {
    println!("cargo::rerun-if-env-changed=TALLYSTICK_SITE_DIR");
    let chosen = std::env::var_os("TALLYSTICK_SITE_DIR");
    if chosen.as_ref().is_some_and(|folder| folder.is_empty()) {
        return Ok(());
    }
    let site = chosen.map_or_else(|| root.join("target/site"), PathBuf::from);
    // Cargo would run this at every build while it watches something that is not there.
    fs::create_dir_all(&site)?;
    println!("cargo::rerun-if-changed={}", site.display());
    let Ok(manifest) = fs::read_to_string(site.join(MANIFEST)) else {
        return Ok(());
    };
    for source in digest::BROWSER_SOURCES.iter().map(|source| root.join(source)).filter(|source| source.exists()) {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    if field(&manifest, "source") != Some(digest::of_browser_sources(root)?.as_str()) {
        println!(
            "cargo::warning=left out the browser part: it was built from other sources (`cargo xtask wasm` builds it anew)"
        );
        return Ok(());
    }
    let hash = field(&manifest, "hash").ok_or("the browser part's manifest names no hash")?;
    for name in [GLUE, WASM] {
        let packed = [("br", site.join(format!("{name}.br"))), ("gzip", site.join(format!("{name}.gz")))];
        table.add(&format!("/pkg/{hash}/{name}"), hash, &fs::read(site.join(name))?, &packed)?;
    }
    table.browser_part =
        format!("Some(BrowserPart {{ glue_url: \"/pkg/{hash}/{GLUE}\", wasm_url: \"/pkg/{hash}/{WASM}\" }})");
    Ok(())
}

fn field<'a>(manifest: &'a str, name: &str) -> Option<&'a str> {
    manifest.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

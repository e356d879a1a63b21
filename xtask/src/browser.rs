//! The browser part, from Rust to the four files the server embeds: compile, bind, optimise, minify, name, compress.
//! Skipped when the sources have not changed since it was last made.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::process::{command, fresh_folder, run, say};
use crate::toolchain::{TARGET, WasmToolchain};
use crate::{digest, layout, npm};

/// The package, the profile and the name of what comes out.
pub const PACKAGE: &str = "tallystick-browser";
const PROFILE: &str = "wasm-release";
const GLUE: &str = "tallystick.js";
const WASM: &str = "tallystick_bg.wasm";
/// What `server/build.rs` reads: `source` (see [`digest`]), `hash` and the sizes, one a line.
const MANIFEST: &str = "browser-part.txt";

/// The most that the WebAssembly may weigh on its way to the browser.
pub const LIMIT_BROTLI_BYTES: usize = 250_000;

const WASM_OPT_FLAGS: [&str; 7] = [
    "-Oz",
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// How many bytes a file has as it is and on its way to the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// As it is.
    pub raw: usize,
    /// Compressed with brotli 11.
    pub brotli: usize,
    /// Compressed with gzip 9.
    pub gzip: usize,
}

/// What the finished browser part weighs.
#[derive(Clone, Copy, Debug)]
pub struct BrowserPart {
    /// The WebAssembly.
    pub wasm: Sizes,
    /// The JavaScript that loads it.
    pub glue: Sizes,
}

impl BrowserPart {
    /// Makes it if it is not there or its sources changed, and prints its sizes.
    pub fn ensure() -> Result<Self> {
        let source = digest::of_browser_sources(&layout::root())?;
        let part = match Self::already_made(&source) {
            Some(part) => part,
            None => Self::make(&source)?,
        };
        part.print();
        Ok(part)
    }

    /// The finished WebAssembly, as the server embeds it.
    pub fn wasm_file() -> PathBuf {
        layout::site().join(WASM)
    }

    /// An error when the WebAssembly has grown past the limit.
    pub fn check_limit(&self) -> Result<()> {
        if self.wasm.brotli > LIMIT_BROTLI_BYTES {
            bail!(
                "the browser part weighs {} after brotli; the limit is {}",
                kilobytes(self.wasm.brotli),
                kilobytes(LIMIT_BROTLI_BYTES)
            );
        }
        Ok(())
    }

    fn already_made(source: &str) -> Option<Self> {
        let manifest = fs::read_to_string(layout::site().join(MANIFEST)).ok()?;
        (field(&manifest, "source")? == source).then_some(())?;
        Some(Self { wasm: read_sizes(&manifest, "wasm")?, glue: read_sizes(&manifest, "glue")? })
    }

    fn make(source: &str) -> Result<Self> {
        let toolchain = WasmToolchain::ensure()?;
        let has_npm = npm::is_available();
        if has_npm {
            npm::ensure(&layout::npm_tools(), "optimising the browser part")?;
        } else {
            say(
                "npm is not installed: the browser part stays unoptimised and several times as large; it works all the same",
            );
        }
        let work = layout::front().join("finished");
        fresh_folder(&work)?;
        bind(&compile(toolchain)?, &work)?;
        if has_npm {
            optimise(&work)?;
            minify(&work)?;
        }
        finish(&work, source)
    }

    fn print(&self) {
        println!("  browser part: WebAssembly {}", self.wasm.describe());
        println!("                glue        {}", self.glue.describe());
    }
}

impl Sizes {
    fn describe(self) -> String {
        format!("{} · {} brotli · {} gzip", kilobytes(self.raw), kilobytes(self.brotli), kilobytes(self.gzip))
    }
}

fn compile(toolchain: WasmToolchain) -> Result<PathBuf> {
    say("Compiling the browser part");
    run(toolchain
        .cargo()
        .current_dir(layout::root())
        .args(["build", "--package", PACKAGE, "--target", TARGET, "--profile", PROFILE, "--target-dir"])
        .arg(layout::front())
        .env("CARGO_ENCODED_RUSTFLAGS", remapped_paths().join("\x1f")))?;
    Ok(layout::front().join(TARGET).join(PROFILE).join("tallystick_browser.wasm"))
}

/// Panics name their source files. Without this the names would tell people about the home folder of whoever built it,
/// and the same sources would have another hash on every machine.
fn remapped_paths() -> Vec<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"))).unwrap_or_default();
    let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
    registries.map(|registry| format!("--remap-path-prefix={}=crates", registry.path().display())).collect()
}

/// Uses the library rather than the program, pinned to the version of `wasm-bindgen` itself: the two can never drift apart.
fn bind(compiled: &Path, into: &Path) -> Result<()> {
    Bindgen::new()
        .web(true)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .omit_default_module_path(true)
        .input_path(compiled)
        .out_name("tallystick")
        .generate(into)
        .context("wasm-bindgen could not bind the browser part")
}

fn optimise(work: &Path) -> Result<()> {
    say("Optimising with wasm-opt");
    let wasm = work.join(WASM);
    let optimised = work.join("optimised.wasm");
    run(command(npm::program(&layout::npm_tools(), "wasm-opt"))
        .args(WASM_OPT_FLAGS)
        .arg(&wasm)
        .arg("-o")
        .arg(&optimised))?;
    fs::rename(optimised, wasm)?;
    Ok(())
}

/// Also folds in the snippets that crates may bring along, so that the glue stays one file.
fn minify(work: &Path) -> Result<()> {
    let minified = work.join("minified.js");
    run(command(npm::program(&layout::npm_tools(), "esbuild"))
        .arg(work.join(GLUE))
        .args([
            "--bundle",
            "--format=esm",
            "--minify",
            "--target=es2022",
            "--log-level=warning",
            "--legal-comments=none",
        ])
        .arg(format!("--outfile={}", minified.display())))?;
    fs::rename(minified, work.join(GLUE))?;
    Ok(())
}

fn finish(work: &Path, source: &str) -> Result<BrowserPart> {
    say("Compressing");
    let wasm = fs::read(work.join(WASM))?;
    let glue = fs::read(work.join(GLUE))?;
    let site = layout::site();
    fresh_folder(&site)?;
    let part = BrowserPart { wasm: write_compressed(&site, WASM, &wasm)?, glue: write_compressed(&site, GLUE, &glue)? };
    let lines = [
        format!("source {source}"),
        format!("hash {}", digest::short(&[&wasm, &glue])),
        format!("wasm {}", part.wasm.to_words()),
        format!("glue {}", part.glue.to_words()),
    ];
    // Last, because it is what says that the other files are complete.
    fs::write(site.join(MANIFEST), lines.join("\n") + "\n")?;
    Ok(part)
}

fn write_compressed(site: &Path, name: &str, content: &[u8]) -> Result<Sizes> {
    let brotli = brotli_11(content)?;
    let gzip = gzip_9(content)?;
    fs::write(site.join(name), content)?;
    fs::write(site.join(format!("{name}.br")), &brotli)?;
    fs::write(site.join(format!("{name}.gz")), &gzip)?;
    Ok(Sizes { raw: content.len(), brotli: brotli.len(), gzip: gzip.len() })
}

fn brotli_11(content: &[u8]) -> Result<Vec<u8>> {
    let mut packed = Vec::new();
    let settings =
        brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, size_hint: content.len(), ..Default::default() };
    brotli::BrotliCompress(&mut &content[..], &mut packed, &settings)?;
    Ok(packed)
}

fn gzip_9(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

impl Sizes {
    fn to_words(self) -> String {
        format!("{} {} {}", self.raw, self.brotli, self.gzip)
    }
}

fn read_sizes(manifest: &str, name: &str) -> Option<Sizes> {
    let mut numbers = field(manifest, name)?.split(' ').map_while(|word| word.parse().ok());
    Some(Sizes { raw: numbers.next()?, brotli: numbers.next()?, gzip: numbers.next()? })
}

fn field<'a>(manifest: &'a str, name: &str) -> Option<&'a str> {
    manifest.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

fn kilobytes(bytes: usize) -> String {
    format!("{}.{} kB", bytes / 1000, bytes % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_gives_back_what_was_written() {
        let sizes = Sizes { raw: 434_000, brotli: 150_012, gzip: 182_345 };
        let manifest = format!("source abc\nhash def\nwasm {}\n", sizes.to_words());
        assert_eq!(read_sizes(&manifest, "wasm"), Some(sizes));
        assert_eq!(field(&manifest, "source"), Some("abc"));
        assert_eq!(read_sizes(&manifest, "glue"), None);
        assert_eq!(read_sizes("wasm 1 two 3", "wasm"), None);
    }

    #[test]
    fn sizes_are_shown_in_thousands_of_bytes() {
        assert_eq!(kilobytes(150_099), "150.0 kB");
        assert_eq!(kilobytes(950), "0.9 kB");
    }

    #[test]
    fn the_limit_is_on_brotli() {
        let small = Sizes { raw: 900_000, brotli: LIMIT_BROTLI_BYTES, gzip: 300_000 };
        let large = Sizes { brotli: LIMIT_BROTLI_BYTES + 1, ..small };
        assert!(BrowserPart { wasm: small, glue: small }.check_limit().is_ok());
        assert!(BrowserPart { wasm: large, glue: small }.check_limit().is_err());
    }

    #[test]
    fn what_is_compressed_can_be_unpacked() {
        let content = b"tally ".repeat(500);
        let mut unpacked = Vec::new();
        brotli::BrotliDecompress(&mut &brotli_11(&content).unwrap()[..], &mut unpacked).unwrap();
        assert_eq!(unpacked, content);
        let mut unpacked = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&gzip_9(&content).unwrap()[..]), &mut unpacked)
            .unwrap();
        assert_eq!(unpacked, content);
    }
}

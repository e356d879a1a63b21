//! One digest over the sources the browser part is made of. `server/build.rs` includes this very file: it embeds a built
//! browser part only when it was made from the sources that lie beside it, because pages hydrate only with their own code.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// What the browser part is built from, relative to the checkout. What is not there is passed over.
pub const BROWSER_SOURCES: [&str; 8] = [
    "Cargo.lock",
    "app/Cargo.toml",
    "app/src",
    "app/browser/Cargo.toml",
    "app/browser/src",
    "domain/Cargo.toml",
    "domain/src",
    "domain/contracts",
];

/// Folders that never reach the browser.
const LEFT_OUT: [&str; 3] = ["tests", "snapshots", "proptest-regressions"];

/// The digest of the browser part's sources, as 64 hex digits.
pub fn of_browser_sources(root: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for source in BROWSER_SOURCES {
        collect(&root.join(source), &mut files)?;
    }
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let content = fs::read(&file)?;
        hasher.update(name.as_bytes());
        hasher.update((content.len() as u64).to_le_bytes());
        hasher.update(&content);
    }
    Ok(hex(&hasher.finalize()))
}

/// The first 16 hex digits of the content's SHA-256: long enough that no two builds share an address.
pub fn short(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hex(&hasher.finalize()).chars().take(16).collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_file() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    if !path.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(|name| LEFT_OUT.contains(&name) || name.starts_with('.')) {
            collect(&entry.path(), files)?;
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

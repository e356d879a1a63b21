//! The few tools that come from npm, installed into their own folder from a committed lock file. Nothing is installed globally.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::debian;
use crate::process::{command, find_program, run, say};

/// Whether npm is there at all.
pub fn is_available() -> bool {
    find_program("npm").is_some() && find_program("node").is_some()
}

/// Installs what the folder's lock file names, unless exactly that is installed already.
pub fn ensure(folder: &Path, why: &str) -> Result<()> {
    let lock = fs::read_to_string(folder.join("package-lock.json"))
        .with_context(|| format!("{} has no lock file", folder.display()))?;
    let installed = folder.join("node_modules/.installed-lock.json");
    if fs::read_to_string(&installed).is_ok_and(|text| text == lock) {
        return Ok(());
    }
    if !is_available() {
        debian::install(&["nodejs", "npm"], why)?;
    }
    say(format!("Installing npm packages from the network into {}, for {why}", folder.display()));
    // Playwright would fetch browsers of its own; the journeys use the machine's Chromium.
    run(command("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
        .current_dir(folder))?;
    fs::write(installed, lock)?;
    Ok(())
}

/// A program that the folder's packages brought.
pub fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join("node_modules/.bin").join(name)
}

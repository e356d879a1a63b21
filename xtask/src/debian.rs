//! Installing Debian packages, and saying so before it happens.

use std::process::Stdio;

use anyhow::{Result, bail};

use crate::process::{as_root, command, find_program, run, say, succeeds};

/// Whether packages can be installed here at all.
pub fn is_available() -> bool {
    find_program("apt-get").is_some() && as_root("apt-get").is_some()
}

/// Whether the package is installed.
pub fn is_installed(package: &str) -> bool {
    succeeds(command("dpkg").args(["-s", package]))
}

/// Installs what is missing of `packages`; `why` completes the sentence "… is needed for".
pub fn install(packages: &[&str], why: &str) -> Result<()> {
    let missing: Vec<_> = packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if !is_available() {
        bail!(
            "{why} needs the Debian packages {list}, and this is not a Debian system where they can be installed as root. Install their like by hand and call again"
        );
    }
    say(format!("Installing Debian packages as root from the network, for {why}: {list}"));
    // Package lists are refreshed only when the first attempt fails: most machines have recent ones.
    if apt_get(&["install", "-y", "--no-install-recommends"], &missing).is_ok() {
        return Ok(());
    }
    say("Refreshing Debian's package lists (root, network) and trying again");
    apt_get(&["update"], &[])?;
    apt_get(&["install", "-y", "--no-install-recommends"], &missing)
}

fn apt_get(words: &[&str], packages: &[&str]) -> Result<()> {
    let Some(mut command) = as_root("apt-get") else {
        bail!("apt-get needs root, and there is no sudo here");
    };
    // Its progress fills screens; its errors come on the other output.
    run(command.arg("-qq").args(words).args(packages).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()))
}

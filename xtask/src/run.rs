//! `cargo xtask run`: from a fresh clone to a signed-in browser.

use std::os::unix::process::CommandExt as _;

use anyhow::{Context, Result};

use crate::process::{command, say};
use crate::server::Options;

/// Builds, then becomes the server, which prints the one URL that signs the person in.
pub fn run(options: &Options) -> Result<()> {
    let binary = options.build()?;
    let words = options.arguments()?;
    say("Starting; Ctrl-C stops it");
    let error = command(&binary).args(words).exec();
    Err(error).with_context(|| format!("could not start {}", binary.display()))
}

//! `cargo xtask bench`: the harness programs in `server/benches`, optimised, with a PostgreSQL that really writes to disk.

use std::fs;

use anyhow::{Result, bail};

use crate::browser::BrowserPart;
use crate::layout;
use crate::postgres::{Cluster, Durability};
use crate::process::{cargo, run, say};
use crate::server::build_binary;

/// Tells a bench which PostgreSQL to measure; unlike the tests' it is durable.
const URL_VARIABLE: &str = "TALLYSTICK_BENCH_POSTGRES";

/// Runs one bench, or all; `arguments` go to the programs as they are (`--rows 10000,1000000`).
pub fn bench(name: Option<&str>, arguments: &[String]) -> Result<()> {
    let benches = match name {
        Some(name) => vec![name.to_owned()],
        None => all_benches(),
    };
    if benches.is_empty() {
        bail!("there are no benches in server/benches");
    }
    BrowserPart::ensure()?;
    let binary = build_binary(true, true)?;
    let cluster = Cluster::start(Durability::On)?;
    for bench in benches {
        say(format!("Bench: {bench}"));
        run(cargo()
            .current_dir(layout::root())
            .args(["bench", "--package", "tallystick", "--bench", &bench, "--"])
            .args(arguments)
            .env("TALLYSTICK_BIN", &binary)
            .env(URL_VARIABLE, cluster.url()))?;
    }
    Ok(())
}

fn all_benches() -> Vec<String> {
    let folder = layout::root().join("server/benches");
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

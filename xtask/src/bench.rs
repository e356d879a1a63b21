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

/// Runs one bench, or all when the first word is not a name; the other words go to the programs as they are.
pub fn bench(words: &[String]) -> Result<()> {
    let (name, arguments) = name_and_arguments(words);
    // The rules alone: neither a server nor a database is needed.
    if let Some(name) = name.filter(|name| layout::root().join(format!("domain/benches/{name}.rs")).is_file()) {
        say(format!("Bench: {name}"));
        return run(cargo()
            .current_dir(layout::root())
            .args(["bench", "--package", "tallystick-domain", "--bench", name, "--"])
            .args(arguments));
    }
    let benches = name.map_or_else(all_benches, |name| vec![name.to_owned()]);
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

fn name_and_arguments(words: &[String]) -> (Option<&str>, &[String]) {
    match words.split_first() {
        Some((first, rest)) if !first.starts_with('-') => (Some(first), rest),
        _ => (None, words),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_a_name_unless_it_is_an_option() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given = words("foundation --rows 10000");
        assert_eq!(name_and_arguments(&given), (Some("foundation"), &words("--rows 10000")[..]));
        let given = words("--rows 10000");
        assert_eq!(name_and_arguments(&given), (None, &given[..]));
        assert_eq!(name_and_arguments(&[]), (None, &[][..]));
    }
}

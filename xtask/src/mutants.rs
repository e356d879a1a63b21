//! `cargo xtask mutants`: changes the rules in small ways, one at a time, and counts how many the table tests notice.
//! The mutations come from cargo-mutants; the sample, the order and the results are kept here, so that a run goes on where
//! it was stopped.

mod results;
mod sample;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::process::{capture, cargo, command, fresh_folder, run, say, succeeds};
use crate::{digest, layout, stopwatch};
use results::{Outcome, Results};

const VERSION: &str = "27.1.0";
/// The rules: files of the domain whose names begin so, and folders of these names.
const RULES: [&str; 8] = ["verdict", "outcome", "transition", "decision", "approval", "budget", "layers", "workflow"];
/// What is not run: tests whose names hold one of these. What is left are the tables.
const SKIPPED: [(&str, &str); 13] = [
    ("properties", "draw at random"),
    ("i33_", "draws at random"),
    ("i36_", "walks a space of situations"),
    ("i18_", "draws at random"),
    ("i37_tokens", "draws at random"),
    ("i23_any", "draws at random"),
    ("strictest::tests", "draws at random"),
    ("coverage", "runs every proof again"),
    ("model", "walks a state space"),
    ("desk", "the tests' own tool"),
    ("stream", "whole streams, not rules"),
    ("explained", "snapshots of everything"),
    ("fingerprint", "no rule, and draws at random"),
];
/// How many mutants cargo-mutants gets at a time: what is lost when a run is stopped.
const CHUNK: usize = 10;
/// A mutant that runs so long does not end: the tables take a second.
const TIMEOUT_S: u64 = 60;

#[derive(Args)]
pub struct Options {
    /// How many mutants; all of them if there are fewer
    #[arg(long, default_value_t = 400)]
    sample: usize,
    /// Which ones: the same seed draws the same sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only one of n equal parts of the sample, as k/n with k from 1
    #[arg(long, value_name = "K/N", value_parser = sample::read_shard)]
    shard: Option<sample::Shard>,
    /// Go on with the results that are there, if the sources are the same
    #[arg(long)]
    resume: bool,
}

/// Runs the sample and prints the score.
pub fn mutants(options: &Options) -> Result<()> {
    let tool = ensure_tool()?;
    let folder = layout::root().join("target/mutants");
    fs::create_dir_all(&folder)?;
    let copy = folder.join("copy");
    copy_domain(&copy)?;
    let all = list(&tool, &copy)?;
    let chosen = sample::draw(&all, options.sample, options.seed, options.shard);
    say(format!("Mutants: {} of {} (seed {})", chosen.len(), all.len(), options.seed));
    let mut results = Results::open(&folder.join("results.ndjson"), &sources_digest(&copy)?, options.resume)?;
    let (mut todo, known): (Vec<&String>, Vec<&String>) = chosen.iter().partition(|name| results.of(name).is_none());
    // By file: see `files_of`.
    todo.sort();
    if !known.is_empty() {
        println!("  {} are known from an earlier run", known.len());
    }
    let mut took = Duration::ZERO;
    let mut is_built = false;
    for (index, chunk) in todo.chunks(CHUNK).enumerate() {
        if !is_built {
            baseline(&copy, &folder)?;
            is_built = true;
        }
        let (outcomes, spent) = stopwatch::time(|| run_chunk(&tool, &copy, &folder, chunk));
        results.add(outcomes?)?;
        took += spent.0;
        let done = (index * CHUNK + chunk.len()).min(todo.len());
        let each = took.as_secs_f64() / f64::from(u32::try_from(done).unwrap_or(u32::MAX));
        println!("  {done} of {} in {:.0} s, {each:.1} s each", todo.len(), took.as_secs_f64());
    }
    report(&results, &chosen);
    Ok(())
}

/// Installed into a folder of its own where it is missing; nothing is installed globally.
fn ensure_tool() -> Result<PathBuf> {
    let root = layout::target().join("tools");
    let program = root.join("bin/cargo-mutants");
    let is_there =
        || capture(command(&program).args(["mutants", "--version"])).is_ok_and(|text| text.contains(VERSION));
    if !is_there() {
        say(format!("Installing cargo-mutants {VERSION} from crates.io (network) into {}", root.display()));
        // Unoptimised: it waits for the compiler all its life.
        run(cargo()
            .args(["install", "cargo-mutants", "--version", VERSION, "--locked", "--debug", "--root"])
            .arg(&root))?;
    }
    Ok(program)
}

/// The domain alone, as a workspace of its own: nothing else is resolved, copied or built.
fn copy_domain(copy: &Path) -> Result<()> {
    let root = layout::root();
    let keep = copy.join("target");
    // The build in it is kept: it is what makes a mutant quick.
    for entry in fs::read_dir(copy).into_iter().flatten().flatten().filter(|entry| entry.path() != keep) {
        let path = entry.path();
        if path.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
    }
    fs::create_dir_all(copy)?;
    copy_folder(&root.join("domain"), &copy.join("domain"))?;
    for file in ["Cargo.lock", "clippy.toml"] {
        fs::copy(root.join(file), copy.join(file)).with_context(|| format!("could not copy {file}"))?;
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    fs::write(copy.join("Cargo.toml"), manifest_of_copy(&manifest))?;
    Ok(())
}

/// The workspace's manifest with one member and profiles that build quickest.
fn manifest_of_copy(manifest: &str) -> String {
    let mut out = String::new();
    let mut is_profile = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_profile = line.starts_with("[profile.") || line.starts_with("[[workspace.metadata");
        }
        let line = match line {
            _ if is_profile || line.starts_with("default-members") => continue,
            members if members.starts_with("members = ") => "members = [\"domain\"]",
            other => other,
        };
        out.push_str(line);
        out.push('\n');
    }
    out.push_str("[profile.dev]\ndebug = false\nincremental = true\n\n[profile.dev.package.sha2]\nopt-level = 3\n");
    out
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("could not read {}", from.display()))? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if name == "fuzz" || name == "target" {
            continue;
        }
        if path.is_dir() { copy_folder(&path, &to.join(&name))? } else { fs::copy(&path, to.join(&name)).map(drop)? }
    }
    Ok(())
}

/// What the results stand on: other sources, other mutants.
fn sources_digest(copy: &Path) -> Result<String> {
    let mut files = Vec::new();
    collect(&copy.join("domain/src"), &mut files)?;
    files.sort();
    let contents: Vec<Vec<u8>> = files.iter().map(fs::read).collect::<std::io::Result<_>>()?;
    Ok(digest::short(&contents.iter().map(Vec::as_slice).collect::<Vec<_>>()))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

fn globs() -> Vec<String> {
    let each = |name: &&str| [format!("domain/src/{name}*.rs"), format!("domain/src/{name}*/**/*.rs")];
    RULES.iter().flat_map(each).flat_map(|glob| ["--file".to_owned(), glob]).collect()
}

/// The names of all mutants, as cargo-mutants gives them: file, line, column, and what is changed.
fn list(tool: &Path, copy: &Path) -> Result<Vec<String>> {
    let text = capture(command(tool).current_dir(copy).args(["mutants", "--list"]).args(globs()))?;
    let names: BTreeSet<String> = text.lines().map(str::to_owned).filter(|name| !name.trim().is_empty()).collect();
    if names.is_empty() {
        bail!("cargo-mutants finds nothing to change");
    }
    Ok(names.into_iter().collect())
}

fn test_arguments() -> Vec<&'static str> {
    let skipped = SKIPPED.iter().flat_map(|(name, _)| ["--skip", *name]);
    ["--lib", "--"].into_iter().chain(skipped).collect()
}

/// The unchanged rules must pass first, or everything would count as noticed.
fn baseline(copy: &Path, folder: &Path) -> Result<()> {
    say("Building the domain alone and running its tables unchanged");
    let mut test = cargo();
    test.current_dir(copy).env("CARGO_TARGET_DIR", copy.join("target")).env("INSTA_UPDATE", "no");
    test.args(["test", "--quiet", "--package", "tallystick-domain"]).args(test_arguments());
    fresh_folder(&folder.join("out"))?;
    if succeeds(&mut test) { Ok(()) } else { bail!("the table tests fail on the unchanged rules") }
}

fn run_chunk(tool: &Path, copy: &Path, folder: &Path, names: &[&String]) -> Result<Vec<(String, Outcome)>> {
    let out = folder.join("out");
    fresh_folder(&out)?;
    let mut mutants = command(tool);
    mutants.current_dir(copy).env("CARGO_TARGET_DIR", copy.join("target")).env("INSTA_UPDATE", "no");
    mutants.args(["mutants", "--in-place", "--baseline", "skip", "--no-shuffle", "--colors", "never"]);
    mutants.args(["--timeout", &TIMEOUT_S.to_string(), "--package", "tallystick-domain", "--output"]).arg(&out);
    for file in files_of(names) {
        mutants.args(["--file", file]);
    }
    for name in names {
        mutants.arg("--re").arg(format!("^{}$", sample::escaped(name)));
    }
    mutants.arg("--").args(test_arguments());
    // It ends with an error where a mutant is missed: its files tell.
    let _ = mutants.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).status()?;
    let outcomes = results::read(&out.join("mutants.out"))?;
    let was_run = |name: &&&String| outcomes.iter().any(|(run, _)| run == **name);
    if let Some(name) = names.iter().find(|name| !was_run(name)) {
        bail!("cargo-mutants did not run {name}; see {}", out.display());
    }
    Ok(outcomes)
}

/// The files of some mutants. A name's pattern does not hold back one kind of mutant (fields left out of a struct), which
/// therefore runs whenever its file is named; naming few files keeps that rare.
fn files_of<'a>(names: &[&'a String]) -> BTreeSet<&'a str> {
    names.iter().filter_map(|name| name.split(':').next()).collect()
}

fn report(results: &Results, chosen: &[String]) {
    let of = |outcome| chosen.iter().filter(move |name| results.of(name) == Some(outcome));
    let count = |outcome| of(outcome).count();
    let (caught, missed) = (count(Outcome::Caught), count(Outcome::Missed));
    say("Missed: the tables do not notice");
    of(Outcome::Missed).for_each(|name| println!("  {name}"));
    if count(Outcome::Timeout) > 0 {
        say("Without an end");
        of(Outcome::Timeout).for_each(|name| println!("  {name}"));
    }
    let score = (caught * 1_000).checked_div(caught + missed).unwrap_or_default();
    say(format!(
        "Score: {}.{} % ({caught} caught, {missed} missed); beside it {} without an end, {} that do not compile",
        score / 10,
        score % 10,
        count(Outcome::Timeout),
        count(Outcome::Unviable),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_has_one_member_and_its_own_profile() {
        let manifest = "[workspace]\nmembers = [\"domain\", \"server\"]\ndefault-members = [\"x\"]\n\n[profile.dev]\ndebug = 1\n\n[workspace.dependencies]\nserde = \"1\"\n";
        let made = manifest_of_copy(manifest);
        assert!(
            made.starts_with("[workspace]\nmembers = [\"domain\"]\n\n[workspace.dependencies]\nserde = \"1\"\n"),
            "{made}"
        );
        assert_eq!(made.matches("[profile.dev]").count(), 1);
    }

    #[test]
    fn every_skipped_test_has_a_reason_and_goes_to_the_test_program() {
        assert!(SKIPPED.iter().all(|(_, reason)| !reason.is_empty()));
        let arguments = test_arguments();
        assert_eq!(arguments[..4], ["--lib", "--", "--skip", "properties"]);
    }
}

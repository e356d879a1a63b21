//! `cargo xtask ci`: everything that must hold before a change lands, cheapest first, each step with its minutes.
//! A step that fails does not hide what the later ones find; the run as a whole fails.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::browser::{BrowserPart, PACKAGE as BROWSER_PACKAGE};
use crate::counts::Counts;
use crate::policy::{arrows, browser_graph, licences, unused};
use crate::postgres;
use crate::process::{capture, cargo, run, say};
use crate::rings::{Ring, Selection, WORKSPACE, build_all, run_doc_tests};
use crate::stopwatch::{self, Minutes};
use crate::toolchain::{TARGET, WasmToolchain};
use crate::{layout, npm};

struct Step {
    name: &'static str,
    took: Minutes,
    result: Result<Option<Counts>>,
}

/// Runs every step, or only the named ones, and ends with the table.
pub fn ci(chosen: &[String]) -> Result<()> {
    let mut steps = Vec::new();
    let mut step = |name: &'static str, action: &mut dyn FnMut() -> Result<Option<Counts>>| {
        if !chosen.is_empty() && !chosen.iter().any(|choice| choice == name) {
            return;
        }
        say(format!("CI: {name}"));
        let (result, took) = stopwatch::time(action);
        if let Err(error) = &result {
            println!("  FAILED: {error:#}");
        }
        steps.push(Step { name, took, result });
    };
    step("lock-file", &mut || uncounted(lock_file()));
    step("format", &mut || uncounted(format()));
    step("clippy", &mut || uncounted(clippy()));
    step("clippy-browser", &mut || uncounted(clippy_browser()));
    step("documentation", &mut || uncounted(documentation()));
    step("arrows", &mut || uncounted(arrows::check()));
    step("browser-graph", &mut || uncounted(browser_graph::check_resolved()));
    step("licences", &mut || uncounted(licences::check()));
    step("duplicates", &mut || uncounted(licences::check_duplicates()));
    step("unused", &mut || uncounted(unused::check()));
    step("compile-tests", &mut || uncounted(build_all()));
    let mut postgres = None;
    for ring in [Ring::Tools, Ring::Domain, Ring::Contract, Ring::Server] {
        step(ring.name(), &mut || counted(ring, &mut postgres));
    }
    step("examples", &mut || run_doc_tests().and_then(held));
    step("browser-part", &mut || uncounted(browser_part()));
    step(Ring::Journeys.name(), &mut || counted(Ring::Journeys, &mut postgres));
    drop(postgres);
    if steps.is_empty() {
        bail!("there is no step of that name");
    }
    conclude(&steps)
}

/// The URL for tests, and the cluster where it is ours.
type TestPostgres = (String, Option<postgres::Cluster>);

fn uncounted(result: Result<()>) -> Result<Option<Counts>> {
    result.map(|()| None)
}

/// Starts PostgreSQL before the first ring that needs it. Without one such a ring fails: it is never skipped.
fn counted(ring: Ring, postgres: &mut Option<TestPostgres>) -> Result<Option<Counts>> {
    if ring.needs_postgres() && postgres.is_none() {
        *postgres = Some(postgres::for_tests()?);
    }
    let url = postgres.as_ref().map_or("", |(url, _)| url);
    held(ring.run(Selection::Workspace, url)?)
}

fn held(counts: Counts) -> Result<Option<Counts>> {
    if counts.failed > 0 {
        bail!("{counts}");
    }
    Ok(Some(counts))
}

fn lock_file() -> Result<()> {
    capture(cargo().current_dir(layout::root()).args(["metadata", "--locked", "--format-version", "1"])).map(drop)
}

fn format() -> Result<()> {
    run(cargo().current_dir(layout::root()).args(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<()> {
    let mut command = cargo();
    command.current_dir(layout::root()).args(["clippy", "--all-targets"]).args(WORKSPACE);
    run(command.args(["--", "--deny", "warnings"]))
}

/// Under the browser's own target: code for it alone exists nowhere else.
fn clippy_browser() -> Result<()> {
    let mut command = WasmToolchain::ensure()?.clippy()?;
    command.current_dir(layout::root()).args(["--package", BROWSER_PACKAGE, "--package", "tallystick-app"]);
    command.args(["--features", "tallystick-app/hydrate", "--target", TARGET, "--target-dir"]).arg(layout::front());
    run(command.args(["--", "--deny", "warnings"]))
}

fn documentation() -> Result<()> {
    let mut command = cargo();
    command.current_dir(layout::root()).args(["doc", "--no-deps", "--document-private-items"]).args(WORKSPACE);
    run(command.env("RUSTDOCFLAGS", "--deny warnings"))
}

fn browser_part() -> Result<()> {
    if !npm::is_available() {
        bail!("needs npm: what people download must be the optimised browser part");
    }
    BrowserPart::ensure()?.check_limit()?;
    let wasm = fs::read(BrowserPart::wasm_file()).context("the finished WebAssembly is not there")?;
    browser_graph::check_linked(&wasm)
}

fn conclude(steps: &[Step]) -> Result<()> {
    say("Minutes");
    let mut whole = Minutes::default();
    let mut sum = Counts::default();
    for step in steps {
        let outcome = match &step.result {
            Ok(Some(counts)) => counts.to_string(),
            Ok(None) => "ok".to_owned(),
            Err(_) => "FAILED".to_owned(),
        };
        println!("  {:<20}{}  {outcome}", step.name, step.took);
        whole.0 += step.took.0;
        sum += step.result.as_ref().ok().copied().flatten().unwrap_or_default();
    }
    println!("  {:<20}{}  {sum}", "all", whole);
    let failed: Vec<&str> = steps.iter().filter(|step| step.result.is_err()).map(|step| step.name).collect();
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{} of {} steps failed: {}", failed.len(), steps.len(), failed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failed_step_fails_the_run_and_is_named() {
        let step = |name, result| Step { name, took: Minutes::default(), result };
        assert!(conclude(&[step("format", Ok(None))]).is_ok());
        let error =
            conclude(&[step("format", Ok(None)), step("domain", held(Counts { passed: 1, failed: 2, skipped: 0 }))]);
        assert_eq!(error.unwrap_err().to_string(), "1 of 2 steps failed: domain");
    }
}

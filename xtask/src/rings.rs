//! The rings of tests, cheapest first, and how each is built and run.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::browser::{BrowserPart, PACKAGE as BROWSER_PACKAGE};
use crate::counts::{self, Counts};
use crate::postgres::{Cluster, Durability, URL_VARIABLE};
use crate::process::{cargo, command, find_program, run, run_watched, say, succeeds};
use crate::toolchain::WasmToolchain;
use crate::{debian, layout, npm, python};

/// One ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ring {
    /// The build tool's own tests.
    Tools,
    /// The rules: tables and properties.
    Domain,
    /// The record, through its public use cases, on both engines.
    Contract,
    /// Whole-router tests, and the screens as HTML.
    Server,
    /// Browser journeys on the real binary.
    Journeys,
}

/// Which packages a run compiles. Cargo builds dependencies anew when the selection changes their features, so a run of
/// several rings selects the whole workspace once and filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Only the ring's own packages: quickest for a single ring.
    Ring,
    /// Everything native.
    Workspace,
}

impl Ring {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Tools, Self::Domain, Self::Contract, Self::Server, Self::Journeys];

    /// The word for it on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Domain => "domain",
            Self::Contract => "contract",
            Self::Server => "server",
            Self::Journeys => "journeys",
        }
    }

    /// Whether its tests need a PostgreSQL.
    pub fn needs_postgres(self) -> bool {
        matches!(self, Self::Contract | Self::Server | Self::Journeys)
    }

    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Tools => &["xtask", "tallystick-fuzz", "tallystick-destination"],
            Self::Domain => &["tallystick-domain"],
            Self::Contract => &["tallystick-ledger"],
            Self::Server => &["tallystick-app", "tallystick"],
            Self::Journeys => &[],
        }
    }

    /// Runs the ring; failed tests are counted, not an error. An error means that nothing could be counted.
    pub fn run(self, selection: Selection, postgres_url: &str) -> Result<Counts> {
        self.run_with(selection, postgres_url, &[])
    }

    /// The same with further variables in the tests' environment.
    pub fn run_with(self, selection: Selection, postgres_url: &str, environment: &[(&str, String)]) -> Result<Counts> {
        say(format!("Tests: {}", self.name()));
        if self == Self::Journeys {
            return run_journeys(postgres_url);
        }
        let mut command = cargo();
        command.current_dir(layout::root()).env(URL_VARIABLE, postgres_url);
        if self == Self::Server {
            for stand_in in python::STAND_INS {
                command.env(stand_in.variable, stand_in.ensure()?);
            }
        }
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        if has_nextest() { self.run_nextest(command, selection) } else { self.run_cargo_test(command) }
    }

    fn run_nextest(self, mut command: Command, selection: Selection) -> Result<Counts> {
        command.args([
            "nextest",
            "run",
            "--no-fail-fast",
            "--no-tests=pass",
            "--status-level=pass",
            "--final-status-level=fail",
        ]);
        command.args(self.selection_words(selection));
        let (status, output) = run_watched(&mut command, |line| !line.trim_start().starts_with("PASS ["))?;
        let counts = counts::from_nextest(&output);
        let counts = self.checked(counts, status.success())?;
        if self == Self::Contract && counts.failed == 0 {
            self.compare_engines(&output)?;
        }
        Ok(counts)
    }

    fn run_cargo_test(self, mut command: Command) -> Result<Counts> {
        command.args(["test", "--no-fail-fast", "--all-targets"]).args(self.selection_words(Selection::Ring));
        let (status, output) = run_watched(&mut command, |_| true)?;
        self.checked(counts::from_cargo(&output), status.success())
    }

    fn selection_words(self, selection: Selection) -> Vec<String> {
        let packages = self.packages();
        match selection {
            Selection::Ring => {
                let mut words: Vec<String> =
                    packages.iter().flat_map(|name| ["--package".to_owned(), (*name).to_owned()]).collect();
                if self == Self::Contract {
                    words.extend(["--features".to_owned(), "tallystick-ledger/test-clock".to_owned()]);
                }
                words
            }
            Selection::Workspace => {
                let filter: Vec<_> = packages.iter().map(|name| format!("package(={name})")).collect();
                let mut words: Vec<String> = WORKSPACE.iter().map(|word| (*word).to_owned()).collect();
                words.extend(["--filterset".to_owned(), filter.join(" + ")]);
                words
            }
        }
    }

    /// The same tests must have run on both engines; a suite that skips one proves nothing about it.
    fn compare_engines(self, output: &str) -> Result<()> {
        let sqlite = counts::passed_on(output, "sqlite");
        let postgres = counts::passed_on(output, "postgres");
        println!("  {}: {sqlite} passed on SQLite, {postgres} passed on PostgreSQL", self.name());
        if sqlite != postgres {
            bail!("the contract suite must pass the same number of tests on both engines");
        }
        Ok(())
    }

    fn checked(self, counts: Counts, ended_well: bool) -> Result<Counts> {
        if !ended_well && counts.failed == 0 {
            bail!("the {} tests could not be built or run", self.name());
        }
        Ok(counts)
    }
}

/// All native packages with the features their tests need. The browser part has features that exclude the server's.
pub const WORKSPACE: [&str; 5] = ["--workspace", "--exclude", BROWSER_PACKAGE, "--features", "tallystick/test-clock"];

/// Whether cargo-nextest is installed; `cargo test` does without its summary and its speed.
pub fn has_nextest() -> bool {
    succeeds(cargo().args(["nextest", "--version"]))
}

/// Compiles every native test once, so that the rings' own times are times of testing.
pub fn build_all() -> Result<()> {
    say("Compiling the tests");
    let words: &[&str] = if has_nextest() { &["nextest", "run", "--no-run"] } else { &["test", "--no-run"] };
    run(cargo().current_dir(layout::root()).args(words).args(WORKSPACE))
}

/// The examples in the documentation, which nextest does not run.
pub fn run_doc_tests() -> Result<Counts> {
    say("Tests: examples in the documentation");
    let mut command = cargo();
    command.current_dir(layout::root()).args(["test", "--doc", "--no-fail-fast"]).args(WORKSPACE);
    let (status, output) = run_watched(&mut command, |_| true)?;
    let counts = counts::from_cargo(&output);
    if !status.success() && counts.failed == 0 {
        bail!("the documentation's examples could not be built or run");
    }
    Ok(counts)
}

/// Everything the rings and the browser part need on the machine.
pub fn set_up() -> Result<()> {
    WasmToolchain::ensure()?;
    npm::ensure(&layout::npm_tools(), "optimising the browser part")?;
    npm::ensure(&layout::journeys(), "the browser journeys")?;
    chromium()?;
    for stand_in in python::STAND_INS {
        stand_in.ensure()?;
    }
    drop(Cluster::start(Durability::Off)?);
    say("Everything is there");
    Ok(())
}

fn run_journeys(postgres_url: &str) -> Result<Counts> {
    BrowserPart::ensure()?;
    say("Compiling the server with the browser part in it");
    run(cargo().current_dir(layout::root()).args(["build", "--bin", "tallystick"]).args(WORKSPACE))?;
    let folder = layout::journeys();
    npm::ensure(&folder, "the browser journeys")?;
    let mut command = command(npm::program(&folder, "playwright"));
    command
        .current_dir(&folder)
        .args(["test", "--reporter=list"])
        .env("TALLYSTICK_BIN", layout::server_binary("debug"))
        .env("TALLYSTICK_CHROMIUM", chromium()?)
        .env(URL_VARIABLE, postgres_url);
    let (status, output) = run_watched(&mut command, |_| true)?;
    Ring::Journeys.checked(counts::from_playwright(&output), status.success())
}

/// The machine's Chromium, installed first where it is missing; Playwright's own download is never used.
fn chromium() -> Result<PathBuf> {
    let find = || {
        let chosen = std::env::var_os("TALLYSTICK_CHROMIUM").map(PathBuf::from);
        chosen.or_else(|| ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(find_program))
    };
    if let Some(program) = find() {
        return Ok(program);
    }
    debian::install(&["chromium"], "the browser journeys")?;
    find().context("Chromium is installed but was not found on the search path")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_ring_selects_its_packages_and_all_rings_select_the_workspace() {
        assert_eq!(Ring::Domain.selection_words(Selection::Ring), ["--package", "tallystick-domain"]);
        let words = Ring::Server.selection_words(Selection::Workspace).join(" ");
        assert!(words.starts_with("--workspace --exclude tallystick-browser"));
        assert!(words.ends_with("--filterset package(=tallystick-app) + package(=tallystick)"));
    }

    #[test]
    fn a_ring_that_cannot_be_built_is_an_error_and_a_failed_test_is_a_count() {
        let failed = Counts { passed: 3, failed: 1, skipped: 0 };
        assert_eq!(Ring::Domain.checked(failed, false).unwrap(), failed);
        assert!(Ring::Domain.checked(Counts::default(), false).is_err());
    }

    #[test]
    fn engines_must_agree() {
        let both = "PASS [ 0.1s] l::contract x::sqlite::a\nPASS [ 0.1s] l::contract x::postgres::a\n";
        assert!(Ring::Contract.compare_engines(both).is_ok());
        assert!(Ring::Contract.compare_engines("PASS [ 0.1s] l::contract x::sqlite::a\n").is_err());
    }
}

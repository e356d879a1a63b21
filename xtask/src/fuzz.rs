//! `cargo xtask fuzz`: feeds mutated bytes to every parser of outside bytes in the domain (`domain/fuzz`), optimised and
//! guided by coverage, each target in a process of its own. What fails lies in a file that can be run again.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::layout;
use crate::process::{capture, cargo, command, run, say};

const PACKAGE: &str = "tallystick-fuzz";
/// LLVM's own pass, which stable rustc admits: a counter for each branch. No nightly and no sanitizer is needed.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
                        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters";

#[derive(Args)]
pub struct Options {
    /// The targets; without one all of them
    names: Vec<String>,
    /// Executions for each target (fewer for those that say so)
    #[arg(long, default_value_t = 10_000_000)]
    executions: u64,
    /// Where chance begins: the same seed makes the same inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run one kept input again instead
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

/// Runs the targets; fails if something does not hold.
pub fn fuzz(options: &Options) -> Result<()> {
    let program = build()?;
    let known = capture(command(&program).arg("--list"))?;
    let known: Vec<String> = known.lines().map(str::to_owned).collect();
    if let Some(name) = options.names.iter().find(|name| !known.contains(name)) {
        bail!("there is no target {name}; there are {}", known.join(", "));
    }
    let chosen = if options.names.is_empty() { known } else { options.names.clone() };
    let folder = layout::root().join("target/fuzz");
    let mut failed = Vec::new();
    for name in chosen {
        let mut command = command(&program);
        command.arg(&name).arg("--folder").arg(&folder);
        match &options.replay {
            Some(file) => command.arg("--replay").arg(file),
            None => {
                command.args(["--executions", &options.executions.to_string(), "--seed", &options.seed.to_string()])
            }
        };
        say(format!("Fuzz: {name}"));
        let status = command.status().with_context(|| format!("could not start {}", program.display()))?;
        if died(status) && options.replay.is_none() {
            find_deadly(&program, &name, &folder)?;
        }
        if !status.success() {
            failed.push(name);
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("something does not hold: {}", failed.join(", ")) }
}

/// With coverage where the compiler can; flags and their builds stay apart from the workspace's own.
fn build() -> Result<PathBuf> {
    let folder = layout::target().join("fuzz-build");
    let host = capture(command("rustc").arg("-vV"))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    let mut build = build_command(&folder, host);
    say("Building the fuzzer, optimised and with coverage");
    if run(build.env("RUSTFLAGS", COVERAGE)).is_err() {
        say("This compiler does not count branches; building without coverage, so mutation is blind");
        run(&mut build_command(&folder, host))?;
    }
    Ok(folder.join(host).join("fuzz").join(PACKAGE))
}

/// A named target keeps the flags away from build scripts and macros, which have nothing that counts.
fn build_command(folder: &Path, host: &str) -> Command {
    let mut command = cargo();
    command.current_dir(layout::root()).env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTFLAGS");
    command.args(["build", "--package", PACKAGE, "--profile", "fuzz", "--target", host, "--target-dir"]).arg(folder);
    command
}

#[cfg(unix)]
fn died(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status).is_some()
}

#[cfg(not(unix))]
fn died(status: ExitStatus) -> bool {
    status.code().is_none()
}

/// The process died, as of a stack that overflowed: its last inputs are run one by one, each kept before it runs.
fn find_deadly(program: &Path, name: &str, folder: &Path) -> Result<()> {
    say(format!("{name} died; the last line below names the input"));
    let status = command(program).arg(name).arg("--replay").arg(folder.join(name)).status()?;
    if !died(status) {
        println!("  none of its last inputs kills it alone; run it again with the same seed");
    }
    Ok(())
}

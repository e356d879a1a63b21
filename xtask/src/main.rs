//! The one build tool a person needs: `cargo xtask run` from a fresh clone to a signed-in browser, `cargo xtask test`, and
//! what CI calls. It sets up what a machine lacks, and says so first. Nothing here is part of the product.

mod bench;
mod browser;
mod chaos;
mod ci;
mod counts;
mod debian;
mod dev;
mod digest;
mod fuzz;
mod layout;
mod model;
mod mutants;
mod npm;
mod policy;
mod postgres;
mod process;
mod python;
mod rings;
mod run;
mod server;
mod soak;
mod stopwatch;
mod test;
mod toolchain;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::browser::BrowserPart;
use crate::rings::Ring;
use crate::server::Options;

/// Builds, runs and tests Tallystick. Steps that need root or the network say so before they happen.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_version_flag = true)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Set up what is missing, build, start with demo data and print one URL that signs you in
    Run(Options),
    /// Like `run`, and rebuild and restart whenever a source file changes
    Dev(Options),
    /// Set up what is missing and run the tests; without a ring all of them
    Test {
        /// The rings to run
        rings: Vec<Ring>,
    },
    /// Everything that must hold before a change lands, with the minutes of each step
    Ci {
        /// Only these steps, by the names in its closing table
        steps: Vec<String>,
    },
    /// Measure an optimised build: `bench [NAME] [ARGUMENT…]`, for instance `bench foundation --rows 10000,1000000`
    Bench {
        /// One bench of server/benches (without it all of them), then arguments for the programs
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "NAME] [ARGUMENT")]
        words: Vec<String>,
    },
    /// Repeat the randomised tests with many more cases until time is up or one fails
    Soak {
        /// How long
        #[arg(long, default_value_t = 30)]
        minutes: u64,
        /// Cases for each property and round
        #[arg(long, default_value_t = 5000)]
        cases: u32,
    },
    /// Feed mutated bytes to every parser of outside bytes: `fuzz [NAME]… [--executions N] [--seed S] [--replay FILE]`
    Fuzz(fuzz::Options),
    /// Change the rules in small ways and count how many the table tests notice
    Mutants(mutants::Options),
    /// Walk the large state space of the rules
    Model,
    /// Kill, freeze and cut off real processes in the middle of many operations, and count the effects at the destination
    Chaos(chaos::Options),
    /// Build only the browser part, and print its sizes
    Wasm,
    /// Run a private PostgreSQL for tests started by hand
    Postgres,
    /// Fetch and install everything that the other commands may need, and build nothing
    Setup,
}

fn main() -> ExitCode {
    match carry_out(&Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(task: &Task) -> Result<()> {
    match task {
        Task::Run(options) => run::run(options),
        Task::Dev(options) => dev::dev(options),
        Task::Test { rings } => test::test(rings),
        Task::Ci { steps } => ci::ci(steps),
        Task::Bench { words } => bench::bench(words),
        Task::Soak { minutes, cases } => soak::soak(*minutes, *cases),
        Task::Fuzz(options) => fuzz::fuzz(options),
        Task::Mutants(options) => mutants::mutants(options),
        Task::Model => model::model(),
        Task::Chaos(options) => chaos::chaos(options),
        Task::Wasm => BrowserPart::ensure()?.check_limit(),
        Task::Postgres => postgres::keep_running(),
        Task::Setup => rings::set_up(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn rings_are_named_as_people_type_them() {
        for ring in Ring::ALL {
            let Task::Test { rings } = Cli::try_parse_from(["xtask", "test", ring.name()]).unwrap().command else {
                panic!("not the test command");
            };
            assert_eq!(rings, [ring]);
        }
    }
}

//! `cargo xtask chaos`: several real processes that die, freeze, lose their database and get an old copy of it back, over a
//! destination that misbehaves and counts. The run is one of the server's tests, as large as told, with a database of its own; a
//! bounded twin of it runs with the others.

use anyhow::Result;
use clap::Args;

use crate::layout;
use crate::postgres;
use crate::process::{cargo, run, say};

#[derive(Args)]
pub struct Options {
    /// How many operations
    #[arg(long, default_value_t = 2_000)]
    operations: u64,
    /// How long they may take to settle once the weather has cleared
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Where chance begins
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A process dies at any of its named points with a chance of one in so many
    #[arg(long, default_value_t = 200)]
    dies_one_in: u64,
    /// Leave one safety rule out, by its name; then the run must fail
    #[arg(long, value_name = "RULE")]
    without: Option<String>,
    /// On the embedded store instead of PostgreSQL
    #[arg(long)]
    sqlite: bool,
}

/// Runs it and prints the tally.
pub fn chaos(options: &Options) -> Result<()> {
    if !options.sqlite {
        postgres::ensure_installed()?;
    }
    say(format!("Chaos: {} operations, seed {}", options.operations, options.seed));
    let mut test = cargo();
    test.current_dir(layout::root()).args([
        "test",
        "--package",
        "tallystick",
        "--test",
        "whole",
        "chaos::as_large_as_told",
    ]);
    test.args(["--", "--ignored", "--nocapture"]);
    test.env("CHAOS_OPERATIONS", options.operations.to_string())
        .env("CHAOS_MINUTES", options.minutes.to_string())
        .env("CHAOS_SEED", options.seed.to_string())
        .env("CHAOS_DIES_ONE_IN", options.dies_one_in.to_string())
        .env("CHAOS_POSTGRES", if options.sqlite { "0" } else { "1" });
    if let Some(rule) = &options.without {
        test.env("CHAOS_WITHOUT", rule);
    }
    run(&mut test)
}

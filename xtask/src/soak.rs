//! `cargo xtask soak`: the rings that draw their cases at random, again and again with many more cases, until time is up
//! or something breaks.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::counts::Counts;
use crate::postgres;
use crate::process::say;
use crate::rings::{Ring, Selection};
use crate::stopwatch;

const RINGS: [Ring; 3] = [Ring::Domain, Ring::Contract, Ring::Server];

/// Repeats for at least `minutes`; each property gets `cases` cases a round.
pub fn soak(minutes: u64, cases: u32) -> Result<()> {
    let (postgres_url, _cluster) = postgres::for_tests()?;
    let environment = [("PROPTEST_CASES", cases.to_string())];
    let mut spent = Duration::ZERO;
    let mut sum = Counts::default();
    for round in 1_u32.. {
        let (result, took) = stopwatch::time(|| run_round(&postgres_url, &environment));
        spent += took.0;
        sum += result?;
        say(format!("Soak: round {round} took{took}; so far {sum}"));
        if sum.failed > 0 {
            bail!("round {round} failed; what was drawn is printed above and kept in proptest-regressions");
        }
        if spent >= Duration::from_secs(minutes * 60) {
            break;
        }
    }
    Ok(())
}

fn run_round(postgres_url: &str, environment: &[(&str, String)]) -> Result<Counts> {
    let mut sum = Counts::default();
    for ring in RINGS {
        sum += ring.run_with(Selection::Workspace, postgres_url, environment)?;
    }
    Ok(sum)
}

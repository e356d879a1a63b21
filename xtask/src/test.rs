//! `cargo xtask test`: the chosen rings, or all of them, with counts for each and one closing line.

use anyhow::{Result, bail};

use crate::counts::Counts;
use crate::postgres;
use crate::process::say;
use crate::rings::{Ring, Selection, build_all, run_doc_tests};

/// Runs the rings in their own order; an empty choice means all, and then the documentation's examples too.
pub fn test(chosen: &[Ring]) -> Result<()> {
    let is_all = chosen.is_empty();
    let rings: Vec<Ring> = Ring::ALL.into_iter().filter(|ring| is_all || chosen.contains(ring)).collect();
    let selection = if rings.len() > 1 { Selection::Workspace } else { Selection::Ring };
    let needs_postgres = rings.iter().any(|ring| ring.needs_postgres());
    let (postgres_url, _cluster) = if needs_postgres { postgres::for_tests()? } else { (String::new(), None) };
    if selection == Selection::Workspace {
        build_all()?;
    }
    let mut results: Vec<(&str, Result<Counts>)> =
        rings.iter().map(|ring| (ring.name(), ring.run(selection, &postgres_url))).collect();
    if is_all {
        results.push(("examples", run_doc_tests()));
    }
    report(&results)
}

fn report(results: &[(&str, Result<Counts>)]) -> Result<()> {
    say("Results");
    let mut sum = Counts::default();
    let mut broken = 0;
    for (name, result) in results {
        match result {
            Ok(counts) => {
                println!("  {name:<10}{counts}");
                sum += *counts;
            }
            Err(error) => {
                println!("  {name:<10}could not be run: {error:#}");
                broken += 1;
            }
        }
    }
    println!("{sum}");
    if broken > 0 {
        bail!("{broken} of {} rings could not be run", results.len());
    }
    if sum.failed > 0 {
        bail!("{} tests failed", sum.failed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_test_and_a_broken_ring_both_end_in_an_error() {
        let good = || ("domain", Ok(Counts { passed: 2, failed: 0, skipped: 0 }));
        assert!(report(&[good()]).is_ok());
        assert!(report(&[good(), ("server", Ok(Counts { passed: 0, failed: 1, skipped: 0 }))]).is_err());
        assert!(report(&[good(), ("server", Err(anyhow::anyhow!("does not compile")))]).is_err());
    }
}

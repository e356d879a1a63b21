//! What CI holds the workspace to beyond the compiler: who may depend on whom, what may reach the browser, which licences
//! and duplicates are accepted, and that no dependency is carried unused. Each rule is data with its reason beside it.

pub mod arrows;
pub mod browser_graph;
pub mod licences;
pub mod tree;
pub mod unused;

use anyhow::{Result, bail};

/// Prints what was found and turns it into an error; nothing found is a line that says what holds.
fn conclude(holds: &str, findings: &[String]) -> Result<()> {
    if findings.is_empty() {
        println!("  {holds}");
        return Ok(());
    }
    bail!("{}", findings.join("\n"))
}

//! `cargo xtask model`: walks the large state space of the rules. Too long for every run of the tests; the small one is there.

use anyhow::Result;

use crate::layout;
use crate::process::{cargo, run, say};

/// Runs the ignored tests of the model, optimised, with what they print.
pub fn model() -> Result<()> {
    say("Walking the large model (optimised; minutes)");
    run(cargo().current_dir(layout::root()).args([
        "test",
        "--release",
        "--package",
        "tallystick-domain",
        "model::large",
        "--",
        "--ignored",
        "--nocapture",
    ]))
}

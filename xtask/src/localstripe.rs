//! localstripe, a stand-in for Stripe that nobody here wrote: a Python package, in a virtual environment of its own.
//! The tests start it as a process, and find the Python that has it by `TALLYSTICK_TEST_LOCALSTRIPE`.

use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context, Result};

use crate::process::{command, find_program, fresh_folder, run, say, succeeds};
use crate::{debian, layout};

/// Names the Python that has localstripe.
pub const VARIABLE: &str = "TALLYSTICK_TEST_LOCALSTRIPE";

/// What is installed, every version pinned.
const REQUIREMENTS: &str = include_str!("../python/requirements.txt");
const WHY: &str = "the tests against localstripe";

/// The Python that tests should use: the one a person names, or one with exactly the pinned packages, made where it is
/// missing. Where it cannot be made its tests do not pass: they fail.
pub fn ensure() -> Result<PathBuf> {
    if let Some(python) = env::var_os(VARIABLE) {
        return Ok(python.into());
    }
    let folder = layout::python();
    let (python, installed) = (folder.join("bin/python"), folder.join("installed.txt"));
    if python.exists() && fs::read_to_string(&installed).is_ok_and(|text| text == REQUIREMENTS) {
        return Ok(python);
    }
    // Debian packs the module that makes virtual environments apart.
    if find_program("python3").is_none() || !succeeds(command("python3").args(["-c", "import ensurepip, venv"])) {
        debian::install(&["python3", "python3-venv"], WHY)?;
    }
    say(format!("Installing Python packages from PyPI into {}, for {WHY}", folder.display()));
    fresh_folder(&folder)?;
    run(command("python3").args(["-m", "venv"]).arg(&folder))
        .with_context(|| format!("no virtual environment could be made; {WHY} need Python 3 with the module venv"))?;
    run(command(&python)
        .args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--requirement"])
        .arg(layout::root().join("xtask/python/requirements.txt")))
    .with_context(|| format!("pip could not install the pinned packages; {WHY} cannot be run without them"))?;
    fs::write(installed, REQUIREMENTS)?;
    Ok(python)
}

//! Destinations that nobody here wrote: Python packages, each in a virtual environment of its own. The tests start them as
//! processes, and find the Python that has one by its variable.

use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context, Result};

use crate::process::{command, find_program, fresh_folder, run, say, succeeds};
use crate::{debian, layout};

/// A stand-in for somebody's API.
pub struct StandIn {
    /// Names the Python that has it.
    pub variable: &'static str,
    name: &'static str,
    /// What is installed, every version pinned.
    requirements: &'static str,
}

/// All of them: one for Stripe, one for AWS.
pub const STAND_INS: [StandIn; 2] = [
    StandIn {
        variable: "TALLYSTICK_TEST_LOCALSTRIPE",
        name: "localstripe",
        requirements: include_str!("../python/localstripe.txt"),
    },
    StandIn { variable: "TALLYSTICK_TEST_MOTO", name: "moto", requirements: include_str!("../python/moto.txt") },
];

impl StandIn {
    /// The Python that tests should use: the one a person names, or one with exactly the pinned packages, made where it is
    /// missing. Where it cannot be made its tests do not pass: they fail.
    pub fn ensure(&self) -> Result<PathBuf> {
        if let Some(python) = env::var_os(self.variable) {
            return Ok(python.into());
        }
        let folder = layout::python(self.name);
        let (python, installed) = (folder.join("bin/python"), folder.join("installed.txt"));
        if python.exists() && fs::read_to_string(&installed).is_ok_and(|text| text == self.requirements) {
            return Ok(python);
        }
        let why = format!("the tests against {}", self.name);
        // Debian packs the module that makes virtual environments apart.
        if find_program("python3").is_none() || !succeeds(command("python3").args(["-c", "import ensurepip, venv"])) {
            debian::install(&["python3", "python3-venv"], &why)?;
        }
        say(format!("Installing Python packages from PyPI into {}, for {why}", folder.display()));
        fresh_folder(&folder)?;
        run(command("python3").args(["-m", "venv"]).arg(&folder)).with_context(|| {
            format!("no virtual environment could be made; {why} need Python 3 with the module venv")
        })?;
        run(command(&python)
            .args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--requirement"])
            .arg(layout::root().join("xtask/python").join(format!("{}.txt", self.name))))
        .with_context(|| format!("pip could not install the pinned packages; {why} cannot be run without them"))?;
        fs::write(installed, self.requirements)?;
        Ok(python)
    }
}

//! The real binary, and what it costs while it runs.

#![allow(dead_code, reason = "no bench needs all of it")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Outcome;
use crate::figures::{given, row};

/// The address of a file for the ledger.
pub fn url(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

/// How many rows the command line asks for.
pub fn sizes() -> Vec<usize> {
    let sizes: Vec<usize> =
        given("--rows").map_or_else(Vec::new, |text| text.split(',').filter_map(|n| n.parse().ok()).collect());
    if sizes.is_empty() { vec![10_000, 1_000_000] } else { sizes }
}

/// The process.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: String,
}

impl Server {
    /// Starts it with `more` arguments.
    pub fn start(database: &str, more: &[&str]) -> Outcome<Self> {
        let binary = PathBuf::from(std::env::var_os("TALLYSTICK_BIN").ok_or("TALLYSTICK_BIN names no binary")?);
        let mut child = Command::new(binary)
            .args(["serve", "--db", database, "--listen", "127.0.0.1:0"])
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        // The log says where it listens.
        let output = child.stderr.take().ok_or("the process has no log")?;
        for line in BufReader::new(output).lines() {
            if let Some((_, address)) = line?.split_once("http://") {
                return Ok(Self {
                    child,
                    address: address.split(['/', ' ', '\u{1b}']).next().unwrap_or(address).into(),
                });
            }
        }
        Err("the process ended before it served".into())
    }

    /// Waits until the process has done next to nothing for six seconds: what it does after its start (first sweeps,
    /// cutting the feed that a large import left) is behind it.
    pub fn wait_until_idle(&self) -> Outcome<()> {
        let (mut quiet, mut before) = (0, self.ticks()?);
        for _ in 0..120 {
            std::thread::sleep(Duration::from_secs(1));
            let now = self.ticks()?;
            quiet = if now - before <= 1 { quiet + 1 } else { 0 };
            before = now;
            if quiet == 6 {
                return Ok(());
            }
        }
        Err("the process does not come to rest".into())
    }

    /// How much of a core the process takes while nobody asks it anything, in percent: over a minute, after it came to rest.
    pub fn idle_percent(&self) -> Outcome<f64> {
        self.wait_until_idle()?;
        let before = self.cpu_seconds()?;
        std::thread::sleep(Duration::from_mins(1));
        Ok((self.cpu_seconds()? - before) / 60.0 * 100.0)
    }

    /// Processor time used so far, in seconds.
    pub fn cpu_seconds(&self) -> Outcome<f64> {
        Ok(f64::from(u32::try_from(self.ticks()?)?) / 100.0)
    }

    /// Processor time used so far, in hundredths of a second.
    fn ticks(&self) -> Outcome<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, after_name) = stat.rsplit_once(')').ok_or("no name in stat")?;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).ok_or("no time in stat");
        Ok(field(11)? + field(12)?)
    }

    /// Prints the memory of the process as it is now: all its resident pages, and which of them are of files, foremost of
    /// the executable.
    pub fn memory_told(&self, when: &str, target: &str) -> Outcome<()> {
        let Memory { resident, own } = self.memory()?;
        row(&format!("{when}, resident MB"), &format!("{resident:.1}"), "", f64::NAN, target);
        row("  of these the process's own", &format!("{own:.1}"), "", f64::NAN, "");
        row("  of these the executable's and libraries'", &format!("{:.1}", resident - own), "", f64::NAN, "");
        Ok(())
    }

    fn memory(&self) -> Outcome<Memory> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let figure = |name: &str| -> Outcome<f64> {
            let line = status.lines().find(|line| line.starts_with(name)).ok_or("a figure is missing")?;
            let kilobytes: f64 = line.split_whitespace().nth(1).ok_or("no figure")?.parse()?;
            Ok(kilobytes / 1_024.0)
        };
        Ok(Memory { resident: figure("VmRSS:")?, own: figure("RssAnon:")? })
    }
}

/// In MB (of 1024² bytes).
struct Memory {
    /// All pages that are in memory, as `VmRSS` counts them; those of the executable too, which the system can drop.
    resident: f64,
    /// Heap, stacks and what else belongs to the process alone.
    own: f64,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

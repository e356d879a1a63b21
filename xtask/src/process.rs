//! Starting other programs: announced, checked, and with the noise of an outer `cargo run` taken away.
//! Everything xtask does to the machine goes through here, so that it can say so first.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};

/// Prints one line about what happens next; bold where somebody watches.
pub fn say(line: impl AsRef<str>) {
    if std::io::stdout().is_terminal() {
        println!("\x1b[1m▸ {}\x1b[0m", line.as_ref());
    } else {
        println!("▸ {}", line.as_ref());
    }
}

/// A command without the variables that `cargo run` leaves behind. They would reach build scripts and make cargo believe
/// that something changed; the library path would make Debian's compiler load the other toolchain's libraries.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_left_by_cargo) {
            command.env_remove(&name);
        }
    }
    command
}

fn is_left_by_cargo(name: &str) -> bool {
    name == "CARGO"
        || name == "LD_LIBRARY_PATH"
        || name == "RUST_RECURSION_COUNT"
        || ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"].iter().any(|prefix| name.starts_with(prefix))
}

/// The cargo that started xtask, so that one call never mixes two toolchains.
pub fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs to the end with the terminal's own input and output; anything but success is an error naming the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {}", describe(command)))?;
    check(command, status)
}

/// Runs to the end and returns what was printed on standard output.
pub fn capture(command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("could not start {}", describe(command)))?;
    if !output.status.success() {
        bail!("{} failed ({}):\n{}", describe(command), output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the command could be started and ended well; its output is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs to the end, shows the lines that `shown` picks as they come, and returns all of them beside the exit status.
pub fn run_watched(command: &mut Command, shown: fn(&str) -> bool) -> Result<(ExitStatus, String)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("could not start {}", describe(command)))?;
    let errors = child.stderr.take().map(|pipe| thread::spawn(move || show_and_keep(pipe, std::io::stderr(), shown)));
    let mut text = child.stdout.take().map(|pipe| show_and_keep(pipe, std::io::stdout(), shown)).unwrap_or_default();
    if let Some(reader) = errors {
        text.push_str(&reader.join().unwrap_or_default());
    }
    Ok((child.wait()?, text))
}

fn show_and_keep(pipe: impl Read, mut to: impl Write, shown: fn(&str) -> bool) -> String {
    let mut kept = String::new();
    let mut reader = BufReader::new(pipe);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
        let line = String::from_utf8_lossy(&bytes);
        if shown(&line) {
            // A closed terminal must not end the run whose output we only pass on.
            let _ = to.write_all(line.as_bytes());
        }
        kept.push_str(&line);
        bytes.clear();
    }
    kept
}

fn check(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("{} failed ({status})", describe(command))
}

fn describe(command: &Command) -> String {
    let words: Vec<_> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    format!("`{}`", words.join(" "))
}

/// Where a program lies on the search path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The effective user's number; `id` rather than a system call, because the workspace forbids unsafe code.
pub fn is_root() -> bool {
    capture(command("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// A command that runs as root: directly when we are root, through `sudo` otherwise. None when neither is possible.
pub fn as_root(program: &str) -> Option<Command> {
    if is_root() {
        return Some(command(program));
    }
    find_program("sudo").map(|sudo| {
        let mut command = command(sudo);
        command.arg(program);
        command
    })
}

/// A child process that ends when this value is dropped.
pub struct Running {
    child: Child,
}

impl Running {
    /// Starts the command and keeps it.
    pub fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn().with_context(|| format!("could not start {}", describe(command)))?;
        Ok(Self { child })
    }

    /// The process number, for programs that want a signal other than the one `drop` sends.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The exit status if it has already ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits for it to end by itself.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }

    /// Asks it to end with the named signal and waits. Goes through `kill` because the standard library only knows SIGKILL.
    pub fn stop(&mut self, signal: &str) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        if succeeds(command("kill").args([&format!("-{signal}"), &self.id().to_string()])) {
            let _ = self.child.wait();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop("TERM");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes an empty folder, replacing what was there.
pub fn fresh_folder(path: &Path) -> Result<()> {
    if path.exists() {
        std::fs::remove_dir_all(path).with_context(|| format!("could not empty {}", path.display()))?;
    }
    std::fs::create_dir_all(path).with_context(|| format!("could not create {}", path.display()))
}

//! Feeds mutated bytes to every parser of outside bytes in the domain. `cargo xtask fuzz` builds it with coverage and calls
//! it; what failed lies in a file and can be run again from it. No part of the product.

mod coverage;
mod destination;
mod engine;
mod mutate;
mod targets;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use targets::{TARGETS, Target};

/// Small, so that recursion without a bound ends the process instead of passing unseen. Reading the deepest value that is
/// allowed takes a small part of it.
const STACK_BYTES: usize = 1024 * 1024;

struct Settings {
    names: Vec<String>,
    executions: u64,
    seed: u64,
    folder: PathBuf,
    replay: Option<PathBuf>,
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--list") {
        for target in TARGETS {
            println!("{}", target.name);
        }
        return ExitCode::SUCCESS;
    }
    let settings = match read_arguments(std::env::args().skip(1)) {
        Ok(settings) => settings,
        Err(what) => {
            eprintln!("error: {what}");
            return ExitCode::FAILURE;
        }
    };
    // A panic is caught and told with its input.
    std::panic::set_hook(Box::new(|_| {}));
    let runner = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || run(&settings));
    match runner.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(true))) => ExitCode::SUCCESS,
        Ok(Ok(Err(error))) | Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        Ok(Ok(Ok(false)) | Err(_)) => ExitCode::FAILURE,
    }
}

fn read_arguments(words: impl Iterator<Item = String>) -> Result<Settings, String> {
    let mut settings =
        Settings { names: Vec::new(), executions: 10_000_000, seed: 1, folder: "target/fuzz".into(), replay: None };
    let mut words = words;
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.replace('_', "").parse().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "--executions" => settings.executions = number(value()?)?,
            "--seed" => settings.seed = number(value()?)?,
            "--folder" => settings.folder = value()?.into(),
            "--replay" => settings.replay = Some(value()?.into()),
            option if option.starts_with('-') => return Err(format!("there is no option {option}")),
            name if TARGETS.iter().any(|target| target.name == name) => settings.names.push(name.to_owned()),
            other => {
                let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
                return Err(format!("there is no target {other}; there are {}", known.join(", ")));
            }
        }
    }
    Ok(settings)
}

fn run(settings: &Settings) -> std::io::Result<bool> {
    let is_chosen =
        |target: &&Target| settings.names.is_empty() || settings.names.iter().any(|name| name == target.name);
    let chosen = TARGETS.iter().filter(is_chosen);
    if let Some(file) = &settings.replay {
        return replay(chosen, file);
    }
    if !coverage::Coverage::new().is_there() {
        println!("  built without coverage: mutation is blind");
    }
    let mut all_hold = true;
    for target in chosen {
        println!("  {:<12} {}", target.name, target.claim);
        let executions = (settings.executions / target.divisor).max(1);
        let report = engine::run(target, executions, settings.seed, &settings.folder)?;
        if let Some((file, what)) = report.failure {
            all_hold = false;
            println!("  {:<12} FAILED after {} executions: {what}", target.name, report.executions);
            println!("  {:<12} again: cargo xtask fuzz {} --replay {}", "", target.name, file.display());
        }
    }
    Ok(all_hold)
}

fn replay<'a>(targets: impl Iterator<Item = &'a Target>, file: &Path) -> std::io::Result<bool> {
    // A folder is that of a process that died: its last inputs, each kept before it runs.
    let inputs = if file.is_dir() { engine::left_running(file)? } else { vec![std::fs::read(file)?] };
    let mut all_hold = true;
    for target in targets {
        for input in &inputs {
            let kept = if file.is_dir() { engine::keep(file, input)? } else { file.to_path_buf() };
            print!("  {:<12} {}: ", target.name, kept.display());
            std::io::stdout().flush()?;
            match engine::execute(target, input) {
                Ok(was_read) => {
                    println!("holds ({})", if was_read { "read" } else { "refused" });
                    if kept != file {
                        std::fs::remove_file(kept)?;
                    }
                }
                Err(what) => {
                    all_hold = false;
                    println!("FAILED: {what}");
                }
            }
        }
    }
    Ok(all_hold)
}

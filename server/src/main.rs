//! The binary `tallystick`: reads its flags and runs one command.

use std::process::ExitCode;

use clap::Parser;
use tallystick::cli::Cli;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            // One sentence and its causes: what was not done, and what to do.
            eprintln!("tallystick: {}", tallystick::cli::chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(runtime.block_on(cli.run())?)
}

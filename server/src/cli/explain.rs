//! `tallystick explain`: the rules without a database or a server. Tells a stream line by line to records in memory and
//! prints what is known after each, what may be done, and which rules say so.

use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::SourceName;
use tallystick_domain::stream::Stream;
use tallystick_domain::time::Timestamp;
use tallystick_domain::view::explained::{Explained, Explainer, Paint};

use super::CliError;
use super::import::read_trust;
use super::tool::read_tools;
use crate::intake::lines::{CutLine, Lines};

const PIECE_BYTES: usize = 64 * 1024;

/// Prints what the rules say after each line of a file, without a database or a server.
#[derive(Debug, Args)]
pub struct Explain {
    /// The events (NDJSON); `-` is standard input
    file: PathBuf,
    /// The clock at the end, such as 2026-10-05T09:00:00Z; later lines are left out. Without it, the last line's time
    #[arg(long, value_name = "TIME", value_parser = read_time)]
    as_of: Option<Timestamp>,
    /// How far the events are believed: unknown, declared or verified
    #[arg(long, default_value = "declared", value_parser = read_trust)]
    trust: Trust,
    /// Tools to declare: a JSON array, or one a line, each as `tool put` takes it
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Print one JSON document a line, and one of everything at the end
    #[arg(long)]
    json: bool,
}

fn read_time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_rfc3339(text).ok_or_else(|| "not a time like 2026-10-05T09:00:00Z".to_owned())
}

pub(super) fn run(command: &Explain) -> Result<ExitCode, CliError> {
    let source = SourceName::parse("explain").map_err(|error| CliError::BadInput(error.to_string()))?;
    let mut stream = Stream::new(source, command.trust);
    if let Some(path) = &command.tools {
        let text = std::fs::read(path).map_err(|source| CliError::Read { path: path.clone(), source })?;
        let tools = read_tools(&text)
            .map_err(|what| CliError::BadInput(format!("{}: {what}; nothing was explained", path.display())))?;
        for tool in tools {
            stream.declare(tool);
        }
    }
    let mut explainer = Explainer::new(stream, command.as_of);
    let mut printer = Printer::new(command.json);
    for_each_line(&command.file, |line| {
        let explained = match line.content {
            Ok(content) => explainer.tell(line.number, &content),
            Err(too_long) => Some(explainer.refuse(line.number, too_long.to_string())),
        };
        explained.map_or(Ok(()), |explained| printer.print(&explained, Explained::text))
    })?;
    let is_complete = explainer.is_complete();
    printer.print(&explainer.end(), tallystick_domain::view::explained::End::text)?;
    // Bad lines are named where they stand; the status is for whoever calls this from a script.
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn for_each_line(path: &Path, mut take: impl FnMut(CutLine) -> Result<(), CliError>) -> Result<(), CliError> {
    let failed = |source| CliError::Read { path: path.to_path_buf(), source };
    let mut input: Box<dyn Read> =
        if path == Path::new("-") { Box::new(std::io::stdin()) } else { Box::new(File::open(path).map_err(failed)?) };
    let mut lines = Lines::default();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = input.read(&mut piece).map_err(failed)?;
        if length == 0 {
            break;
        }
        lines.push(piece.get(..length).unwrap_or_default()).into_iter().try_for_each(&mut take)?;
    }
    lines.finish().map_or(Ok(()), take)
}

struct Printer {
    is_json: bool,
    paint: Paint,
}

impl Printer {
    fn new(is_json: bool) -> Self {
        let is_watched = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { is_json, paint: if is_watched { Paint::Colour } else { Paint::Plain } }
    }

    fn print<T: Serialize>(&mut self, what: &T, text: impl Fn(&T, Paint) -> String) -> Result<(), CliError> {
        let mut out = if self.is_json {
            serde_json::to_string(what).map_err(|error| CliError::Write(error.into()))?
        } else {
            text(what, self.paint)
        };
        if self.is_json {
            out.push('\n');
        }
        std::io::stdout().lock().write_all(out.as_bytes()).map_err(CliError::Write)
    }
}

//! What became of each mutant, one a line, kept for the next run. The first line names the sources that they stand on.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A test failed.
    Caught,
    /// No test failed.
    Missed,
    /// The tests did not end.
    Timeout,
    /// It does not compile.
    Unviable,
}

impl Outcome {
    const ALL: [(Self, &'static str); 4] =
        [(Self::Caught, "caught"), (Self::Missed, "missed"), (Self::Timeout, "timeout"), (Self::Unviable, "unviable")];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(one, _)| *one == self).map_or("", |(_, name)| name)
    }
}

/// The results so far.
pub struct Results {
    file: File,
    known: BTreeMap<String, Outcome>,
}

impl Results {
    /// Begins anew, or goes on with what is there. Results of other sources are never mixed in.
    pub fn open(path: &Path, sources: &str, resume: bool) -> Result<Self> {
        let text = if resume { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
        let is_there = lines.next().map(|first| first["sources"].as_str() == Some(sources));
        if is_there == Some(false) {
            bail!("the results are those of other sources; run without --resume to begin anew");
        }
        let known = lines.filter_map(|line| Some((line["mutant"].as_str()?.to_owned(), outcome(&line)?))).collect();
        let mut options = OpenOptions::new();
        options.create(true).append(is_there.is_some()).write(true).truncate(is_there.is_none());
        let mut file = options.open(path).with_context(|| format!("could not open {}", path.display()))?;
        if is_there.is_none() {
            writeln!(file, "{}", json!({ "sources": sources }))?;
        }
        Ok(Self { file, known })
    }

    /// What became of a mutant, if it was run.
    pub fn of(&self, name: &str) -> Option<Outcome> {
        self.known.get(name).copied()
    }

    /// Keeps further results.
    pub fn add(&mut self, outcomes: Vec<(String, Outcome)>) -> Result<()> {
        for (name, outcome) in outcomes {
            writeln!(self.file, "{}", json!({ "mutant": name, "outcome": outcome.name() }))?;
            self.known.insert(name, outcome);
        }
        Ok(())
    }
}

fn outcome(line: &Value) -> Option<Outcome> {
    Outcome::ALL.iter().find(|(_, name)| line["outcome"].as_str() == Some(name)).map(|(outcome, _)| *outcome)
}

/// What cargo-mutants wrote: one file for each outcome, one name a line.
pub fn read(folder: &Path) -> Result<Vec<(String, Outcome)>> {
    let mut outcomes = Vec::new();
    for (outcome, name) in Outcome::ALL {
        let path = folder.join(format!("{name}.txt"));
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        outcomes.extend(text.lines().map(|name| (name.to_owned(), outcome)));
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_taken_up_again_for_the_same_sources_only() {
        let folder = std::env::temp_dir().join(format!("tallystick-mutants-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("results.ndjson");
        let mut results = Results::open(&path, "one", true).unwrap();
        results.add(vec![("a".into(), Outcome::Missed)]).unwrap();
        drop(results);
        let results = Results::open(&path, "one", true).unwrap();
        assert_eq!((results.of("a"), results.of("b")), (Some(Outcome::Missed), None));
        assert!(Results::open(&path, "other", true).is_err());
        assert_eq!(Results::open(&path, "other", false).unwrap().of("a"), None);
        fs::remove_dir_all(folder).unwrap();
    }
}

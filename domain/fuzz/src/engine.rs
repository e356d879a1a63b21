//! Runs one target: picks an input that showed something, mutates it, runs it, and keeps it where it shows something new.

use std::fs::{self, File};
use std::io::{IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tallystick_domain::fingerprint::Hash;

use crate::coverage::Coverage;
use crate::mutate::{Chance, mutate};
use crate::targets::{CASES, Target};

/// An execution that takes longer has a loop or a square in it.
const SLOW: Duration = Duration::from_secs(2);
/// How often progress is shown.
const PROGRESS: Duration = Duration::from_secs(5);
/// How many inputs are made and written down before they run.
const BATCH: usize = 64;
/// For so many executions every input is looked at by itself, with how often it took a branch. From then on a batch is
/// looked at as a whole, and its inputs only where it took a new branch: looking costs as much as reading a line.
const GUIDED_CLOSELY: u64 = 500_000;
/// The file of the inputs that are running: what a process dies of is still there.
const RUNNING: &str = "running";

/// What came of a target.
pub struct Report {
    /// Executions made.
    pub executions: u64,
    /// The file that holds what failed, and what did not hold.
    pub failure: Option<(PathBuf, String)>,
}

/// Runs a target until it has been executed so often, or something does not hold.
pub fn run(target: &Target, executions: u64, seed: u64, folder: &Path) -> std::io::Result<Report> {
    let folder = folder.join(target.name);
    fs::create_dir_all(&folder)?;
    let (corpus, start) = (seeds(target), now());
    let mut run = Run {
        target,
        folder,
        chance: Chance::new(seed),
        coverage: Coverage::new(),
        batch: corpus.clone(),
        corpus,
        executions: 0,
        read: 0,
        start,
    };
    let mut shown = start;
    while run.executions < executions {
        if let Some(failure) = run.execute_batch()? {
            run.show(true);
            return Ok(Report { executions: run.executions, failure: Some(failure) });
        }
        if shown.elapsed() > PROGRESS {
            shown = now();
            run.show(false);
        }
        run.batch = (0..BATCH).map(|_| run.next_input()).collect();
    }
    run.show(true);
    Ok(Report { executions: run.executions, failure: None })
}

/// A run of one target.
struct Run<'a> {
    target: &'a Target,
    folder: PathBuf,
    chance: Chance,
    coverage: Coverage,
    /// Inputs that each showed something new, the seeds first.
    corpus: Vec<Vec<u8>>,
    /// Inputs that run next.
    batch: Vec<Vec<u8>>,
    executions: u64,
    /// How many inputs were read.
    read: u64,
    start: Instant,
}

impl Run<'_> {
    fn next_input(&mut self) -> Vec<u8> {
        let length = self.corpus.len();
        // What was kept last shows the most; half of the time it is taken up again.
        let newest = if self.chance.below(2) == 0 { length } else { length.min(64) };
        let [one, other] = [0, 0].map(|_| &self.corpus[length - 1 - self.chance.below(newest)]);
        // The shorter of two: long inputs take long, and seldom show what a short one cannot.
        let mut input = if one.len() <= other.len() { one.clone() } else { other.clone() };
        let other = &self.corpus[self.chance.below(length)];
        mutate(&mut input, other, self.target.tokens, &mut self.chance);
        input
    }

    /// Runs the batch; the file that holds what failed, and what did not hold.
    fn execute_batch(&mut self) -> std::io::Result<Option<(PathBuf, String)>> {
        self.write_batch()?;
        let begun = now();
        for index in 0..self.batch.len() {
            self.executions += 1;
            match execute(self.target, &self.batch[index]) {
                Ok(was_read) => self.read += u64::from(was_read),
                Err(what) => return self.fail(index, what).map(Some),
            }
            if self.executions <= GUIDED_CLOSELY {
                self.take_coverage(index);
            }
        }
        if self.executions > GUIDED_CLOSELY && self.coverage.take_branches() {
            for index in 0..self.batch.len() {
                let _ = execute(self.target, &self.batch[index]);
                self.take_coverage(index);
            }
        }
        if begun.elapsed() > SLOW {
            return self.find_slow();
        }
        Ok(None)
    }

    /// Keeps an input that has just run where it showed something new.
    fn take_coverage(&mut self, index: usize) {
        let is_seed = self.executions <= self.batch.len() as u64 && self.corpus.get(index) == self.batch.get(index);
        if self.coverage.take() && !is_seed {
            self.corpus.push(self.batch[index].clone());
        }
    }

    /// In one write, which costs less than one for each.
    fn write_batch(&self) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        for input in &self.batch {
            bytes.extend((input.len() as u64).to_le_bytes());
            bytes.extend(input);
        }
        File::create(self.folder.join(RUNNING))?.write_all(&bytes)
    }

    /// The batch took long: perhaps one of its inputs does.
    fn find_slow(&self) -> std::io::Result<Option<(PathBuf, String)>> {
        for input in &self.batch {
            let begun = now();
            let _ = execute(self.target, input);
            if begun.elapsed() > SLOW {
                return Ok(Some((keep(&self.folder, input)?, format!("it takes longer than {SLOW:?}"))));
            }
        }
        Ok(None)
    }

    fn fail(&self, index: usize, what: String) -> std::io::Result<(PathBuf, String)> {
        let (input, what) = shortened(self.target, self.batch[index].clone(), what);
        Ok((keep(&self.folder, &input)?, what))
    }

    fn show(&self, is_last: bool) {
        let a_second = u128::from(self.executions) * 1_000 / self.start.elapsed().as_millis().max(1);
        let (executions, share) = (self.executions, self.read * 100 / self.executions.max(1));
        let branches =
            if self.coverage.is_there() { format!(", {} branches", self.coverage.branches()) } else { String::new() };
        let line = format!(
            "  {:<12} {executions:>10} executions, {a_second} a second, {share} % read, {} inputs{branches}",
            self.target.name,
            self.corpus.len()
        );
        if std::io::stdout().is_terminal() {
            print!("\r\x1b[K{line}{}", if is_last { "\n" } else { "" });
            // A closed terminal must not end the run.
            let _ = std::io::stdout().flush();
        } else {
            println!("{line}");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the harness measures durations; no rule is decided by them")]
fn now() -> Instant {
    Instant::now()
}

/// Runs one input; a panic is what does not hold.
pub fn execute(target: &Target, input: &[u8]) -> Result<bool, String> {
    panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("it panics: {}", message.unwrap_or_default()))
    })
}

fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let lines = CASES.iter().filter(|_| target.reads_lines).flat_map(|case| case.lines());
    let own = target.seeds.iter().copied();
    let mut seeds: Vec<Vec<u8>> = own.chain(lines).map(|seed| seed.as_bytes().to_vec()).collect();
    seeds.push(Vec::new());
    seeds
}

/// The inputs among which the last process died, where it left them.
pub fn left_running(folder: &Path) -> std::io::Result<Vec<Vec<u8>>> {
    let bytes = fs::read(folder.join(RUNNING))?;
    let (mut inputs, mut rest) = (Vec::new(), bytes.as_slice());
    while let Some((length, after)) = rest.split_first_chunk::<8>() {
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX).min(after.len());
        let (input, next) = after.split_at(length);
        inputs.push(input.to_vec());
        rest = next;
    }
    Ok(inputs)
}

/// Writes an input where it can be run again from; the name is made of its content.
pub fn keep(folder: &Path, input: &[u8]) -> std::io::Result<PathBuf> {
    let file = folder.join(format!("failure-{}", &Hash::of(input).to_string()[..12]));
    fs::write(&file, input)?;
    Ok(file)
}

/// Leaves out what is not needed for the failure, in ever smaller pieces.
fn shortened(target: &Target, mut input: Vec<u8>, mut what: String) -> (Vec<u8>, String) {
    let mut piece = input.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < input.len() {
            let mut shorter = input.clone();
            shorter.drain(at..(at + piece).min(input.len()));
            match execute(target, &shorter) {
                Err(also) if kind(&also) == kind(&what) => (input, what) = (shorter, also),
                _ => at += piece,
            }
        }
        piece /= 2;
    }
    (input, what)
}

/// A failure's first words: what makes two failures the same.
fn kind(what: &str) -> String {
    what.split([':', '{', '"', '(']).next().unwrap_or_default().chars().filter(|one| !one.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICKY: Target = Target {
        name: "picky",
        claim: "",
        divisor: 1,
        seeds: &["abc"],
        tokens: &["!"],
        reads_lines: false,
        run: |input| if input.contains(&b'!') { Err("it shouts".into()) } else { Ok(true) },
    };

    #[test]
    fn what_fails_is_found_shortened_and_kept() {
        let folder = std::env::temp_dir().join(format!("tallystick-fuzz-{}", std::process::id()));
        let report = run(&PICKY, 100_000, 1, &folder).unwrap();
        let (file, what) = report.failure.unwrap();
        assert_eq!((fs::read(file).unwrap().as_slice(), what.as_str()), (&b"!"[..], "it shouts"));
        let left = left_running(&folder.join("picky")).unwrap();
        assert!(left.len() == BATCH && left.iter().any(|input| input.contains(&b'!')));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_panic_is_a_failure() {
        let target = Target { run: |_| panic!("no"), ..PICKY };
        assert_eq!(execute(&target, b""), Err("it panics: no".into()));
    }
}

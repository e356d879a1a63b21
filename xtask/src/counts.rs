//! How many tests passed, read from what the test runners print. Three runners, three closing lines.

use std::fmt;
use std::ops::AddAssign;

/// What one ring, or all of them, came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tests that held.
    pub passed: usize,
    /// Tests that did not.
    pub failed: usize,
    /// Tests that were not run.
    pub skipped: usize,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// From nextest: `Summary [   0.5s] 12 tests run: 11 passed (1 slow), 1 failed, 2 skipped`.
pub fn from_nextest(output: &str) -> Counts {
    let text = without_colours(output);
    let Some(summary) = text.lines().rfind(|line| line.trim_start().starts_with("Summary [")) else {
        return Counts::default();
    };
    let words = summary.split_once("run:").map_or("", |(_, words)| words);
    Counts {
        passed: number_before(words, "passed"),
        failed: number_before(words, "failed")
            + number_before(words, "timed out")
            + number_before(words, "exec failed"),
        skipped: number_before(words, "skipped"),
    }
}

/// From `cargo test`, one line a test program: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
pub fn from_cargo(output: &str) -> Counts {
    let mut sum = Counts::default();
    for line in without_colours(output).lines().filter(|line| line.starts_with("test result:")) {
        sum += Counts {
            passed: number_before(line, "passed"),
            failed: number_before(line, "failed"),
            skipped: number_before(line, "ignored"),
        };
    }
    sum
}

/// From Playwright's list reporter, one line a kind: `  2 failed`, `  1 flaky`, `  7 passed (12.3s)`.
pub fn from_playwright(output: &str) -> Counts {
    let mut counts = Counts::default();
    for line in without_colours(output).lines() {
        let mut words = line.trim().splitn(3, ' ');
        let (Some(number), Some(kind)) = (words.next().and_then(|word| word.parse::<usize>().ok()), words.next())
        else {
            continue;
        };
        match kind {
            "passed" => counts.passed = number,
            // A test that needs two attempts has not shown what it claims.
            "failed" | "flaky" | "interrupted" => counts.failed += number,
            "skipped" | "did" => counts.skipped += number,
            _ => {}
        }
    }
    counts
}

/// How many of nextest's passed contract tests ran on an engine: the suite registers each under a module of its name.
/// What only one engine can show lies in modules of other names.
pub fn passed_on(output: &str, engine: &str) -> usize {
    let module = format!("::{engine}::");
    let text = without_colours(output);
    let passed = text.lines().filter(|line| line.trim_start().starts_with("PASS ["));
    passed.filter(|line| line.contains("::contract ") && line.contains(&module)).count()
}

fn number_before(words: &str, kind: &str) -> usize {
    words
        .split([',', ';', '.'])
        .filter_map(|part| part.trim().split_once(' '))
        .filter(|(_, rest)| *rest == kind || rest.starts_with(&format!("{kind} ")))
        .filter_map(|(number, _)| number.parse::<usize>().ok())
        .sum()
}

fn without_colours(output: &str) -> String {
    let mut text = String::with_capacity(output.len());
    let mut rest = output.chars();
    while let Some(letter) = rest.next() {
        if letter == '\u{1b}' {
            rest.by_ref().find(char::is_ascii_alphabetic);
        } else {
            text.push(letter);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: usize, failed: usize, skipped: usize) -> Counts {
        Counts { passed, failed, skipped }
    }

    #[test]
    fn nextest_is_read_from_its_summary() {
        let output = "        PASS [   0.004s] a b\n────────────\n     Summary [   0.512s] 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 2 skipped\n";
        assert_eq!(from_nextest(output), counts(10, 2, 2));
        assert_eq!(from_nextest("     Summary [   0.1s] 1 test run: 1 passed, 0 skipped"), counts(1, 0, 0));
        assert_eq!(
            from_nextest(
                "\x1b[32;1m     Summary\x1b[0m [   0.1s] \x1b[1m3\x1b[0m tests run: \x1b[1m3\x1b[0m passed, 0 skipped"
            ),
            counts(3, 0, 0)
        );
        assert_eq!(from_nextest("error: could not compile"), counts(0, 0, 0));
    }

    #[test]
    fn cargo_test_is_summed_over_its_programs() {
        let output = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        assert_eq!(from_cargo(output), counts(7, 2, 1));
    }

    #[test]
    fn a_flaky_journey_counts_as_failed() {
        let output = "  ✓  1 [js] › smoke.spec.ts:3:1 › signs in (1.2s)\n\n  1 failed\n    [js] › x\n  1 flaky\n  2 skipped\n  3 did not run\n  7 passed (12.3s)\n";
        assert_eq!(from_playwright(output), counts(7, 2, 5));
    }

    #[test]
    fn engines_are_counted_by_the_contracts_modules() {
        let output = [
            "PASS [   0.01s] tallystick-ledger::contract acting::sqlite::a",
            "PASS [   0.01s] tallystick-ledger::contract acting::postgres::a",
            "FAIL [   0.01s] tallystick-ledger::contract acting::sqlite::b",
            "PASS [   0.01s] tallystick-ledger::contract only_sqlite::c",
            "PASS [   0.01s] tallystick-ledger store::sqlite::tests::d",
        ];
        assert_eq!(passed_on(&output.join("\n"), "sqlite"), 1);
        assert_eq!(passed_on(&output.join("\n"), "postgres"), 1);
    }

    #[test]
    fn counts_add_up_and_read_well() {
        let mut sum = counts(1, 0, 0);
        sum += counts(2, 1, 3);
        assert_eq!(sum.to_string(), "3 passed, 1 failed, 3 skipped");
        assert_eq!(counts(2, 0, 0).to_string(), "2 passed, 0 failed");
    }
}

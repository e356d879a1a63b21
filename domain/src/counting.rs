//! Counting what happened: operations and attempts are different numbers (I26).
//!
//! Logical counters count operations; transport counters count attempts. 100 operations with 20 further attempts are
//! 100 and 120, and a rate says which of the two it is a share of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::operation::State;
use crate::outcome::Outcome;
use crate::verdict::Verdict;

/// Two counters that are never mixed. Aliases and conflicting proposals are no operations and come in neither.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Operations, by the word of their state.
    pub operations: BTreeMap<String, u64>,
    /// Attempts, possible sends included, by the word of their verdict.
    pub attempts: BTreeMap<String, u64>,
}

impl Counters {
    /// Counts these outcomes, one an operation. What an operation inherited is counted where it was sent.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        let mut counters = Self::default();
        for outcome in outcomes {
            counters.count(outcome.state, outcome.attempts.iter().map(|attempt| attempt.judgement.verdict));
        }
        counters
    }

    /// Counts one operation and its own attempts.
    pub fn count(&mut self, state: State, attempts: impl IntoIterator<Item = Verdict>) {
        *self.operations.entry(state.word().into()).or_default() += 1;
        for verdict in attempts {
            *self.attempts.entry(verdict.word().into()).or_default() += 1;
        }
    }

    /// All operations.
    pub fn operation_count(&self) -> u64 {
        self.operations.values().sum()
    }

    /// All attempts.
    pub fn attempt_count(&self) -> u64 {
        self.attempts.values().sum()
    }

    /// `100 operations · 120 attempts`.
    pub fn words(&self) -> String {
        let noun = |count: u64, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
        format!("{} · {}", noun(self.operation_count(), "operation"), noun(self.attempt_count(), "attempt"))
    }
}

/// Numbers for people: `2, 4–1000`. Three or more in a row are told by their ends.
pub fn in_ranges(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut numbers: Vec<u32> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut rows: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match rows.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => rows.push((number, number)),
        }
    }
    let words = rows.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
pub(crate) use tests::PROOFS;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Doubt, Failure, SuccessBasis};
    use crate::proof::{proofs, prove};

    const SUCCEEDED: State = State::Succeeded(SuccessBasis::Receipt);
    const TIMEOUT: Verdict = Verdict::Unknown(Doubt::Timeout);

    #[test]
    fn numbers_in_a_row_are_told_by_their_ends() {
        assert_eq!(in_ranges([3, 1, 2, 7, 9, 10]), "1–3, 7, 9, 10");
        assert_eq!(in_ranges([u32::MAX, 5, 5]), format!("5, {}", u32::MAX));
        assert_eq!(in_ranges([]), "");
    }

    proofs! {
        fn i26_a_hundred_operations_with_twenty_retries_are_100_and_120() {
            let mut counters = Counters::default();
            for index in 0..100 {
                let refused = (index < 20).then_some(Verdict::RefusedRetryable);
                counters.count(SUCCEEDED, refused.into_iter().chain([Verdict::Executed]));
            }
            prove!("I26", (counters.operation_count(), counters.attempt_count()), (100, 120));
            prove!("I26", counters.words(), "100 operations · 120 attempts");
            prove!("I26", counters.operations, BTreeMap::from([("succeeded".to_owned(), 100)]));
            let attempts = BTreeMap::from([("executed".to_owned(), 100), ("refused".to_owned(), 20)]);
            prove!("I26", counters.attempts, attempts);
        }

        fn i26_one_failing_call_through_two_layers_is_one_operation() {
            // R06: twelve sends on the wire, one thing that failed.
            let mut counters = Counters::default();
            counters.count(State::Failed(Failure::Observed), [Verdict::RefusedRetryable; 12]);
            prove!("I26", counters.words(), "1 operation · 12 attempts");
            prove!("I26", counters.operations.get("failed"), Some(&1));
        }

        fn i26_an_operation_without_a_send_counts_and_a_send_without_an_answer_counts() {
            let mut counters = Counters::default();
            counters.count(State::Proposed, []);
            counters.count(State::Uncertain(Doubt::Timeout), [TIMEOUT]);
            prove!("I26", counters.words(), "2 operations · 1 attempt");
        }
    }
}

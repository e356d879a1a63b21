//! Rows E1–E36 and what voids them: each side of each condition, by number.

pub(crate) mod answers;
pub(crate) mod caps;
pub(crate) mod codes;
pub(crate) mod repeats;
pub(crate) mod transport;
pub(crate) mod voids;

use std::collections::BTreeSet;

use crate::attempt::{Circumstance, End, Headers, Phase, ReportedOutcome};
use crate::contract::{Contract, LayerRetries, Signal};
use crate::evidence::{Strength, Trust};
use crate::name::Receipt;
use crate::operation::Doubt;
use crate::tool::Class;
use crate::transition::tests::tricky;
use crate::verdict::{Grounds, Instrumentation, Judgement, Proves, ROWS, Verdict, judge, row, sides};

/// One end and what it is judged against: by default a reversible write, reported by a verified source
/// that is not ours, under a contract that says nothing.
#[derive(Clone)]
struct Case {
    end: End,
    contract: Contract,
    class: Class,
    trust: Trust,
    instrumentation: Instrumentation,
    earlier_open: bool,
}

fn ended(outcome: ReportedOutcome) -> Case {
    Case {
        end: End::new(outcome),
        contract: Contract::default(),
        class: Class::Reversible,
        trust: Trust::Verified,
        instrumentation: Instrumentation::External,
        earlier_open: false,
    }
}

fn failed_at(phase: Phase) -> Case {
    ended(ReportedOutcome::ConnLost).with(|end| end.phase = Some(phase))
}

fn answered(status: u16) -> Case {
    ended(ReportedOutcome::Rejected).with(|end| end.http = Some(status))
}

fn succeeded(status: u16) -> Case {
    ended(ReportedOutcome::Ok).with(|end| end.http = Some(status))
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut End)) -> Self {
        change(&mut self.end);
        self
    }

    fn promised(mut self, change: impl FnOnce(&mut Contract)) -> Self {
        change(&mut self.contract);
        self
    }

    fn amid(self, circumstance: Circumstance) -> Self {
        self.with(|end| end.circumstances.push(circumstance))
    }

    fn receipt(self) -> Self {
        self.with(|end| end.receipt = Receipt::parse("pi_A").ok())
    }

    fn retries(self, retries: LayerRetries) -> Self {
        self.promised(|contract| contract.layer_retries = Some(retries))
    }

    fn one_hop(self) -> Self {
        self.promised(|contract| contract.intermediaries = Some(false))
    }

    /// Seen by our own executor.
    fn own(self) -> Self {
        Self { instrumentation: Instrumentation::Own, ..self }
    }

    fn irreversible(self) -> Self {
        Self { class: Class::Irreversible, ..self }
    }

    fn from(self, trust: Trust) -> Self {
        Self { trust, ..self }
    }

    /// While an attempt that was dispatched earlier is open.
    fn after_open(self) -> Self {
        Self { earlier_open: true, ..self }
    }

    fn grounds(&self) -> Grounds<'_> {
        Grounds {
            contract: &self.contract,
            class: self.class,
            trust: self.trust,
            instrumentation: self.instrumentation,
            earlier_open: self.earlier_open,
        }
    }

    fn judged(&self) -> Judgement {
        judge(&self.end, self.grounds())
    }

    fn says(&self) -> (Verdict, String, Strength) {
        let judgement = self.judged();
        (judgement.verdict, judgement.rule.into_owned(), judgement.strength)
    }
}

fn headers(all: &[(&str, &str)]) -> Headers {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn signal(http: u16, error: &str) -> Vec<Signal> {
    vec![Signal { http: Some(http), error: Some(error.into()), ..Signal::default() }]
}

fn status_signal(http: u16) -> Vec<Signal> {
    vec![Signal { http: Some(http), ..Signal::default() }]
}

fn not_sent(rule: &str) -> (Verdict, String, Strength) {
    (Verdict::NotSent, rule.into(), Strength::P1)
}

fn refused(rule: &str) -> (Verdict, String, Strength) {
    (Verdict::RefusedPermanent, rule.into(), Strength::P2)
}

fn refused_for_now(rule: &str) -> (Verdict, String, Strength) {
    (Verdict::RefusedRetryable, rule.into(), Strength::P2)
}

fn declined(rule: &str) -> (Verdict, String, Strength) {
    (Verdict::ExecutedNoEffect, rule.into(), Strength::P2)
}

fn executed(rule: &str) -> (Verdict, String, Strength) {
    (Verdict::Executed, rule.into(), Strength::P3)
}

fn unknown(doubt: Doubt, rule: &str) -> (Verdict, String, Strength) {
    (Verdict::Unknown(doubt), rule.into(), Strength::Hint)
}

/// Unknown, and yet the contract declares what the answer says.
fn stated(doubt: Doubt, rule: &str) -> (Verdict, String, Strength) {
    (Verdict::Unknown(doubt), rule.into(), Strength::P2)
}

/// Everything that is proved about verdicts.
pub(crate) fn proofs() -> Vec<(&'static str, fn())> {
    [
        transport::PROOFS,
        answers::PROOFS,
        codes::PROOFS,
        repeats::PROOFS,
        voids::PROOFS,
        caps::PROOFS,
        tricky::PROOFS,
        super::receipt::PROOFS,
    ]
    .concat()
}

#[test]
fn every_row_is_there_once_in_order_and_proved_by_a_test_that_bears_its_number() {
    let numbers: Vec<String> = (1..=36).map(|number| format!("E{number}")).collect();
    let mut ids: Vec<&str> = ROWS.iter().map(|row| row.id).collect();
    ids.dedup();
    assert_eq!(ids, numbers);
    let all = proofs();
    for (_, prove) in &all {
        prove();
    }
    let proved = crate::proof::recorded();
    let names: BTreeSet<&str> = all.iter().filter_map(|(name, _)| name.split('_').next()).collect();
    for (index, number) in numbers.iter().enumerate() {
        let named = names.contains(format!("e{:02}", index + 1).as_str());
        assert!(proved.contains(number.as_str()) && named, "{number} is not proved");
    }
    for condition in super::VOIDS {
        assert!(proved.contains(condition.id), "{} is not proved", condition.id);
    }
}

#[test]
fn a_row_is_found_by_its_number_and_its_strength_fits_what_it_proves() {
    assert_eq!(row("E12").map(|row| row.when), sides("E12").next().map(|row| row.when));
    assert_eq!(sides("E25").count(), 4);
    assert_eq!(row("E37"), None);
    for row in ROWS {
        let fits = match row.proves {
            Proves::NoAttempt | Proves::Content => row.strength >= Strength::P1,
            Proves::Verdict(Verdict::NotSent) => row.strength == Strength::P1,
            Proves::Verdict(Verdict::Executed) => row.strength == Strength::P3,
            Proves::Verdict(verdict) if verdict.is_negative() => row.strength == Strength::P2,
            Proves::Verdict(Verdict::Unknown(Doubt::InFlight | Doubt::KeyMismatch | Doubt::Likely)) => {
                row.strength == Strength::P2
            }
            Proves::Verdict(_) => row.strength == Strength::Hint,
        };
        assert!(fits, "{}: {}", row.id, row.when);
    }
}

#[test]
fn retryable_are_not_sent_and_what_e22_e31_and_e32_refuse_for_now() {
    for row in ROWS {
        let Proves::Verdict(verdict) = row.proves else { continue };
        let named = verdict == Verdict::NotSent
            || verdict == Verdict::RefusedRetryable && ["E22", "E31", "E32"].contains(&row.id);
        assert_eq!(verdict.is_retryable(), named, "{}: {}", row.id, row.when);
    }
}

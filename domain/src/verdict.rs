//! One failure point or response → one verdict (semantics 3.1–3.4, rows E1–E36).

use serde::{Deserialize, Serialize};

use crate::attempt::{End, Phase, ReportedOutcome};
use crate::contract::{Contract, LayerRetries, Signal};
use crate::evidence::{Strength, Trust};
use crate::operation::Doubt;
use crate::tool::Class;

/// What one attempt's answer proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "verdict", content = "doubt", rename_all = "snake_case")]
pub enum Verdict {
    /// No application byte can have reached the destination.
    NotSent,
    /// The destination says it did not execute; trying again may help.
    RefusedRetryable,
    /// The destination says it did not execute, and would not if asked again.
    RefusedPermanent,
    /// A valid receipt for our operation.
    Executed,
    /// The destination ran it and says no as a matter of business.
    ExecutedNoEffect,
    /// Everything else, with the reason an operator is told.
    Unknown(Doubt),
}

impl Verdict {
    /// Its word: `not_sent`, `refused`, `executed`, `executed_no_effect`, `unknown`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotSent => "not_sent",
            Self::RefusedRetryable | Self::RefusedPermanent => "refused",
            Self::Executed => "executed",
            Self::ExecutedNoEffect => "executed_no_effect",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// A verdict with its ground.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What is proved.
    pub verdict: Verdict,
    /// The rule that says so: `E12`.
    pub rule: String,
    /// How strong the ground is, after the cap of its source.
    pub strength: Strength,
    /// In words, for a timeline.
    pub text: String,
}

impl Judgement {
    /// The judgement on an attempt of which no end is known.
    pub fn without_end(is_running: bool) -> Self {
        let text = if is_running { "running" } else { "nothing was heard of it again" };
        Self::unknown(Doubt::Lost, "E17", text)
    }

    /// The judgement on a guarded send whose lease ended without a result (T16).
    pub fn crashed() -> Self {
        Self::unknown(Doubt::Crashed, "E17", "its lease ended and no result was saved; it may have happened")
    }

    /// The judgement on a send that a restored record may have forgotten (T45).
    pub fn restored() -> Self {
        Self::unknown(Doubt::Restored, "E17", "the record was restored from a copy and may have forgotten a send")
    }

    fn unknown(doubt: Doubt, rule: &str, text: &str) -> Self {
        Self { verdict: Verdict::Unknown(doubt), rule: rule.into(), strength: Strength::Hint, text: text.into() }
    }

    fn proof(verdict: Verdict, rule: &str, strength: Strength, text: impl Into<String>) -> Self {
        Self { verdict, rule: rule.into(), strength, text: text.into() }
    }
}

/// What an end must be judged against.
#[derive(Debug, Clone, Copy)]
pub struct Grounds<'a> {
    /// What the destination promises.
    pub contract: &'a Contract,
    /// The side-effect class in force.
    pub class: Class,
    /// How far the source of the end is believed.
    pub trust: Trust,
    /// Whether an attempt that was dispatched earlier is open (E25, E28).
    pub earlier_open: bool,
}

/// Judges the end of one attempt, capped by the trust of its source.
pub fn judge(end: &End, grounds: Grounds<'_>) -> Judgement {
    let uncapped = judge_uncapped(end, grounds);
    cap(uncapped, end, grounds.trust)
}

/// I38: nothing is stronger than its source. What the cap takes away keeps the reason of its content.
fn cap(mut judgement: Judgement, end: &End, trust: Trust) -> Judgement {
    judgement.strength = judgement.strength.min(trust.cap());
    match judgement.verdict {
        // K1: success needs P3; at P2 the attempt stays open, "likely".
        Verdict::Executed if judgement.strength == Strength::P2 => {
            judgement.verdict = Verdict::Unknown(Doubt::Likely);
            judgement.text.push_str("; its source is only declared, so this is likely, not proved");
        }
        Verdict::Executed if judgement.strength < Strength::P2 => {
            judgement.verdict = Verdict::Unknown(Doubt::NoReceipt);
            judgement.text.push_str("; its source is not trusted, so this is a hint");
        }
        Verdict::NotSent | Verdict::RefusedRetryable | Verdict::RefusedPermanent | Verdict::ExecutedNoEffect
            if judgement.strength < Strength::P1 =>
        {
            judgement.verdict = Verdict::Unknown(doubt_of_content(end));
            judgement.text.push_str("; its source is not trusted, so this proves nothing");
        }
        _ => {}
    }
    judgement
}

/// The sub-reason of an end that names none of its own (semantics 3.6).
fn doubt_of_content(end: &End) -> Doubt {
    match (end.outcome, end.http) {
        (ReportedOutcome::Ok, _) | (_, Some(200..=299 | 303)) => Doubt::NoReceipt,
        (_, Some(500..=599)) | (ReportedOutcome::Error, None) => Doubt::ServerError,
        (_, Some(_)) | (ReportedOutcome::Rejected | ReportedOutcome::Throttled, None) => Doubt::UndeclaredStatus,
        (ReportedOutcome::ConnLost, None) => Doubt::Reset,
        (ReportedOutcome::Timeout, None) => Doubt::Timeout,
        (ReportedOutcome::Abandoned, None) => Doubt::Crashed,
    }
}

fn judge_uncapped(end: &End, grounds: Grounds<'_>) -> Judgement {
    if end.replayed && end.http.is_some_and(|status| status >= 500) {
        // E35: the stored answer of the first execution; it will never tell more.
        return Judgement::unknown(
            Doubt::ReplayedError,
            "E35",
            "a stored error was replayed; asking again will not tell more",
        );
    }
    match (end.outcome, end.http) {
        (ReportedOutcome::Ok, status) => judge_success(end, status),
        (ReportedOutcome::Timeout, _) => {
            Judgement::unknown(Doubt::Timeout, "E12", "no answer in time; it may have happened")
        }
        (ReportedOutcome::Abandoned, _) => {
            Judgement::unknown(Doubt::Crashed, "E17", "its sender died; it may have happened")
        }
        (ReportedOutcome::ConnLost, _) => judge_lost_connection(end, grounds.contract),
        (ReportedOutcome::Throttled, None) => refused_retryable("E32", "a limiter refused it before it ran"),
        (ReportedOutcome::Rejected, None) => {
            Judgement::unknown(Doubt::UndeclaredStatus, "E23", "rejected, but by no status that says it did not run")
        }
        (ReportedOutcome::Error, None) => {
            Judgement::unknown(Doubt::ServerError, "E21", "an error without a status; it may have happened")
        }
        (ReportedOutcome::Rejected | ReportedOutcome::Error | ReportedOutcome::Throttled, Some(status)) => {
            judge_status(status, end, grounds)
        }
    }
}

fn refused_retryable(rule: &str, text: impl Into<String>) -> Judgement {
    Judgement::proof(Verdict::RefusedRetryable, rule, Strength::P2, text)
}

fn refused(rule: &str, text: impl Into<String>) -> Judgement {
    Judgement::proof(Verdict::RefusedPermanent, rule, Strength::P2, text)
}

fn judge_success(end: &End, status: Option<u16>) -> Judgement {
    match (status, &end.receipt) {
        (Some(202), _) => Judgement::unknown(Doubt::Accepted, "E20", "accepted, to be decided later"),
        (Some(207), _) => Judgement::unknown(Doubt::Partial, "E36", "some items applied"),
        (Some(303), _) => Judgement::unknown(Doubt::NoReceipt, "E33", "the answer lies elsewhere"),
        (_, Some(receipt)) => Judgement::proof(Verdict::Executed, "E16", Strength::P3, format!("receipt {receipt}")),
        (_, None) => Judgement::unknown(Doubt::NoReceipt, "E19", "it says ok but names no receipt"),
    }
}

/// E3–E5, E10: only a phase, told by a layer that does not retry, shows that nothing left.
fn judge_lost_connection(end: &End, contract: &Contract) -> Judgement {
    let retries_off = contract.layer_retries == Some(LayerRetries::Off);
    let not_sent = |rule, text| Judgement::proof(Verdict::NotSent, rule, Strength::P1, text);
    match end.phase {
        Some(Phase::Resolve) if retries_off => not_sent("E3", "the address was not found; nothing was sent"),
        Some(Phase::Connect) if retries_off => not_sent("E4", "the connection was refused; nothing was sent"),
        Some(Phase::Tls) if retries_off => not_sent("E5", "TLS failed; nothing was sent"),
        Some(Phase::Resolve | Phase::Connect | Phase::Tls) => {
            // 3.4.1: it may describe the library's second try.
            Judgement::unknown(Doubt::Reset, "E4", "it says nothing was sent, but its layer may retry by itself")
        }
        Some(Phase::Sent) => Judgement::unknown(Doubt::Reset, "E10", "the connection broke after bytes were sent"),
        Some(Phase::Head) => Judgement::unknown(Doubt::NoReceipt, "E14", "the answer began and was cut"),
        None => Judgement::unknown(Doubt::Reset, "E12", "the connection broke; it may have happened"),
    }
}

fn declared(signals: Option<&Vec<Signal>>, end: &End) -> bool {
    signals.is_some_and(|all| all.iter().any(|signal| signal.matches(end.http, end.error.as_deref())))
}

/// Semantics 3.3: declared signals first, then the status by itself.
fn judge_status(status: u16, end: &End, grounds: Grounds<'_>) -> Judgement {
    let contract = grounds.contract;
    if declared(contract.mismatch_signals.as_ref(), end) {
        return Judgement::unknown(Doubt::KeyMismatch, "E30", "this key belongs to another request");
    }
    if declared(contract.in_flight_signals.as_ref(), end) {
        return Judgement::unknown(Doubt::InFlight, "E27", "an earlier request with this key is being processed");
    }
    if declared(contract.conflict_signals.as_ref(), end) {
        return judge_natural_conflict(grounds.earlier_open);
    }
    if declared(contract.precondition_signals.as_ref(), end) {
        return refused("E29", format!("{status}: the precondition was false"));
    }
    let plain = judge_plain_status(status, grounds);
    if declared(contract.negative_signals.as_ref(), end) && matches!(plain.verdict, Verdict::Unknown(_)) {
        // E22: the contract says that this answer proves it did not run.
        return refused_retryable("E22", format!("{status}, which the contract declares as proof that it did not run"));
    }
    plain
}

fn judge_natural_conflict(earlier_open: bool) -> Judgement {
    if earlier_open {
        // E28: with an open attempt it is rather a sign of success.
        Judgement::unknown(
            Doubt::UndeclaredStatus,
            "E28",
            "the object exists already; it may be ours, from an earlier attempt",
        )
    } else {
        refused("E28", "an object with this natural key exists already")
    }
}

fn judge_plain_status(status: u16, grounds: Grounds<'_>) -> Judgement {
    // E23, E25, E31: a front may answer these after forwarding.
    let behind_front = grounds.class == Class::Irreversible && grounds.contract.has_intermediary();
    let undeclared = |rule, text: &str| Judgement::unknown(Doubt::UndeclaredStatus, rule, text);
    match status {
        200..=299 => Judgement::unknown(Doubt::NoReceipt, "E19", "a success status reported as a failure"),
        303 => Judgement::unknown(Doubt::NoReceipt, "E33", "the answer lies elsewhere"),
        307 | 308 => refused("E34", format!("{status}: this hop did not execute it")),
        402 => {
            Judgement::proof(Verdict::ExecutedNoEffect, "E24", Strength::P2, "402: declined as a matter of business")
        }
        404 | 410 if grounds.contract.removes == Some(true) && grounds.earlier_open => {
            undeclared("E25", "not found: an earlier attempt may have removed it")
        }
        400 | 405 if behind_front => undeclared("E23", "a front may answer this after forwarding"),
        404 if behind_front => undeclared("E25", "a front may answer this after forwarding"),
        501 if behind_front => undeclared("E31", "a front may answer this after forwarding"),
        404 | 410 => refused("E25", format!("{status}: not carried out")),
        400 | 401 | 403 | 405 | 406 | 411 | 413 | 414 | 415 | 417 | 422 | 431 => {
            refused("E23", format!("{status}: rejected before doing the work"))
        }
        408 => undeclared("E26", "408: the request may have been complete"),
        409 => undeclared("E28", "a 409 that the contract does not declare"),
        412 => refused("E29", "412: the precondition was false"),
        423 | 425 => refused_retryable("E31", format!("{status}: not carried out")),
        421 | 424 | 426 | 501 | 505 => refused("E31", format!("{status}: not carried out")),
        429 => refused_retryable("E32", "429: a limiter refused it before it ran"),
        503 => Judgement::unknown(Doubt::ServerError, "E22", "503, which proves nothing by itself"),
        500..=599 => Judgement::unknown(
            Doubt::ServerError,
            "E21",
            "the destination or a hop before it failed; it may have happened",
        ),
        _ => undeclared("E23", "a status whose meaning nobody declares"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(outcome: ReportedOutcome, http: Option<u16>) -> End {
        End { outcome, http, error: None, receipt: None, phase: None, replayed: false, reported_by: None }
    }

    fn verdict(end: &End, contract: &Contract, class: Class, trust: Trust) -> (Verdict, String, Strength) {
        let judgement = judge(end, Grounds { contract, class, trust, earlier_open: false });
        (judgement.verdict, judgement.rule, judgement.strength)
    }

    fn by_status(status: u16, class: Class) -> (Verdict, String) {
        let (verdict, rule, _) =
            verdict(&end(ReportedOutcome::Rejected, Some(status)), &Contract::default(), class, Trust::Verified);
        (verdict, rule)
    }

    #[test]
    fn statuses_for_a_reversible_write() {
        use Doubt::{ServerError, UndeclaredStatus};
        use Verdict::{ExecutedNoEffect, RefusedPermanent, RefusedRetryable, Unknown};
        for (status, expected, rule) in [
            (400, RefusedPermanent, "E23"),
            (402, ExecutedNoEffect, "E24"),
            (404, RefusedPermanent, "E25"),
            (408, Unknown(UndeclaredStatus), "E26"),
            (409, Unknown(UndeclaredStatus), "E28"),
            (412, RefusedPermanent, "E29"),
            (422, RefusedPermanent, "E23"),
            (425, RefusedRetryable, "E31"),
            (429, RefusedRetryable, "E32"),
            (500, Unknown(ServerError), "E21"),
            (501, RefusedPermanent, "E31"),
            (503, Unknown(ServerError), "E22"),
            (308, RefusedPermanent, "E34"),
        ] {
            assert_eq!(by_status(status, Class::Reversible), (expected, rule.to_owned()), "{status}");
        }
    }

    #[test]
    fn an_irreversible_write_behind_a_front_doubts_400_404_405_and_501() {
        for status in [400, 404, 405, 501] {
            assert_eq!(by_status(status, Class::Irreversible).0, Verdict::Unknown(Doubt::UndeclaredStatus), "{status}");
        }
        assert_eq!(by_status(422, Class::Irreversible).0, Verdict::RefusedPermanent);
    }

    #[test]
    fn e22_a_503_proves_only_what_the_contract_declares() {
        let declared =
            Contract { negative_signals: Some(vec![Signal { http: Some(503), error: None }]), ..Contract::default() };
        let answer = end(ReportedOutcome::Error, Some(503));
        let of = |contract| verdict(&answer, contract, Class::Irreversible, Trust::Verified).0;
        assert_eq!(of(&declared), Verdict::RefusedRetryable);
        assert_eq!(of(&Contract::default()), Verdict::Unknown(Doubt::ServerError));
    }

    #[test]
    fn e30_a_mismatch_is_known_only_by_its_declared_code() {
        let contract = Contract {
            mismatch_signals: Some(vec![Signal { http: Some(400), error: Some("idempotency_error".into()) }]),
            ..Contract::default()
        };
        let mut answer = end(ReportedOutcome::Rejected, Some(400));
        answer.error = Some("idempotency_error".into());
        let of = |answer: &End| verdict(answer, &contract, Class::Reversible, Trust::Verified).0;
        assert_eq!(of(&answer), Verdict::Unknown(Doubt::KeyMismatch));
        answer.error = Some("parameter_missing".into());
        assert_eq!(of(&answer), Verdict::RefusedPermanent);
    }

    #[test]
    fn e16_a_receipt_is_as_strong_as_its_source() {
        let mut answer = end(ReportedOutcome::Ok, Some(200));
        answer.receipt = crate::name::Receipt::parse("pi_A").ok();
        let of = |trust| verdict(&answer, &Contract::default(), Class::Irreversible, trust);
        assert_eq!(of(Trust::Verified), (Verdict::Executed, "E16".into(), Strength::P3));
        assert_eq!(of(Trust::Declared), (Verdict::Unknown(Doubt::Likely), "E16".into(), Strength::P2));
        assert_eq!(of(Trust::Unknown), (Verdict::Unknown(Doubt::NoReceipt), "E16".into(), Strength::Hint));
    }

    #[test]
    fn i13_not_sent_needs_a_layer_that_does_not_retry() {
        let mut answer = end(ReportedOutcome::ConnLost, None);
        answer.phase = Some(Phase::Connect);
        let off = Contract { layer_retries: Some(LayerRetries::Off), ..Contract::default() };
        let of = |contract| verdict(&answer, contract, Class::Irreversible, Trust::Verified).0;
        assert_eq!(of(&off), Verdict::NotSent);
        assert_eq!(of(&Contract::default()), Verdict::Unknown(Doubt::Reset));
    }

    #[test]
    fn an_untrusted_refusal_closes_nothing_and_keeps_the_reason_of_its_content() {
        let of = |status| {
            verdict(
                &end(ReportedOutcome::Rejected, Some(status)),
                &Contract::default(),
                Class::Reversible,
                Trust::Unknown,
            )
            .0
        };
        assert_eq!(of(422), Verdict::Unknown(Doubt::UndeclaredStatus));
        assert_eq!(of(429), Verdict::Unknown(Doubt::UndeclaredStatus));
    }

    #[test]
    fn i14_a_replayed_500_stays_unknown() {
        let mut answer = end(ReportedOutcome::Error, Some(500));
        answer.replayed = true;
        let judged = verdict(&answer, &Contract::default(), Class::Irreversible, Trust::Verified);
        assert_eq!((judged.0, judged.1.as_str()), (Verdict::Unknown(Doubt::ReplayedError), "E35"));
    }

    #[test]
    fn e28_a_declared_conflict_with_an_open_attempt_is_a_hint_of_success() {
        let contract =
            Contract { conflict_signals: Some(vec![Signal { http: Some(409), error: None }]), ..Contract::default() };
        let answer = end(ReportedOutcome::Rejected, Some(409));
        let of = |earlier_open| {
            let grounds =
                Grounds { contract: &contract, class: Class::Reversible, trust: Trust::Verified, earlier_open };
            judge(&answer, grounds).verdict
        };
        assert_eq!(of(false), Verdict::RefusedPermanent);
        assert_eq!(of(true), Verdict::Unknown(Doubt::UndeclaredStatus));
    }
}

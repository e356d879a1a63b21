//! What a failure point proves (semantics 3.2, E2–E14). Assumes one hop and no hidden retry; `voids`
//! takes back what does not hold otherwise.

use crate::attempt::{End, Phase, ReportedOutcome};
use crate::verdict::{Grounds, Judgement, Verdict, answer, rows};

/// Judges by the failure point; `None` where an answer has to speak.
pub(super) fn judge(end: &End, grounds: Grounds<'_>) -> Option<Judgement> {
    if let Some(not_sent) = before_sending(end) {
        return Some(not_sent);
    }
    let broke_off = matches!(end.outcome, ReportedOutcome::ConnLost | ReportedOutcome::Timeout);
    match end.http {
        Some(status) if broke_off || end.phase == Some(Phase::Head) => Some(judge_cut(status, end, grounds)),
        Some(_) => None,
        None => by_stream(end)
            .or_else(|| if broke_off { grpc_in_doubt(end, grounds) } else { None })
            .or_else(|| by_phase(end))
            .or_else(|| broke_off.then(|| silent(end))),
    }
}

/// E2–E7: the phases at which no byte of the request can have left. An answer to the request shows that it
/// had left; an answer to the CONNECT does not.
fn before_sending(end: &End) -> Option<Judgement> {
    let phase = end.phase?;
    let told_by_proxy = phase == Phase::Proxy && end.http.is_some() && end.receipt.is_none();
    if end.shows_answer() && !told_by_proxy {
        return None;
    }
    let row = match phase {
        Phase::Proxy => &rows::E6,
        Phase::Prepare => &rows::E2,
        Phase::Resolve => &rows::E3,
        Phase::Connect => &rows::E4,
        Phase::Tls => &rows::E5,
        Phase::Pool => &rows::E7,
        Phase::Sent | Phase::Written | Phase::Deadline | Phase::Cancelled | Phase::Head => return None,
    };
    // I13: the counter of bytes outranks the phase.
    let sent = end.bytes_sent.is_some_and(|count| count > 0);
    Some(Judgement::by(if sent { &rows::E10 } else { row }))
}

/// E8 and E9: an HTTP/2 stream that ended without a status.
fn by_stream(end: &End) -> Option<Judgement> {
    let h2 = end.h2?;
    let unprocessed = !end.shows_answer();
    if unprocessed && h2.is_refused() {
        return Some(Judgement::by(&rows::E8_REFUSED));
    }
    if unprocessed && h2.is_above_goaway() {
        return Some(Judgement::by(&rows::E8_ABOVE_GOAWAY));
    }
    let ended = h2.reset.is_some() || h2.goaway_last.is_some() || end.outcome == ReportedOutcome::ConnLost;
    match h2.reset {
        Some(code) => Some(Judgement::naming(&rows::E9, code.name())),
        None => ended.then(|| Judgement::by(&rows::E9)),
    }
}

/// A gRPC library reports a broken connection as a status of its own (E21). Whatever such a status would
/// prove, it does not prove it of a call that broke off.
fn grpc_in_doubt(end: &End, grounds: Grounds<'_>) -> Option<Judgement> {
    end.grpc?;
    Some(answer::judge(end, grounds)).filter(|judgement| matches!(judgement.verdict, Verdict::Unknown(_)))
}

/// E10–E14: the phases from which the request may have arrived.
fn by_phase(end: &End) -> Option<Judgement> {
    let refused = matches!(end.outcome, ReportedOutcome::Rejected | ReportedOutcome::Throttled);
    let row = match end.phase? {
        Phase::Deadline => &rows::E13_DEADLINE,
        Phase::Cancelled => &rows::E13_CANCELLED,
        Phase::Head if !refused => &rows::E14_CUT,
        Phase::Sent if end.reused && end.outcome == ReportedOutcome::ConnLost => &rows::E11,
        Phase::Sent if !refused => &rows::E10,
        Phase::Sent
        | Phase::Written
        | Phase::Head
        | Phase::Prepare
        | Phase::Resolve
        | Phase::Connect
        | Phase::Tls
        | Phase::Proxy
        | Phase::Pool => return None,
    };
    Some(Judgement::by(row))
}

/// E11 and E12: no byte of an answer.
fn silent(end: &End) -> Judgement {
    Judgement::by(if end.outcome == ReportedOutcome::Timeout {
        &rows::E12_TIMEOUT
    } else if end.reused {
        &rows::E11
    } else {
        &rows::E12_RESET
    })
}

/// E14: a status arrived, its body did not.
fn judge_cut(status: u16, end: &End, grounds: Grounds<'_>) -> Judgement {
    let by_status = answer::judge_status(status, end, grounds);
    match status {
        200..=299 => Judgement::naming(&rows::E14_SUCCESS, status),
        _ if matches!(by_status.verdict, Verdict::Unknown(_)) => by_status,
        400..=499 if grounds.contract.status_suffices == Some(true) => {
            Judgement { text: format!("{} ({})", by_status.text, rows::E14_SUFFICES.reason).into(), ..by_status }
        }
        _ => Judgement::naming(&rows::E14_STATUS, status),
    }
}

//! What an answer proves (semantics 3.2 E15–E16 and 3.3): declared signals first, then what the status or
//! code says by itself.

use crate::attempt::{Circumstance, End, GrpcStatus, ReportedOutcome};
use crate::contract::Signal;
use crate::tool::Class;
use crate::verdict::rows::{self, VerdictRow};
use crate::verdict::{Grounds, Judgement, Verdict};

/// Judges an answer.
pub(super) fn judge(end: &End, grounds: Grounds<'_>) -> Judgement {
    if let Some(success) = judge_success(end) {
        return success;
    }
    if let Some(declared) = judge_declared(end, grounds) {
        return declared;
    }
    let judgement = match (end.grpc, end.http) {
        (_, None | Some(200..=299)) if end.is_error => Judgement::by(&rows::E19_TOOL),
        (_, None | Some(200..=299)) if end.rpc.is_some() => with_code(&rows::E19_RPC, end),
        (Some(status), None | Some(200)) if status != GrpcStatus::Ok => judge_grpc(status, grounds),
        (_, Some(status)) => judge_plain_status(status, end, grounds),
        (Some(_), None) => Judgement::by(&rows::E19_ERROR),
        (None, None) => judge_without_status(end, grounds),
    };
    proved_by_contract(judgement, end, grounds)
}

/// Judges what a status says, with what the contract declares of it.
pub(super) fn judge_status(status: u16, end: &End, grounds: Grounds<'_>) -> Judgement {
    judge_declared(end, grounds)
        .unwrap_or_else(|| proved_by_contract(judge_plain_status(status, end, grounds), end, grounds))
}

/// E15, E16, E20, E33, E36: what is reported as a success and carries no error. A success without a receipt
/// may still carry a declared signal.
fn judge_success(end: &End) -> Option<Judgement> {
    let says_error = end.is_error || end.rpc.is_some() || end.grpc.is_some_and(|status| status != GrpcStatus::Ok);
    if end.outcome != ReportedOutcome::Ok || says_error {
        return None;
    }
    if !matches!(end.http, None | Some(200..=299 | 303)) {
        return None;
    }
    Some(match (end.http, &end.receipt) {
        (Some(207), _) => Judgement::naming(&rows::E36, 207),
        _ if end.per_item => Judgement::by(&rows::E36),
        (Some(303), _) => Judgement::naming(&rows::E33, 303),
        (Some(202), _) => Judgement::naming(&rows::E20, 202),
        (_, None) if end.handle.is_some() => Judgement::by(&rows::E20),
        _ => return judge_receipt(end),
    })
}

/// E15 and E16.
fn judge_receipt(end: &End) -> Option<Judgement> {
    if let Some(fault) = end.receipt_fault {
        return Some(Judgement::naming(&rows::E15, fault.phrase()));
    }
    let receipt = end.receipt.as_ref()?;
    Some(Judgement { text: format!("{} {receipt}", rows::E16.reason).into(), ..Judgement::by(&rows::E16) })
}

fn is_declared(signals: Option<&Vec<Signal>>, end: &End) -> bool {
    signals.is_some_and(|all| all.iter().any(|signal| signal.matches(end)))
}

/// E24, E25, E27–E30, E32: the answers whose meaning the contract declares.
fn judge_declared(end: &End, grounds: Grounds<'_>) -> Option<Judgement> {
    let contract = grounds.contract;
    let (open, removes) = (grounds.earlier_open, contract.removes == Some(true));
    let row = if is_declared(contract.mismatch_signals.as_ref(), end) {
        &rows::E30
    } else if is_declared(contract.in_flight_signals.as_ref(), end) {
        &rows::E27
    } else if is_declared(contract.decline_signals.as_ref(), end) {
        &rows::E24
    } else if is_declared(contract.conflict_signals.as_ref(), end) {
        // With an open attempt it is rather a sign of success.
        if open { &rows::E28_OPEN } else { &rows::E28_CONFLICT }
    } else if is_declared(contract.precondition_signals.as_ref(), end) {
        &rows::E29
    } else if is_declared(contract.throttle_signals.as_ref(), end) {
        return Some(throttled(end, grounds));
    } else if open && removes && is_declared(contract.gone_signals.as_ref(), end) {
        &rows::E25_LIKELY
    } else {
        return None;
    };
    Some(with_code(row, end))
}

/// What the contract lists as proof of not running turns a doubt into a refusal. Only a 503 so proved is
/// worth another try (semantics 3.1).
fn proved_by_contract(judgement: Judgement, end: &End, grounds: Grounds<'_>) -> Judgement {
    let in_doubt = matches!(judgement.verdict, Verdict::Unknown(_));
    if !in_doubt || !is_declared(grounds.contract.negative_signals.as_ref(), end) {
        return judgement;
    }
    let row = match judgement.rule.as_ref() {
        "E19" => &rows::E19_DECLARED,
        "E21" => &rows::E21_DECLARED,
        "E22" => &rows::E22_DECLARED,
        "E26" => &rows::E26_DECLARED,
        "E28" => &rows::E28_DECLARED,
        _ => &rows::E23_DECLARED,
    };
    with_code(row, end)
}

/// What the row says, with the status or code that arrived.
fn with_code(row: &VerdictRow, end: &End) -> Judgement {
    match (end.grpc, end.http, end.rpc) {
        (Some(status), None | Some(200), _) => Judgement::naming(row, status.name()),
        (_, _, Some(code)) => Judgement::naming(row, format_args!("JSON-RPC {code}")),
        (_, Some(status), None) => Judgement::naming(row, status),
        (None, None, None) => Judgement::by(row),
    }
}

/// E32, with what the destination says about when to ask again.
fn throttled(end: &End, grounds: Grounds<'_>) -> Judgement {
    let takes_items = grounds.contract.partial_success == Some(true);
    let judgement = with_code(if takes_items { &rows::E32_BATCH } else { &rows::E32 }, end);
    match end.retry_after() {
        Some(wait) => Judgement { text: format!("{}; Retry-After: {wait}", judgement.text).into(), ..judgement },
        None => judgement,
    }
}

fn judge_without_status(end: &End, grounds: Grounds<'_>) -> Judgement {
    match end.outcome {
        ReportedOutcome::Ok => {
            let row = if end.error.is_some() { &rows::E19_ERROR } else { &rows::E19_NO_RECEIPT };
            Judgement::by(row)
        }
        ReportedOutcome::Throttled => throttled(end, grounds),
        ReportedOutcome::Rejected => Judgement::by(&rows::E23_UNDECLARED),
        ReportedOutcome::Error | ReportedOutcome::Timeout | ReportedOutcome::ConnLost | ReportedOutcome::Abandoned => {
            Judgement::by(&rows::E21_ERROR)
        }
    }
}

/// Only what a row names is proved. The libraries themselves answer `RESOURCE_EXHAUSTED` and
/// `UNIMPLEMENTED` when they cannot take the *answer*, so those say nothing until a contract declares them.
fn judge_grpc(status: GrpcStatus, grounds: Grounds<'_>) -> Judgement {
    let removal = grounds.contract.removes == Some(true) && grounds.earlier_open;
    let row = match status {
        GrpcStatus::Aborted | GrpcStatus::FailedPrecondition => &rows::E29,
        GrpcStatus::Unknown
        | GrpcStatus::Internal
        | GrpcStatus::DeadlineExceeded
        | GrpcStatus::Unavailable
        | GrpcStatus::DataLoss => &rows::E21_GRPC,
        GrpcStatus::Cancelled => &rows::E13_CANCELLED,
        GrpcStatus::NotFound if removal => &rows::E25_REMOVAL,
        GrpcStatus::AlreadyExists => &rows::E28_UNDECLARED,
        GrpcStatus::Ok
        | GrpcStatus::InvalidArgument
        | GrpcStatus::NotFound
        | GrpcStatus::PermissionDenied
        | GrpcStatus::ResourceExhausted
        | GrpcStatus::OutOfRange
        | GrpcStatus::Unimplemented
        | GrpcStatus::Unauthenticated => &rows::E23_UNDECLARED,
    };
    Judgement::naming(row, status.name())
}

fn judge_plain_status(status: u16, end: &End, grounds: Grounds<'_>) -> Judgement {
    // E23, E25, E31: a front may answer these after forwarding, unless the contract says what they prove.
    let behind_front = grounds.class == Class::Irreversible
        && (grounds.contract.has_intermediary() || end.is_in_play(Circumstance::Intermediary))
        && !is_declared(grounds.contract.negative_signals.as_ref(), end);
    let removal = grounds.contract.removes == Some(true) && grounds.earlier_open;
    let row = match status {
        202 => &rows::E20,
        207 => &rows::E36,
        200..=299 if end.outcome == ReportedOutcome::Ok && end.error.is_none() => &rows::E19_NO_RECEIPT,
        200..=299 => &rows::E19_ERROR,
        303 => &rows::E33,
        307 | 308 => &rows::E34,
        402 => &rows::E24,
        404 | 410 if removal => &rows::E25_REMOVAL,
        400 | 405 if behind_front => &rows::E23_FRONT,
        404 if behind_front => &rows::E25_FRONT,
        501 if behind_front => &rows::E31_FRONT,
        404 | 410 => &rows::E25_CREATE,
        400 | 401 | 403 | 405 | 406 | 411 | 413 | 414 | 415 | 417 | 422 | 431 => &rows::E23,
        408 => &rows::E26,
        409 => &rows::E28_UNDECLARED,
        412 => &rows::E29,
        423 | 425 => &rows::E31_RETRYABLE,
        421 | 424 | 426 | 501 | 505 => &rows::E31,
        429 => return throttled(end, grounds),
        503 => &rows::E22,
        500..=599 => &rows::E21_STATUS,
        _ => &rows::E23_UNDECLARED,
    };
    with_code(row, end)
}

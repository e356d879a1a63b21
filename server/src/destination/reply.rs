//! What came of a send, in the words of the rules.

use axum::body::Bytes;
use tallystick_domain::attempt::{End, Headers, Phase, ReportedOutcome};
use tallystick_domain::contract::Contract;
use tallystick_domain::json::Json;
use tallystick_domain::request::RequestTemplate;
use tallystick_domain::tool::Stake;

use super::sender::{Reply, Stage};

/// The most bytes of an answer's headers that are kept, and of a text from it.
const HEADERS_LIMIT_BYTES: usize = 8 * 1024;
const TEXT_LIMIT: usize = 200;

/// What the rules must know beside the reply to read it.
pub struct Reading<'a> {
    /// The contract in force.
    pub contract: &'a Contract,
    /// The request's template.
    pub template: Option<&'a RequestTemplate>,
    /// The arguments in force.
    pub arguments: &'a Json,
    /// Which of them tell what is at stake.
    pub stake: &'a Stake,
}

/// The end of an attempt.
pub fn end_of(reply: &Reply, reading: &Reading<'_>) -> End {
    match reply {
        Reply::Answer { status, headers, body, bytes_sent } => {
            End { bytes_sent: Some(*bytes_sent), ..answered(*status, headers, body, reading) }
        }
        Reply::Failed { stage, is_deadline, problem, status, bytes_sent } => {
            let outcome = match (stage, is_deadline) {
                (_, true) => ReportedOutcome::Timeout,
                (Stage::Prepare | Stage::Resolve | Stage::Connect | Stage::Tls, false) => ReportedOutcome::Error,
                (Stage::Sent | Stage::Written | Stage::Head, false) => ReportedOutcome::ConnLost,
            };
            End {
                phase: Some(phase_of(*stage)),
                http: *status,
                error: Some(problem.chars().take(TEXT_LIMIT).collect()),
                bytes_sent: Some(*bytes_sent),
                ..End::new(outcome)
            }
        }
    }
}

const fn phase_of(stage: Stage) -> Phase {
    match stage {
        Stage::Prepare => Phase::Prepare,
        Stage::Resolve => Phase::Resolve,
        Stage::Connect => Phase::Connect,
        Stage::Tls => Phase::Tls,
        Stage::Sent => Phase::Sent,
        Stage::Written => Phase::Written,
        Stage::Head => Phase::Head,
    }
}

fn answered(status: u16, headers: &[(String, String)], body: &Bytes, reading: &Reading<'_>) -> End {
    let outcome = match status {
        200..=299 => ReportedOutcome::Ok,
        429 => ReportedOutcome::Throttled,
        408 | 500..=599 => ReportedOutcome::Error,
        _ => ReportedOutcome::Rejected,
    };
    let json = Json::parse(body).ok();
    let mut end = End { http: Some(status), headers: kept(headers), ..End::new(outcome) };
    let at = |pointer: &str| match json.as_ref()?.pointer(pointer)? {
        Json::String(text) | Json::Number(text) => Some(text.chars().take(TEXT_LIMIT).collect::<String>()),
        _ => None,
    };
    end.error = reading.template.and_then(|template| template.error_pointer.as_deref()).and_then(at);
    if outcome == ReportedOutcome::Ok {
        if let (Some(declared), Some(json)) = (&reading.contract.success_receipt, &json) {
            match declared.read(json, reading.arguments, reading.stake) {
                Ok(receipt) => end.receipt = Some(receipt),
                Err(fault) => end.receipt_fault = Some(fault),
            }
        }
        let poll = reading.contract.async_accept.as_ref().and_then(|accepted| accepted.poll.as_deref());
        end.handle =
            poll.and_then(|poll| if poll.starts_with('/') { at(poll) } else { end.headers.get(poll).map(Into::into) });
    }
    end.per_item = status == 207;
    end
}

/// Headers as far as they are kept, in their order.
fn kept(headers: &[(String, String)]) -> Headers {
    let mut left = HEADERS_LIMIT_BYTES;
    let fits = |(name, value): &&(String, String)| {
        let size = name.len() + value.len();
        let fits = size <= left;
        left = left.saturating_sub(if fits { size } else { 0 });
        fits
    };
    headers.iter().filter(fits).cloned().collect()
}

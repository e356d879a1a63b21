//! The members of `attempt.ended` that tell how a send ended.

use crate::attempt::{Circumstance, End, GrpcStatus, H2, H2Code, Headers, Phase, ReceiptFault, ReportedOutcome};
use crate::intake::{Fields, LineError, wrong};
use crate::json::Json;
use crate::name::Receipt;

/// Reads the end of an attempt.
pub(super) fn read(fields: &Fields<'_>) -> Result<End, LineError> {
    let outcome = fields.text("outcome")?.ok_or_else(|| wrong("outcome", "is missing"))?;
    let outcome = ReportedOutcome::parse(outcome)
        .ok_or_else(|| wrong("outcome", format!("{outcome:?} is not an outcome of the vocabulary")))?;
    Ok(End {
        http: fields.whole("http")?,
        error: fields.text("error")?.map(Into::into),
        receipt: fields.name("receipt", Receipt::parse)?,
        phase: word(fields, "phase", "a phase", Phase::parse)?,
        replayed: flag(fields, "replayed")?,
        reported_by: fields.text("reported_by")?.map(Into::into),
        grpc: grpc(fields)?,
        h2: h2(fields)?,
        rpc: fields.whole("rpc")?,
        is_error: flag(fields, "is_error")?,
        headers: headers(fields)?,
        retry_after: fields.exact("retry_after")?,
        reused: flag(fields, "reused")?,
        bytes_sent: fields.whole("bytes_sent")?,
        circumstances: circumstances(fields)?,
        receipt_fault: word(fields, "receipt_fault", "a fault of a receipt", ReceiptFault::parse)?,
        handle: fields.text("handle")?.map(Into::into),
        per_item: flag(fields, "per_item")?,
        ..End::new(outcome)
    })
}

fn word<T>(
    fields: &Fields<'_>,
    name: &str,
    what: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, LineError> {
    let word = fields.text(name)?;
    word.map(|word| parse(word).ok_or_else(|| wrong(name, format!("{word:?} is not {what}")))).transpose()
}

fn flag(fields: &Fields<'_>, name: &str) -> Result<bool, LineError> {
    match fields.value(name) {
        None => Ok(false),
        Some(Json::Bool(flag)) => Ok(*flag),
        Some(other) => Err(wrong(name, format!("must be true or false, not {}", other.kind()))),
    }
}

/// A status by name or by number.
fn grpc(fields: &Fields<'_>) -> Result<Option<GrpcStatus>, LineError> {
    let Some(value) = fields.value("grpc") else { return Ok(None) };
    let status = match value {
        Json::String(name) => GrpcStatus::parse(name),
        other => other.as_i64().and_then(GrpcStatus::from_number),
    };
    status.map(Some).ok_or_else(|| wrong("grpc", "must be a gRPC status, by name or by number from 0 to 16"))
}

fn h2(fields: &Fields<'_>) -> Result<Option<H2>, LineError> {
    let Some(value) = fields.value("h2") else { return Ok(None) };
    let Json::Object(_) = value else {
        return Err(wrong("h2", format!("must be an object, not {}", value.kind())));
    };
    let id = |name: &str| match value.get(name).filter(|id| **id != Json::Null) {
        None => Ok(None),
        Some(id) => match id.as_i64().and_then(|id| u32::try_from(id).ok()).filter(|id| *id < 1 << 31) {
            Some(id) => Ok(Some(id)),
            None => Err(wrong("h2", format!("{name} must be a stream id, a whole number below 2^31"))),
        },
    };
    Ok(Some(H2 { reset: reset(value)?, stream: id("stream")?, goaway_last: id("goaway_last")? }))
}

/// A reset by name or by number. A number that nobody registered is an ordinary reset (RFC 9113 §7).
fn reset(h2: &Json) -> Result<Option<H2Code>, LineError> {
    let Some(value) = h2.get("reset").filter(|reset| **reset != Json::Null) else { return Ok(None) };
    let code = match value {
        Json::String(name) => H2Code::parse(name),
        other => other.as_i64().and_then(|number| u32::try_from(number).ok()).map(H2Code::from_number),
    };
    code.map(Some).ok_or_else(|| wrong("h2", "reset must be an HTTP/2 error code, by name or by number"))
}

fn headers(fields: &Fields<'_>) -> Result<Headers, LineError> {
    match fields.value("headers") {
        None => Ok(Headers::default()),
        Some(Json::Object(members)) => members
            .iter()
            .map(|(name, value)| match value {
                Json::String(text) => Ok((name.clone(), text.clone())),
                other => Err(wrong("headers", format!("{name} must be a string, not {}", other.kind()))),
            })
            .collect(),
        Some(other) => Err(wrong("headers", format!("must be an object, not {}", other.kind()))),
    }
}

fn circumstances(fields: &Fields<'_>) -> Result<Vec<Circumstance>, LineError> {
    let items = match fields.value("circumstances") {
        None => return Ok(Vec::new()),
        Some(Json::Array(items)) => items,
        Some(other) => return Err(wrong("circumstances", format!("must be an array, not {}", other.kind()))),
    };
    let parse = |item: &Json| {
        let word = item.as_str().ok_or_else(|| wrong("circumstances", "must hold strings"))?;
        Circumstance::parse(word).ok_or_else(|| wrong("circumstances", format!("{word:?} is not a circumstance")))
    };
    items.iter().map(parse).collect()
}

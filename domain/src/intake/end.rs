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
        object: fields.object()?,
        phase: fields.word("phase", "a phase", Phase::parse)?,
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
        receipt_fault: fields.word("receipt_fault", "a fault of a receipt", ReceiptFault::parse)?,
        handle: fields.text("handle")?.map(Into::into),
        per_item: flag(fields, "per_item")?,
        ..End::new(outcome)
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::ReportKind;
    use crate::intake::{About, Line, Says};
    use crate::name::SourceName;

    fn parse(members: &str) -> Result<End, LineError> {
        let line = format!(r#"{{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"a",{members}}}"#);
        let line = Line::parse(line.as_bytes(), &SourceName::parse("test").unwrap())?;
        let Says::Operation { about: About::Report(report), .. } = line.says else { panic!("not a report") };
        let ReportKind::Ended(end) = report.kind else { panic!("not an end") };
        Ok(end)
    }

    #[test]
    fn every_member_of_an_end_is_read() {
        let end = parse(concat!(
            r#""outcome":"error","http":503,"error":"703","receipt":"pi_A","phase":"written","replayed":true,"#,
            r#""reported_by":"engine","grpc":"UNAVAILABLE","rpc":-32603,"is_error":true,"retry_after":"120","#,
            r#""h2":{"reset":"CANCEL","stream":5,"goaway_last":3},"headers":{"Transient-Error":" true "},"#,
            r#""reused":true,"bytes_sent":900,"circumstances":["hedging","failover"],"#,
            r#""receipt_fault":"other_amount","handle":"task-9","per_item":true"#
        ))
        .unwrap();
        let expected = End {
            http: Some(503),
            error: Some("703".into()),
            receipt: Receipt::parse("pi_A").ok(),
            phase: Some(Phase::Written),
            replayed: true,
            reported_by: Some("engine".into()),
            grpc: Some(GrpcStatus::Unavailable),
            h2: Some(H2 { reset: Some(H2Code::Cancel), stream: Some(5), goaway_last: Some(3) }),
            rpc: Some(-32603),
            is_error: true,
            headers: [("transient-error".to_owned(), "true".to_owned())].into_iter().collect(),
            retry_after: Some("120".into()),
            reused: true,
            bytes_sent: Some(900),
            circumstances: vec![Circumstance::Hedging, Circumstance::Failover],
            receipt_fault: Some(ReceiptFault::OtherAmount),
            handle: Some("task-9".into()),
            per_item: true,
            ..End::new(ReportedOutcome::Error)
        };
        assert_eq!(end, expected);
        let stored = serde_json::to_string(&end).unwrap();
        assert_eq!(serde_json::from_str::<End>(&stored).unwrap(), end);
    }

    #[test]
    fn codes_may_be_numbers() {
        assert_eq!(parse(r#""outcome":"error","grpc":14"#).unwrap().grpc, Some(GrpcStatus::Unavailable));
        let reset = |number| {
            let members = format!(r#""outcome":"conn_lost","h2":{{"reset":{number}}}"#);
            parse(&members).unwrap().h2.unwrap().reset
        };
        assert_eq!((reset(7), reset(4711)), (Some(H2Code::RefusedStream), Some(H2Code::InternalError)));
        assert_eq!(parse(r#""outcome":"throttled","retry_after":120"#).unwrap().retry_after, Some("120".into()));
    }

    #[test]
    fn every_word_of_the_vocabulary_is_a_phase() {
        for phase in Phase::ALL.iter().copied() {
            let members = format!(r#""outcome":"conn_lost","phase":"{}""#, phase.name());
            assert_eq!(parse(&members).unwrap().phase, Some(phase));
        }
    }

    #[test]
    fn a_member_of_the_wrong_type_is_named() {
        for (member, message) in [
            (r#""phase":"nap""#, r#"phase: "nap" is not a phase"#),
            (r#""replayed":"yes""#, "replayed: must be true or false, not a string"),
            (r#""is_error":1"#, "is_error: must be true or false, not a number"),
            (r#""grpc":17"#, "grpc: must be a gRPC status, by name or by number from 0 to 16"),
            (r#""grpc":"SLEEPY""#, "grpc: must be a gRPC status, by name or by number from 0 to 16"),
            (r#""rpc":"-32603""#, "rpc: must be a whole number in range"),
            (r#""h2":7"#, "h2: must be an object, not a number"),
            (r#""h2":{"reset":"NAP"}"#, "h2: reset must be an HTTP/2 error code, by name or by number"),
            (r#""h2":{"stream":2147483648}"#, "h2: stream must be a stream id, a whole number below 2^31"),
            (r#""headers":["a"]"#, "headers: must be an object, not an array"),
            (r#""headers":{"a":1}"#, "headers: a must be a string, not a number"),
            (r#""retry_after":[]"#, "retry_after: must be a string or a number, not an array"),
            (r#""bytes_sent":-1"#, "bytes_sent: must be a whole number in range"),
            (r#""circumstances":"hedging""#, "circumstances: must be an array, not a string"),
            (r#""circumstances":["weather"]"#, r#"circumstances: "weather" is not a circumstance"#),
            (r#""circumstances":[1]"#, "circumstances: must hold strings"),
            (r#""receipt_fault":"ugly""#, r#"receipt_fault: "ugly" is not a fault of a receipt"#),
        ] {
            let members = format!(r#""outcome":"error",{member}"#);
            assert_eq!(parse(&members).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn headers_that_may_carry_credentials_are_not_kept() {
        let members = r#""outcome":"error","headers":{"Set-Cookie":"s=1","WWW-Authenticate":"x","X-Ok":"1"}"#;
        let end = parse(members).unwrap();
        let kept: Headers = [("x-ok".to_owned(), "1".to_owned())].into_iter().collect();
        assert_eq!(end.headers, kept);
    }

    #[test]
    fn what_was_stored_before_reads_the_same_and_is_stored_the_same() {
        for (phase, stored) in [
            ("resolve", r#"{"outcome":"conn_lost","phase":"resolve"}"#),
            ("head", r#"{"outcome":"conn_lost","phase":"head"}"#),
        ] {
            let end = End { phase: Phase::parse(phase), ..End::new(ReportedOutcome::ConnLost) };
            assert_eq!(serde_json::from_str::<End>(stored).unwrap(), end);
            assert_eq!(serde_json::to_string(&end).unwrap(), stored);
        }
        let stored = r#"{"outcome":"error","http":500,"error":"e","receipt":"r","replayed":true,"reported_by":"b"}"#;
        assert_eq!(serde_json::to_string(&serde_json::from_str::<End>(stored).unwrap()).unwrap(), stored);
    }
}

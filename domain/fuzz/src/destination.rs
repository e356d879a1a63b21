//! What destinations answer to look-ups, and what arguments become when they are written into a request.

use tallystick_domain::contract::LookUpBy;
use tallystick_domain::delivery::{DeliveryTemplate, Scheme};
use tallystick_domain::evidence::Claim;
use tallystick_domain::json::Json;
use tallystick_domain::look_up::{Answer, LookUpTemplate};
use tallystick_domain::name::{DeliveryId, DestinationKey, OperationId, OperationKey};
use tallystick_domain::request::{Face, Names, RequestTemplate, Wire};
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Stake;

use crate::targets::hold;

const BY: [LookUpBy; 3] = [LookUpBy::Key, LookUpBy::Metadata, LookUpBy::NaturalKey];
const STATUSES: [u16; 6] = [200, 404, 410, 204, 301, 500];

fn with_names<T>(arguments: &Json, bytes: &[u8], then: impl FnOnce(&Names<'_>) -> T) -> Result<T, String> {
    let key = DestinationKey::parse("ts-1").map_err(|error| error.to_string())?;
    let operation_key = OperationKey::parse("refund:7").map_err(|error| error.to_string())?;
    let operation_id = OperationId::parse("0190").map_err(|error| error.to_string())?;
    Ok(then(&Names {
        key: Some(&key),
        operation_key: &operation_key,
        operation_id: &operation_id,
        receipt: None,
        arguments,
        argument_bytes: bytes,
    }))
}

/// The first byte chooses the status and what is searched by; the rest is the body.
pub(crate) fn look_up(bytes: &[u8]) -> Result<bool, String> {
    let Some((first, body)) = bytes.split_first() else { return Ok(false) };
    let status = STATUSES[usize::from(*first) % STATUSES.len()];
    let by = BY[usize::from(*first / 16) % BY.len()];
    let list: LookUpTemplate = serde_json::from_str(
        r#"{"path":"/x","items":"/data","receipt":"/id","more":"/has_more","matches":[{"at":"/key","value":"{key}"}],
            "must_echo":[{"answer":"/amount","argument":"/amount"}],"reversed":[{"at":"/status","value":"failed"}]}"#,
    )
    .map_err(|error| error.to_string())?;
    let single: LookUpTemplate =
        serde_json::from_str(r#"{"path":"/x","receipt":"/id"}"#).map_err(|error| error.to_string())?;
    let arguments = Json::parse(br#"{"amount":10}"#).map_err(|error| error.to_string())?;
    let is_json = Json::parse(body).is_ok();
    let mut any = false;
    for (template, is_list) in [(list, true), (single, false)] {
        let read = || {
            let answer = Answer { status, body };
            with_names(&arguments, b"", |names| template.read(answer, names, &Stake::default(), by))
        };
        let claims = read()?;
        hold(read()? == claims, "the same answer says something else the second time")?;
        hold(!claims.is_empty(), "an answer says nothing at all")?;
        for claim in &claims {
            any |= *claim != Claim::Unavailable;
            let says_absent = matches!(claim, Claim::Absent);
            let is_gone = !is_list && matches!(status, 404 | 410);
            hold(!says_absent || is_gone || status == 200 && is_json, "absence is read where nothing was understood")?;
            let finds = matches!(claim, Claim::Executed { .. } | Claim::Reversed { .. } | Claim::NotOurs { .. });
            hold(!finds || status == 200 && is_json, "an object is found where there is none")?;
            hold(!finds || by != LookUpBy::NaturalKey, "business fields prove an object")?;
        }
        let absent = claims.contains(&Claim::Absent);
        hold(!absent || claims.len() == 1, "it is absent and there at once")?;
    }
    Ok(any)
}

/// The first byte chooses the scheme; the rest is the body.
pub(crate) fn delivery(bytes: &[u8]) -> Result<bool, String> {
    let Some((first, body)) = bytes.split_first() else { return Ok(false) };
    let scheme = Scheme::ALL[usize::from(*first) % Scheme::ALL.len()];
    let template: DeliveryTemplate = serde_json::from_str(
        r#"{"events":[{"type":"made","means":"executed"},{"type":"undone","means":"reversed"}],"object":"/data/object",
            "receipt":"/id","key":"/request/idempotency_key","operation_key":"/metadata/operation_key",
            "matches":[],"must_echo":[{"answer":"/amount","argument":"/amount"}],"happened_at":"/created"}"#,
    )
    .map_err(|error| error.to_string())?;
    let json = Json::parse(body).ok();
    let header = |name: &str| (name == "x-github-event").then_some("made");
    let envelope = scheme.envelope(header, body, json.as_ref());
    hold(scheme.envelope(header, body, json.as_ref()) == envelope, "the same delivery is another the second time")?;
    hold(DeliveryId::parse(envelope.id.as_str()).is_ok(), "its id cannot be kept")?;
    if let Some(at) = envelope.happened_at {
        hold(Timestamp::parse_rfc3339(&at.to_string()) == Some(at), "its time cannot be printed")?;
    }
    let (Some(json), event) = (json, envelope.event.as_deref()) else { return Ok(false) };
    let arguments = Json::parse(br#"{"amount":10}"#).map_err(|error| error.to_string())?;
    let read =
        |known| with_names(&arguments, b"", |names| template.claim(event, &json, names, &Stake::default(), known));
    let claim = read(true)?.map_err(|error| error.to_string())?;
    let named = template.names_in(event, &json);
    match &claim {
        Some(Claim::Executed { receipt } | Claim::Reversed { receipt } | Claim::NotOurs { receipt, .. }) => {
            hold(
                named.is_some_and(|named| named.receipt == *receipt),
                "it says something of what it cannot be linked by",
            )?;
        }
        None => {}
        Some(_) => hold(false, "it says what only a look-up can say")?,
    }
    let unknown = read(false)?.map_err(|error| error.to_string())?;
    hold(matches!(unknown, None | Some(Claim::Likely)), "what could not be compared proves something")?;
    Ok(true)
}

/// The input is a proposal's arguments.
pub(crate) fn request(bytes: &[u8]) -> Result<bool, String> {
    let Ok(arguments @ Json::Object(_)) = Json::parse(bytes) else { return Ok(false) };
    let face = Face {
        host: "psp.example".into(),
        base_path: "/v1".into(),
        credential: Some(("authorization".into(), "Bearer {env:KEY}".into())),
    };
    let mut any = false;
    for (body, write) in
        [("json", "[]"), ("json", r#"[{"to":"/metadata/ref","value":"{operation_key}"}]"#), ("form", "[]")]
    {
        let text = format!(
            r#"{{"method":"POST","path":"/x/{{/order}}?a=1","headers":{{"x-ref":"{{/order}}"}},"body":"{body}","write":{write}}}"#
        );
        let template: RequestTemplate = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let contract = tallystick_domain::contract::Contract {
            key_location: Some("Idempotency-Key".into()),
            ..Default::default()
        };
        let made = with_names(&arguments, bytes, |names| template.render(&contract, names, &face))?;
        let Ok(wire) = made else { continue };
        any = true;
        let out = wire.to_bytes();
        hold(Wire::from_bytes(&out).as_ref() == Ok(&wire), "what is kept reads as another request")?;
        let head_end = out.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(0);
        let lines = out[..head_end].split(|byte| *byte == b'\n').count();
        hold(lines == 1 + wire.headers().len(), "an argument adds a line to the head")?;
        hold(wire.headers().iter().filter(|(name, _)| name == "authorization").count() == 1, "a second credential")?;
        hold(wire.target().starts_with("/v1/x/"), "an argument leads to another place")?;
        hold(wire.target().matches('?').count() == 1, "an argument begins a query")?;
        if write == "[]" && body == "json" {
            hold(wire.body() == bytes, "the proposed bytes are not the ones that go out")?;
        } else if body == "json" {
            hold(Json::parse(wire.body()).is_ok(), "the body is no JSON")?;
        }
    }
    Ok(any)
}

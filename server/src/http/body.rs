//! Bodies, read strictly: a limit, no duplicate names, no unknown members, and the place of what is wrong.

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tallystick_domain::json::{Json, Member};

use super::problem::{Answer, BAD_BODY, Problem, UNSUPPORTED_MEDIA_TYPE};

/// Reads a whole body of at most `limit` bytes.
pub async fn read_limited(headers: &HeaderMap, body: Body, limit: usize) -> Answer<Bytes> {
    let declared = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > limit) {
        return Err(Problem::too_large("The body", limit));
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Problem::too_large("The body", limit)),
        Err(_) => {
            Err(Problem::new(BAD_BODY, "The body ended before it was complete. Nothing was done. Send it again."))
        }
    }
}

/// Refuses a body that says it is something other than JSON; silence counts as JSON.
pub fn check_is_json(headers: &HeaderMap) -> Answer<()> {
    let Some(kind) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return Ok(()) };
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || essence.ends_with("+json") {
        return Ok(());
    }
    Err(Problem::new(
        UNSUPPORTED_MEDIA_TYPE,
        format!("The body is {essence:?}. Nothing was done. Send application/json."),
    ))
}

/// Reads a small JSON body into a type that denies unknown members.
pub async fn read_json<T: DeserializeOwned>(headers: &HeaderMap, body: Body, limit: usize) -> Answer<T> {
    check_is_json(headers)?;
    let bytes = read_limited(headers, body, limit).await?;
    from_json(&bytes)
}

/// Reads JSON into a type that denies unknown members; duplicates are found first.
pub fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Answer<T> {
    Json::parse(bytes)?;
    serde_json::from_slice(bytes).map_err(|error| bad_member(bytes, &error))
}

/// The members of an object body, each with the place of its value. All must be among `known`.
pub fn members(bytes: &[u8], known: &[&str]) -> Answer<Vec<Member>> {
    let members = Json::parse_members(bytes)?;
    match members.iter().find(|member| !known.contains(&member.name.as_str())) {
        None => Ok(members),
        Some(stranger) => Err(Problem::new(
            BAD_BODY,
            format!("The member {:?} is not known. Nothing was done. Known are {}.", stranger.name, known.join(", ")),
        )
        .with("member", stranger.name.clone())
        .with("at_byte", stranger.span.start)),
    }
}

/// The string member of this name, if it is there.
pub fn text<'a>(members: &'a [Member], name: &str) -> Answer<Option<&'a str>> {
    match members.iter().find(|member| member.name == name) {
        None | Some(Member { value: Json::Null, .. }) => Ok(None),
        Some(member) => member.value.as_str().map(Some).ok_or_else(|| wrong_type(member, "a string")),
    }
}

/// The string member of this name.
pub fn required_text<'a>(members: &'a [Member], name: &str) -> Answer<&'a str> {
    text(members, name)?.ok_or_else(|| missing(name))
}

/// A member that must be there is not.
pub fn missing(name: &str) -> Problem {
    Problem::new(BAD_BODY, format!("The member {name:?} is missing. Nothing was done.")).with("member", name)
}

fn wrong_type(member: &Member, expected: &str) -> Problem {
    Problem::new(
        BAD_BODY,
        format!("The member {:?} is {}, not {expected}. Nothing was done.", member.name, member.value.kind()),
    )
    .with("member", member.name.clone())
    .with("at_byte", member.span.start)
}

fn bad_member(bytes: &[u8], error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let what = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
    Problem::new(BAD_BODY, format!("The body is not understood: {what}. Nothing was done."))
        .with("at_byte", offset(bytes, error.line(), error.column()))
}

/// serde counts lines and columns; a program that wrote the body counts bytes.
fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let before: usize =
        bytes.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    (before + column.saturating_sub(1)).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Trust {
        #[expect(dead_code, reason = "only read by serde")]
        trust: String,
    }

    #[test]
    fn a_duplicate_name_is_found_before_anything_is_read() {
        let problem = from_json::<Trust>(br#"{"trust":"a","trust":"b"}"#).unwrap_err();
        assert_eq!(problem.kind().code, "malformed-json");
        assert!(problem.detail().contains("twice"), "{}", problem.detail());
    }

    #[test]
    fn an_unknown_member_is_named() {
        let problem = from_json::<Trust>(br#"{"trust":"a","extra":1}"#).unwrap_err();
        assert!(problem.detail().contains("extra"), "{}", problem.detail());
    }

    #[test]
    fn a_wrong_type_is_named_with_its_place() {
        let body = br#"{"tool":7}"#;
        let read = members(body, &["tool"]).unwrap();
        let problem = required_text(&read, "tool").unwrap_err();
        assert!(problem.detail().contains("a number, not a string"), "{}", problem.detail());
    }
}

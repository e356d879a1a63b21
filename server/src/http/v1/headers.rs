//! Headers of the API: the key that makes a request repeatable, and the version that its sender saw.

use axum::http::header::{ETAG, IF_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use tallystick_domain::name::ActionKey;

use crate::http::problem::{
    Answer, BAD_HEADER, IDEMPOTENCY_KEY_INVALID, IDEMPOTENCY_KEY_MISSING, PRECONDITION_REQUIRED, Problem,
};

/// Names one request, so that sending it again does nothing more.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Set on an answer that was given before.
pub const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

const KEY_LIMIT: usize = 255;

/// The key of an operator action: an sf-string, or the bare characters that many clients send (H2, H10).
pub fn action_key(headers: &HeaderMap) -> Answer<ActionKey> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else {
        return Err(Problem::new(
            IDEMPOTENCY_KEY_MISSING,
            "This call needs an Idempotency-Key. Nothing was done. Send a new random one, and the same one when you repeat the call.",
        ));
    };
    if values.next().is_some() {
        return Err(invalid("there are several"));
    }
    let text = value.to_str().map_err(|_| invalid("it holds characters that are not visible ASCII"))?.trim();
    let key = if text.starts_with('"') { quoted(text)? } else { text.to_owned() };
    if key.is_empty() || key.len() > KEY_LIMIT || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(invalid("it must be 1 to 255 visible ASCII characters"));
    }
    ActionKey::parse(key).map_err(|error| invalid(&error.to_string()))
}

fn quoted(text: &str) -> Answer<String> {
    let item: sfv::Item = sfv::Parser::new(text).parse().map_err(|_| invalid("it is not a structured-field string"))?;
    match item.bare_item {
        sfv::BareItem::String(key) => Ok(key.into()),
        _ => Err(invalid("it is not a structured-field string")),
    }
}

fn invalid(why: &str) -> Problem {
    Problem::new(IDEMPOTENCY_KEY_INVALID, format!("The Idempotency-Key cannot be used: {why}. Nothing was done."))
}

/// The version that the sender saw. A press without one would be blind, so it is needed (428).
pub fn seen_version(headers: &HeaderMap) -> Answer<u64> {
    let Some(value) = headers.get(IF_MATCH) else {
        return Err(Problem::new(
            PRECONDITION_REQUIRED,
            "This call needs the version you saw. Nothing was done. Send If-Match with the ETag of the operation, such as \"5\".",
        ));
    };
    let version = value.to_str().ok().and_then(|text| text.trim().strip_prefix('"')?.strip_suffix('"')?.parse().ok());
    version.ok_or_else(|| {
        Problem::new(
            BAD_HEADER,
            "If-Match does not hold one version such as \"5\". Nothing was done. Send the ETag of the operation; weak tags and * are not taken.",
        )
    })
}

/// The version as an entity tag.
pub fn etag(version: u64) -> (HeaderName, HeaderValue) {
    // Digits and quotes are always a header value.
    (ETAG, HeaderValue::from_str(&format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"0\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_key_is_read_quoted_and_bare() {
        for text in ["\"8e03978e-40d5\"", "8e03978e-40d5"] {
            assert_eq!(action_key(&with(IDEMPOTENCY_KEY, text)).unwrap().as_str(), "8e03978e-40d5");
        }
    }

    #[test]
    fn missing_several_empty_and_blank_keys_are_refused() {
        assert_eq!(action_key(&HeaderMap::new()).unwrap_err().kind().code, "idempotency-key-missing");
        let mut two = with(IDEMPOTENCY_KEY, "a");
        two.append(IDEMPOTENCY_KEY, HeaderValue::from_static("b"));
        assert_eq!(action_key(&two).unwrap_err().kind().code, "idempotency-key-invalid");
        for text in ["", "\"\"", "a b", "\"a b\"", "\"open"] {
            let refused = action_key(&with(IDEMPOTENCY_KEY, text)).unwrap_err();
            assert_eq!(refused.kind().code, "idempotency-key-invalid", "{text:?}");
        }
    }

    #[test]
    fn the_seen_version_is_one_strong_tag() {
        assert_eq!(seen_version(&with(IF_MATCH, "\"5\"")).unwrap(), 5);
        assert_eq!(seen_version(&HeaderMap::new()).unwrap_err().kind().status, 428);
        for text in ["*", "W/\"5\"", "5", "\"5\", \"6\""] {
            assert_eq!(seen_version(&with(IF_MATCH, text)).unwrap_err().kind().status, 400, "{text:?}");
        }
    }
}

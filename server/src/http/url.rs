//! Addresses: encoding of values, and where a person may be sent back to.

use std::fmt::Write as _;

use axum::http::Uri;

/// Encodes a value for a query: everything but unreserved characters and `/`.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

/// A query from names and values.
pub fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs: Vec<_> = pairs.into_iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    pairs.join("&")
}

/// The text if it is a path on this server, so that nobody is sent elsewhere after signing in. Browsers read `\` as `/`
/// and skip control characters, so both are refused.
pub fn local_path(text: &str) -> Option<String> {
    let is_local = text.starts_with('/')
        && !text.starts_with("//")
        && !text.contains('\\')
        && !text.chars().any(char::is_control)
        && text.len() <= 2048;
    is_local.then(|| text.to_owned())
}

/// Path and query of an address.
pub fn local_part(address: &str) -> Option<String> {
    let uri: Uri = address.parse().ok()?;
    local_path(uri.path_and_query()?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_on_this_server_are_returned_to() {
        assert_eq!(local_path("/operations?state=uncertain"), Some("/operations?state=uncertain".into()));
        for elsewhere in ["https://evil.example", "//evil.example", "/\\evil.example", "operations", "/a\nb", ""] {
            assert_eq!(local_path(elsewhere), None, "{elsewhere:?}");
        }
    }

    #[test]
    fn values_are_encoded_whole() {
        assert_eq!(query([("search", "a&b=c é")]), "search=a%26b%3Dc%20%C3%A9");
    }

    #[test]
    fn the_local_part_of_a_referer_leads_back_to_its_form() {
        assert_eq!(local_part("http://127.0.0.1:8642/operations/1/adopt?x=1"), Some("/operations/1/adopt?x=1".into()));
    }
}

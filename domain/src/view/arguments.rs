//! Arguments for reading: numbers exactly as received, secret fields redacted, differences field by field.

use serde::{Deserialize, Serialize};

use super::ChangeLine;
use crate::json::Json;
use crate::operation::{Arguments, FieldChange};

/// What stands where a secret was.
pub const REDACTED: &str = "•••••• redacted by the tool's rules";

/// The arguments of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentsView {
    /// Pretty, with numbers as written; nothing where they are not shown.
    pub text: Option<String>,
    /// Why they are not shown, where they are not.
    pub absent: Option<String>,
    /// The fingerprint that an approval binds to.
    pub args_hash: Option<String>,
    /// The fingerprint of sameness at intake, where it differs.
    pub identity_hash: Option<String>,
    /// How many bytes were received.
    pub size: Option<String>,
}

/// The arguments as a page shows them.
pub fn arguments_view(bytes: Option<&[u8]>, known: Option<&Arguments>, secret_fields: &[String]) -> ArgumentsView {
    let size = known.map(|arguments| size_in_words(arguments.size_bytes));
    let (text, absent) = match (bytes, &size) {
        (Some(bytes), _) => match Json::parse(bytes) {
            Ok(mut json) => {
                redact(&mut json, secret_fields, "");
                (Some(json.pretty()), None)
            }
            Err(error) => (None, Some(format!("The stored bytes do not read as JSON: {error}."))),
        },
        (None, Some(size)) => (None, Some(format!("{size}: too large to show here. Download the raw record."))),
        (None, None) => (None, Some("No arguments are on record: its source did not tell them.".to_owned())),
    };
    let hash = |pick: fn(&Arguments) -> String| known.map(pick);
    let args_hash = hash(|arguments| arguments.args_hash.to_string());
    let identity_hash =
        hash(|arguments| arguments.identity_hash.to_string()).filter(|hash| Some(hash) != args_hash.as_ref());
    ArgumentsView { text, absent, args_hash, identity_hash, size }
}

/// `312 bytes`, `4.2 KiB`, `1.5 MiB`.
pub fn size_in_words(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", tenths(1_024)),
        _ => format!("{} MiB", tenths(1_048_576)),
    }
}

/// Hides secret fields. A rule hides every member of that very name, at any depth; a JSON pointer (`/card/number`) or
/// dotted path hides the member at that place too.
pub fn redact(json: &mut Json, secret_fields: &[String], path: &str) {
    match json {
        Json::Object(members) => {
            for (name, value) in members {
                let child = format!("{path}/{name}");
                if is_secret(&child, name, secret_fields) {
                    *value = Json::String(REDACTED.to_owned());
                } else {
                    redact(value, secret_fields, &child);
                }
            }
        }
        // Items of a list stand under their list's rules.
        Json::Array(items) => items.iter_mut().for_each(|item| redact(item, secret_fields, path)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn is_secret(path: &str, name: &str, secret_fields: &[String]) -> bool {
    secret_fields.iter().any(|rule| {
        let rule = rule.trim_start_matches('/');
        // A name may hold a separator itself: in doubt it is hidden.
        name == rule || (rule.contains(['/', '.']) && path.trim_start_matches('/') == rule.replace('.', "/"))
    })
}

/// Differences with secrets hidden on both sides.
pub fn change_lines(changes: &[FieldChange], secret_fields: &[String]) -> Vec<ChangeLine> {
    let hide = |change: &FieldChange| {
        let mut walked = String::new();
        let is_hidden = change.path.split('/').filter(|segment| !segment.is_empty()).any(|segment| {
            let name = segment.replace("~1", "/").replace("~0", "~");
            walked = format!("{walked}/{name}");
            is_secret(&walked, &name, secret_fields)
        });
        let value =
            |text: &Option<String>| text.as_ref().map(|text| hidden_value(text, is_hidden, &walked, secret_fields));
        ChangeLine {
            path: change.path.clone(),
            before: value(&change.before),
            after: value(&change.after),
            note: change.note.clone(),
        }
    };
    changes.iter().map(hide).collect()
}

fn hidden_value(text: &str, is_hidden: bool, path: &str, secret_fields: &[String]) -> String {
    if is_hidden {
        return REDACTED.to_owned();
    }
    match Json::parse(text.as_bytes()) {
        Ok(mut json) => {
            redact(&mut json, secret_fields, path);
            json.pretty()
        }
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Hash;

    fn secrets(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn big_numbers_keep_every_digit_and_secrets_do_not_show() {
        let bytes = br#"{"ledger_row":1970670598291982290,"card":{"number":"4242"},"customer":"Eva"}"#;
        let view = arguments_view(Some(bytes), None, &secrets(&["customer", "/card/number"]));
        let text = view.text.unwrap();
        assert!(text.contains("1970670598291982290"), "{text}");
        assert!(!text.contains("4242") && !text.contains("Eva"), "{text}");
    }

    #[test]
    fn a_member_whose_name_holds_a_separator_is_hidden_by_that_name() {
        let mut json = Json::parse(br#"{"api.key":"s1","a":[{"card/number":"s2"}],"api":{"key":"s3"}}"#).unwrap();
        redact(&mut json, &["api.key".into(), "card/number".into()], "");
        let shown = json.pretty();
        assert!(!shown.contains("s1") && !shown.contains("s2") && !shown.contains("s3"), "{shown}");
    }

    #[test]
    fn a_dotted_rule_hides_only_its_own_member() {
        let mut json = Json::parse(br#"{"a":{"token":"x"},"b":{"token":"y"},"list":[{"pin":1}]}"#).unwrap();
        redact(&mut json, &secrets(&["a.token", "pin"]), "");
        let text = json.pretty();
        assert!(!text.contains("\"x\"") && text.contains("\"y\""), "{text}");
        assert!(text.contains(&format!("\"pin\": \"{REDACTED}\"")), "{text}");
    }

    #[test]
    fn a_difference_in_a_secret_field_shows_that_it_differs_and_nothing_else() {
        let change = |path: &str, before: &str, after: &str| FieldChange {
            path: path.into(),
            before: Some(before.into()),
            after: Some(after.into()),
            note: None,
        };
        let lines = change_lines(
            &[
                change("/customer", "\"Eva\"", "\"Ida\""),
                change("/amount", "124000", "142000"),
                change("/", "{\"customer\":\"Eva\"}", "1"),
            ],
            &secrets(&["customer"]),
        );
        assert_eq!(lines[0].before.as_deref(), Some(REDACTED));
        assert_eq!(lines[1].after.as_deref(), Some("142000"));
        assert!(!lines[2].before.as_deref().unwrap().contains("Eva"));
    }

    #[test]
    fn arguments_that_are_too_large_or_missing_say_so() {
        let known = Arguments {
            identity_hash: Hash::of(b"a"),
            args_hash: Hash::of(b"a"),
            intent_hash: None,
            size_bytes: 2_097_152,
        };
        assert!(arguments_view(None, Some(&known), &[]).absent.unwrap().starts_with("2.0 MiB"));
        assert!(arguments_view(None, None, &[]).absent.unwrap().contains("did not tell"));
    }
}

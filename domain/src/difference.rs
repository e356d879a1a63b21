//! How two values differ, field by field; and which differences the eye may miss: the same text composed otherwise, the
//! same number spelled otherwise, the same instant written otherwise. Nothing here decides on sameness: that is what the
//! fingerprint is for (J7).

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::json::Json;
use crate::operation::{FieldChange, named};

named! {
    /// Why two values that differ look alike, or mean the same.
    Likeness {
        /// The same characters, composed otherwise: `é` as one code point or as two. Another fingerprint (J3).
        Composition = "unicode_composition",
        /// The same number, spelled otherwise: `100` and `1e2`. The same fingerprint (J4, J5).
        #[serde(alias = "the same value, spelled differently")]
        Spelling = "number_spelling",
        /// The same instant in two RFC 3339 texts. Another fingerprint.
        Instant = "same_instant",
    }
}

impl Likeness {
    /// Of two values that stand in the same place; nothing where they are equal or differ in earnest.
    pub fn between(one: &Json, other: &Json) -> Option<Self> {
        match (one, other) {
            _ if one == other => None,
            (Json::Number(_), Json::Number(_)) => (one.canonical() == other.canonical()).then_some(Self::Spelling),
            (Json::String(one), Json::String(other)) => {
                if one.nfc().eq(other.nfc()) {
                    return Some(Self::Composition);
                }
                let is_same = instant(one).is_some_and(|at| instant(other) == Some(at));
                is_same.then_some(Self::Instant)
            }
            _ => None,
        }
    }

    /// Beside one field.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Composition => "differs only in Unicode composition",
            Self::Spelling => "differs only in how the number is spelled",
            Self::Instant => "names the same instant",
        }
    }

    const fn alone(self) -> &'static str {
        match self {
            Self::Composition => "in Unicode composition",
            Self::Spelling => "in how a number is spelled",
            Self::Instant => "in how the same instant is written",
        }
    }
}

/// A point in time, exactly. What is finer than chrono keeps (nine digits of a second) is not compared.
fn instant(text: &str) -> Option<DateTime<FixedOffset>> {
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    DateTime::parse_from_rfc3339(text).ok().filter(|_| digits <= 9)
}

/// What two values differ in if they differ in nothing else, in a sentence; nothing where they are equal or where one
/// difference is in earnest.
pub fn all_they_differ_in(changes: &[FieldChange]) -> Option<String> {
    let mut kinds = changes.iter().map(|change| change.note).collect::<Option<Vec<Likeness>>>()?;
    kinds.sort_unstable();
    kinds.dedup();
    let has_same_fingerprint = kinds == [Likeness::Spelling];
    let what = match kinds.as_slice() {
        [] => return None,
        [Likeness::Instant] => "They name the same instant".to_owned(),
        [others @ .., last] => {
            let others: Vec<&str> = others.iter().map(|kind| kind.alone()).collect();
            let and = if others.is_empty() { "" } else { " and " };
            format!("They differ only {}{and}{}", others.join(", "), last.alone())
        }
    };
    Some(if has_same_fingerprint {
        format!("{what}: the fingerprint is the same.")
    } else {
        format!("{what}, but each has a fingerprint of its own.")
    })
}

/// The differences between two values, as written, ordered by place. Lists of equal length are compared item by item.
pub fn diff(before: &Json, after: &Json) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    collect_changes("", Some(before), Some(after), &mut changes);
    changes
}

fn collect_changes(path: &str, before: Option<&Json>, after: Option<&Json>, changes: &mut Vec<FieldChange>) {
    if before == after {
        return;
    }
    match (before, after) {
        (Some(Json::Object(left)), Some(Json::Object(right))) => {
            let mut names: Vec<&String> = left.iter().chain(right).map(|(name, _)| name).collect();
            names.sort();
            names.dedup();
            for name in names {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                let child = format!("{path}/{escaped}");
                collect_changes(&child, before.and_then(|v| v.get(name)), after.and_then(|v| v.get(name)), changes);
            }
        }
        (Some(Json::Array(left)), Some(Json::Array(right))) if left.len() == right.len() => {
            for (index, (before, after)) in left.iter().zip(right).enumerate() {
                collect_changes(&format!("{path}/{index}"), Some(before), Some(after), changes);
            }
        }
        _ => changes.push(FieldChange {
            path: if path.is_empty() { "/".into() } else { path.into() },
            before: before.map(Json::pretty),
            after: after.map(Json::pretty),
            note: before.zip(after).and_then(|(before, after)| Likeness::between(before, after)),
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fingerprint::tests::any_json;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn differences(before: &str, after: &str) -> Vec<FieldChange> {
        diff(&json(before), &json(after))
    }

    #[test]
    fn a_field_says_when_it_looks_alike_or_means_the_same() {
        use Likeness::{Composition, Instant, Spelling};
        for (one, other, likeness) in [
            (r#""Caf\u00e9""#, r#""Cafe\u0301""#, Some(Composition)),
            (r#""\uac00""#, r#""\u1100\u1161""#, Some(Composition)),
            (r#""\u212b""#, r#""\u00c5""#, Some(Composition)),
            // Compatibility is no composition: a ligature is another text than its letters.
            (r#""\ufb01""#, r#""fi""#, None),
            (r#""Café""#, r#""Cafe""#, None),
            ("1.0", "1.00", Some(Spelling)),
            ("1e2", "100", Some(Spelling)),
            ("-0", "0", Some(Spelling)),
            ("1e400", "10e399", Some(Spelling)),
            ("1.0", "1.1", None),
            ("9007199254740993", "9007199254740992", None),
            ("1970670598291982290", "1970670598291982300", None),
            // What a text spells is the destination's affair.
            (r#""1.0""#, r#""1.00""#, None),
            ("1", r#""1""#, None),
            (r#""2026-07-31T18:30:00-07:00""#, r#""2026-08-01T01:30:00Z""#, Some(Instant)),
            (r#""2026-08-01T01:30:00.000Z""#, r#""2026-08-01T01:30:00+00:00""#, Some(Instant)),
            (r#""2026-08-01T01:30:00.0000000001Z""#, r#""2026-08-01T01:30:00Z""#, None),
            (r#""2016-12-31T23:59:60Z""#, r#""2017-01-01T00:00:00Z""#, None),
            (r#""2026-07-31T18:30:00""#, r#""2026-07-31T18:30:00Z""#, None),
            ("1", "1", None),
            ("null", "false", None),
        ] {
            assert_eq!(Likeness::between(&json(one), &json(other)), likeness, "{one} {other}");
            assert_eq!(Likeness::between(&json(other), &json(one)), likeness, "{other} {one}");
        }
    }

    #[test]
    fn the_whole_says_it_where_nothing_else_differs() {
        let said = |before: &str, after: &str| all_they_differ_in(&differences(before, after));
        let composed = said(r#"{"payee":"Caf\u00e9","n":1}"#, r#"{"n":1,"payee":"Cafe\u0301"}"#).unwrap();
        assert_eq!(composed, "They differ only in Unicode composition, but each has a fingerprint of its own.");
        let spelled = said(r#"{"a":1.0,"b":[1e2]}"#, r#"{"a":1.00,"b":[100]}"#).unwrap();
        assert_eq!(spelled, "They differ only in how a number is spelled: the fingerprint is the same.");
        let instant = said(r#"{"at":"2026-07-31T18:30:00-07:00"}"#, r#"{"at":"2026-08-01T01:30:00Z"}"#).unwrap();
        assert_eq!(instant, "They name the same instant, but each has a fingerprint of its own.");
        let both = said(r#"{"p":"\u00e9","n":1.0}"#, r#"{"p":"e\u0301","n":1}"#).unwrap();
        assert!(
            both.starts_with("They differ only in Unicode composition and in how a number is spelled, but"),
            "{both}"
        );
        assert_eq!(said(r#"{"p":"\u00e9","n":1}"#, r#"{"p":"e\u0301","n":2}"#), None, "one difference is in earnest");
        assert_eq!(said(r#"{"n":1.0}"#, r#"{"n":1,"more":null}"#), None, "a field more is in earnest");
        assert_eq!(said(r#"{"n":1}"#, r#"{ "n": 1 }"#), None, "equal values differ in nothing");
    }

    #[test]
    fn each_field_is_named_as_written() {
        let changes = differences(r#"{"amount":1999,"x":{"y":12345.0}}"#, r#"{"amount":2999,"x":{"y":12345}}"#);
        assert_eq!((changes[0].path.as_str(), changes[0].before.as_deref()), ("/amount", Some("1999")));
        assert_eq!((changes[1].path.as_str(), changes[1].note), ("/x/y", Some(Likeness::Spelling)));
    }

    #[test]
    fn lists_of_equal_length_are_compared_item_by_item_and_others_as_a_whole() {
        let before = r#"{"items":[{"sku":"a","n":1},{"n":2,"sku":"b"}],"tags":["x"]}"#;
        let after = r#"{"items":[{"n":1,"sku":"a"},{"n":3,"sku":"b"}],"tags":["x","y"]}"#;
        let changes = differences(before, after);
        let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["/items/1/n", "/tags"]);
    }

    #[test]
    fn a_note_of_an_older_record_is_still_read() {
        let old = r#"{"path":"/n","before":"1.0","after":"1","note":"the same value, spelled differently"}"#;
        let change: FieldChange = serde_json::from_str(old).unwrap();
        assert_eq!(change.note, Some(Likeness::Spelling));
    }

    /// A value, and one that may be like it: each leaf as it is, or written otherwise.
    fn twins() -> impl Strategy<Value = (Json, Json)> {
        let text = |text: String| Json::String(text);
        let twin = prop_oneof![
            (-9_i64..=9, 0_usize..4).prop_map(|(n, zeros)| {
                (Json::Number(n.to_string()), Json::Number(format!("{n}.0{}", "0".repeat(zeros))))
            }),
            "[a-zé가ạ]{0,6}".prop_map(move |one| { (text(one.nfc().collect()), text(one.nfd().collect())) }),
            (0_i64..4_000_000_000, -14_i32..=14).prop_map(move |(second, hours)| {
                let utc = DateTime::from_timestamp(second, 0).unwrap();
                let there = utc.with_timezone(&FixedOffset::east_opt(hours * 3_600).unwrap());
                (text(utc.to_rfc3339()), text(there.to_rfc3339()))
            }),
        ];
        prop_oneof![twin, (any_json(), any_json()), any_json().prop_map(|one| (one.clone(), one))]
    }

    proptest! {
        #[test]
        fn the_kind_of_a_difference_does_not_depend_on_which_comes_first((one, other) in twins()) {
            let there = diff(&one, &other);
            let back = diff(&other, &one);
            let kinds = |changes: &[FieldChange]| -> Vec<_> {
                changes.iter().map(|change| (change.path.clone(), change.note)).collect()
            };
            prop_assert_eq!(kinds(&there), kinds(&back));
            prop_assert_eq!(all_they_differ_in(&there), all_they_differ_in(&back));
        }

        #[test]
        fn equal_values_differ_in_nothing(json in any_json()) {
            let changes = diff(&json, &json);
            prop_assert!(changes.is_empty());
            prop_assert_eq!(all_they_differ_in(&changes), None);
            prop_assert_eq!(Likeness::between(&json, &json), None);
        }

        #[test]
        fn values_with_one_fingerprint_differ_in_the_spelling_of_numbers_alone((one, other) in twins()) {
            let changes = diff(&one, &other);
            let only_spelling = changes.iter().all(|change| change.note == Some(Likeness::Spelling));
            prop_assert_eq!(one.hash() == other.hash(), only_spelling);
        }
    }
}

//! Arguments, exactly: the canonical form of RFC 8785 with our extension for numbers a double cannot
//! hold (semantics J5), and hashes over it.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use crate::json::{Json, JsonError, JsonProblem};

/// The largest integer that a double holds together with both its neighbours.
const SAFE_INTEGER: u64 = 9_007_199_254_740_991;

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of several parts, each told apart by its length.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    /// Reads 64 hexadecimal digits.
    pub fn parse_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        Some(Self(bytes))
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Hash {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse_hex(&text).ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal digits"))
    }
}

impl Json {
    /// The canonical bytes: RFC 8785, numbers by semantics J5.
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    /// The hash over the canonical bytes.
    pub fn hash(&self) -> Hash {
        Hash::of(self.canonical().as_bytes())
    }

    /// The hash without the named top-level members (`identity_hash`, J7).
    pub fn hash_without(&self, volatile: &[String]) -> Hash {
        match self {
            Self::Object(members) if !volatile.is_empty() => {
                let kept = members.iter().filter(|(name, _)| !volatile.contains(name)).cloned();
                Self::Object(kept.collect()).hash()
            }
            _ => self.hash(),
        }
    }

    /// The hash over these top-level members alone; none if it has none of them.
    pub fn hash_of_members(&self, names: &[String]) -> Option<Hash> {
        let Self::Object(members) = self else { return None };
        let named: Vec<_> = members.iter().filter(|(name, _)| names.contains(name)).cloned().collect();
        (!named.is_empty()).then(|| Self::Object(named).hash())
    }

    fn write_canonical(&self, out: &mut String) {
        match self {
            Self::Number(literal) => out.push_str(&canonical_number(literal)),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    item.write_canonical(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                let mut sorted: Vec<_> = members.iter().collect();
                // J2: by UTF-16 code units, so that U+1F602 comes before U+FB33.
                sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
                out.push('{');
                for (index, (name, value)) in sorted.into_iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    crate::json::write_string(name, out);
                    out.push(':');
                    value.write_canonical(out);
                }
                out.push('}');
            }
            Self::Null | Self::Bool(_) | Self::String(_) => out.push_str(&self.pretty()),
        }
    }
}

/// A decimal value without spelling: sign, digits without leading or trailing zeros, power of ten.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Reads a literal that already has JSON's form; `None` if its exponent is beyond all use.
    fn read(literal: &str) -> Option<Self> {
        let (negative, unsigned) = match literal.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, literal),
        };
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let without_lead = all.trim_start_matches('0');
        let digits = without_lead.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Self { negative: false, digits: "0".into(), exponent: 0 });
        }
        let trailing = i64::try_from(without_lead.len() - digits.len()).ok()?;
        let places = i64::try_from(fraction.len()).ok()?;
        Some(Self { negative, digits: digits.into(), exponent: i64::from(power) - places + trailing })
    }

    fn is_unsafe_integer(&self) -> bool {
        if self.exponent < 0 {
            return false;
        }
        let zeros = usize::try_from(self.exponent).unwrap_or(usize::MAX);
        if self.digits.len().saturating_add(zeros) > 16 {
            return true;
        }
        let value: u64 = format!("{}{}", self.digits, "0".repeat(zeros)).parse().unwrap_or(u64::MAX);
        value > SAFE_INTEGER
    }
}

/// Whether a literal of JSON's form has an exponent that can be used at all.
pub(crate) fn has_usable_exponent(literal: &str) -> bool {
    Decimal::read(literal).is_some()
}

/// J5: as ECMAScript prints it where that is exact, else tagged with its exact digits.
fn canonical_number(literal: &str) -> String {
    let Some(written) = Decimal::read(literal) else {
        return format!("#{literal}");
    };
    // A literal of JSON's form always parses; one beyond a double's range becomes infinite.
    let double: f64 = literal.parse().unwrap_or(f64::INFINITY);
    if double.is_finite() && !written.is_unsafe_integer() {
        let mut buffer = ryu_js::Buffer::new();
        let printed = buffer.format_finite(if double == 0.0 { 0.0 } else { double });
        if Decimal::read(printed).is_some_and(|value| value == written) {
            return printed.to_owned();
        }
    }
    format!("#{}{}e{}", if written.negative { "-" } else { "" }, written.digits, written.exponent)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        Json::parse(text.as_bytes()).unwrap().canonical()
    }

    #[test]
    fn j2_members_are_sorted_by_utf16_code_units() {
        let text = r#"{"\ufb33":1,"\ud83d\ude02":2,"1":3,"\r":4,"\u20ac":5,"\u0080":6,"\u00f6":7}"#;
        assert_eq!(canonical(text), "{\"\\r\":4,\"1\":3,\"\u{80}\":6,\"ö\":7,\"€\":5,\"😂\":2,\"\u{fb33}\":1}");
    }

    #[test]
    fn j3_strings_are_escaped_as_rfc_8785_says() {
        let text = r#""\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/""#;
        assert_eq!(canonical(text), "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
    }

    #[test]
    fn j4_numbers_that_a_double_holds_exactly_print_as_ecmascript_does() {
        for (written, printed) in [
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("-0", "0"),
            ("0.000000000000000000000000001", "1e-27"),
            ("12345.0", "12345"),
            ("9007199254740991", "9007199254740991"),
        ] {
            assert_eq!(canonical(written), printed, "{written}");
        }
    }

    #[test]
    fn j5_other_numbers_keep_their_digits_in_a_tagged_form() {
        for (written, tagged) in [
            ("333333333.33333329", "#33333333333333329e-8"),
            ("1E30", "#1e30"),
            ("9007199254740993", "#9007199254740993e0"),
            ("-9007199254740992", "#-9007199254740992e0"),
            ("1e400", "#1e400"),
        ] {
            assert_eq!(canonical(written), tagged, "{written}");
        }
    }

    #[test]
    fn j8_vectors_of_the_extension() {
        for (text, form, hash) in [
            (
                r#"{"id":1970670598291982290}"#,
                r#"{"id":#197067059829198229e1}"#,
                "51c9d72308f4be5fd061f79fbe665a6d38c0d3186d8f3618196c922ce14a6c0e",
            ),
            (
                r#"{"id":1970670598291982300}"#,
                r#"{"id":#19706705982919823e2}"#,
                "62da59d165ba33ab23fcef311e4f09087e9f840a03f1d0d141390a8aab7c24ca",
            ),
        ] {
            let json = Json::parse(text.as_bytes()).unwrap();
            assert_eq!(json.canonical(), form);
            assert_eq!(json.hash().to_string(), hash);
        }
    }

    #[test]
    fn r17_member_order_does_not_matter() {
        let hash = "542e1ad7f33ff109c191595d6dfaeffb38379ba78b0d75917f6f2a4ee8c3fca9";
        for text in [r#"{"amount":100,"merchant":"acme"}"#, r#"{"merchant":"acme","amount":100}"#] {
            assert_eq!(Json::parse(text.as_bytes()).unwrap().hash().to_string(), hash);
        }
    }

    #[test]
    fn volatile_fields_do_not_count_for_identity() {
        let one = Json::parse(br#"{"id":1,"at":"a"}"#).unwrap();
        let two = Json::parse(br#"{"id":1,"at":"b"}"#).unwrap();
        assert_ne!(one.hash(), two.hash());
        assert_eq!(one.hash_without(&["at".into()]), two.hash_without(&["at".into()]));
    }

    pub fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            any::<i64>().prop_map(|n| Json::Number(n.to_string())),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| Json::Number(format!("{n:e}"))),
            ".*".prop_map(Json::String),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Json::Array),
                prop::collection::btree_map(".{0,6}", inner, 0..5)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn i30_the_hash_ignores_spelling_and_order(json in any_json()) {
            let again = Json::parse(json.pretty().as_bytes()).unwrap();
            prop_assert_eq!(&again, &json);
            if let Json::Object(members) = &json {
                let reversed = Json::Object(members.iter().rev().cloned().collect());
                prop_assert_eq!(reversed.hash(), json.hash());
            }
        }

        #[test]
        fn i30_neighbouring_integers_never_collapse(n in any::<i64>()) {
            let other = n.wrapping_add(1);
            let hash = |n: i64| Json::Number(n.to_string()).hash();
            prop_assert_ne!(hash(n), hash(other));
        }
    }
}

//! What a key must look like for a destination to take it, judged before anything is sent.

use std::borrow::Cow;

use crate::contract::{Contract, KeyCharset, KeyQuoting};
use crate::name::DestinationKey;

/// Why a key cannot be sent to a destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnfitKey {
    /// Longer than the destination takes. It might be cut, and then two keys could become one.
    #[error(
        "The key has {length} bytes; the destination takes {limit}. Nothing was sent. Give the tool a shorter key."
    )]
    TooLong {
        /// How many bytes it has.
        length: usize,
        /// How many it may have.
        limit: u32,
    },
    /// A character that the destination does not take.
    #[error(
        "The key holds {character:?} at position {position}, which the destination does not take. Nothing was sent."
    )]
    Character {
        /// The character.
        character: char,
        /// Its position, counted in characters from 1.
        position: usize,
    },
    /// The destination takes UUIDs only.
    #[error("The destination takes only a UUID as key. Nothing was sent.")]
    NotUuid,
    /// The destination takes random UUIDs only.
    #[error("The destination takes only a UUID of version 4 as key. Nothing was sent.")]
    NotUuid4,
    /// The UUID of zeros, which means "no key" there.
    #[error("The destination reads the UUID of zeros as no key at all. Nothing was sent.")]
    ZeroUuid,
}

impl Contract {
    /// Whether the destination takes this key, as far as its contract says.
    pub fn check_key(&self, key: &DestinationKey) -> Result<(), UnfitKey> {
        let text = key.as_str();
        if let Some(limit) = self.key_max_len.filter(|limit| text.len() > *limit as usize) {
            return Err(UnfitKey::TooLong { length: text.len(), limit });
        }
        // Between quotes a structured field holds printable ASCII and nothing else.
        let is_quoted = self.key_quoting == Some(KeyQuoting::StructuredString);
        refuse(text, |character| !is_quoted || matches!(character, ' '..='~'))?;
        match self.key_charset {
            None => Ok(()),
            Some(KeyCharset::Ascii) => refuse(text, |character| character.is_ascii_graphic()),
            Some(KeyCharset::Token) => {
                refuse(text, |character| character.is_ascii_alphanumeric() || matches!(character, '_' | ':' | '-'))
            }
            Some(KeyCharset::Uuid) => check_uuid(text),
            Some(KeyCharset::UuidNotZero) => check_uuid(text).and_then(|()| refuse_zero(text)),
            Some(KeyCharset::Uuid4) => {
                check_uuid(text).and_then(|()| refuse_zero(text)).and_then(|()| check_random(text))
            }
        }
    }

    /// The key as it is written on the wire, if the destination takes it.
    pub fn key_on_the_wire<'a>(&self, key: &'a DestinationKey) -> Result<Cow<'a, str>, UnfitKey> {
        self.check_key(key)?;
        Ok(match self.key_quoting {
            Some(KeyQuoting::StructuredString) => {
                Cow::Owned(format!("\"{}\"", key.as_str().replace('\\', "\\\\").replace('"', "\\\"")))
            }
            Some(KeyQuoting::Bare) | None => Cow::Borrowed(key.as_str()),
        })
    }
}

/// A key as it is compared when it is read from a trace: `"abc"` and `abc` are the same key. Never for sending.
pub fn as_read(text: &str) -> Cow<'_, str> {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) if inner.contains('\\') => Cow::Owned(inner.replace("\\\"", "\"").replace("\\\\", "\\")),
        Some(inner) => Cow::Borrowed(inner),
        None => Cow::Borrowed(text),
    }
}

fn refuse(text: &str, takes: impl Fn(char) -> bool) -> Result<(), UnfitKey> {
    match text.chars().enumerate().find(|(_, character)| !takes(*character)) {
        None => Ok(()),
        Some((at, character)) => Err(UnfitKey::Character { character, position: at + 1 }),
    }
}

fn check_uuid(text: &str) -> Result<(), UnfitKey> {
    let is_in_place = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    if text.len() == 36 && text.bytes().enumerate().all(is_in_place) { Ok(()) } else { Err(UnfitKey::NotUuid) }
}

fn refuse_zero(uuid: &str) -> Result<(), UnfitKey> {
    if uuid.bytes().all(|byte| matches!(byte, b'0' | b'-')) { Err(UnfitKey::ZeroUuid) } else { Ok(()) }
}

fn check_random(uuid: &str) -> Result<(), UnfitKey> {
    let (version, variant) = (uuid.as_bytes()[14], uuid.as_bytes()[19].to_ascii_lowercase());
    if version == b'4' && matches!(variant, b'8' | b'9' | b'a' | b'b') { Ok(()) } else { Err(UnfitKey::NotUuid4) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::library;

    fn key(text: &str) -> DestinationKey {
        DestinationKey::parse(text).unwrap()
    }

    fn of(name: &str) -> &'static Contract {
        &library::find(name).unwrap_or_else(|| panic!("{name}")).contract
    }

    #[test]
    fn a_key_longer_than_the_destination_takes_is_refused_before_sending() {
        for (destination, limit) in [
            ("adyen", 64),
            ("square-payments", 45),
            ("square-orders", 192),
            ("square-invoices", 128),
            ("stripe-v1", 255),
            ("aws-ec2", 64),
            ("aws-ecs", 64),
        ] {
            let contract = of(destination);
            assert_eq!(contract.key_max_len, Some(limit), "{destination}");
            let longest = "k".repeat(limit as usize);
            assert_eq!(contract.check_key(&key(&longest)), Ok(()), "{destination}");
            let longer = Contract { key_max_len: Some(limit), ..Contract::default() };
            let over = "k".repeat(limit as usize + 1);
            if over.len() <= DestinationKey::LIMIT {
                let refused = UnfitKey::TooLong { length: limit as usize + 1, limit };
                assert_eq!(longer.check_key(&key(&over)), Err(refused.clone()), "{destination}");
                assert_eq!(contract.check_key(&key(&over)), Err(refused), "{destination}");
            }
        }
        // What counts is bytes: 33 characters of two bytes do not fit into 64.
        assert!(matches!(of("adyen").check_key(&key(&"é".repeat(33))), Err(UnfitKey::TooLong { length: 66, .. })));
        assert_eq!(of("svix").check_key(&key(&"k".repeat(255))), Ok(()));
    }

    #[test]
    fn characters_and_uuids_are_checked_before_sending() {
        let zero = "00000000-0000-0000-0000-000000000000";
        let random = "8e03978e-40d5-43e8-bc93-6894a57f9324";
        let by_time = "018f3b6e-40d5-73e8-bc93-6894a57f9324";
        for (destination, text, expected) in [
            ("google-compute", random, Ok(())),
            ("google-compute", by_time, Ok(())),
            ("google-compute", zero, Err(UnfitKey::ZeroUuid)),
            ("google-compute", "order-1042", Err(UnfitKey::NotUuid)),
            ("google-aip-155", random, Ok(())),
            ("google-aip-155", by_time, Err(UnfitKey::NotUuid4)),
            ("google-aip-155", zero, Err(UnfitKey::ZeroUuid)),
            ("azure-odata", by_time, Ok(())),
            ("azure-odata", "8e03978e40d543e8bc936894a57f9324", Err(UnfitKey::NotUuid)),
            ("telnyx", "refund:42_a-b", Ok(())),
            ("telnyx", "refund/42", Err(UnfitKey::Character { character: '/', position: 7 })),
            ("aws-ec2", "a b", Err(UnfitKey::Character { character: ' ', position: 2 })),
            ("ietf-draft", "é", Err(UnfitKey::Character { character: 'é', position: 1 })),
            ("stripe-v1", "a b", Ok(())),
        ] {
            assert_eq!(of(destination).check_key(&key(text)), expected, "{destination} {text}");
        }
    }

    #[test]
    fn quotes_belong_to_the_wire_and_not_to_the_key() {
        let wire = |destination, text| of(destination).key_on_the_wire(&key(text)).map(Cow::into_owned);
        assert_eq!(wire("ietf-draft", "abc").as_deref(), Ok("\"abc\""));
        assert_eq!(wire("ietf-draft", r#"a"b\c"#).as_deref(), Ok(r#""a\"b\\c""#));
        assert_eq!(wire("stripe-v1", "abc").as_deref(), Ok("abc"));
        assert_eq!(wire("svix", "abc").as_deref(), Ok("abc"));
        for text in ["abc", r#"a"b\c"#, r"a\\", "\""] {
            let sent = of("ietf-draft").key_on_the_wire(&key(text)).map(Cow::into_owned).unwrap();
            assert_eq!(as_read(&sent), text);
            assert_eq!(as_read("abc"), "abc");
        }
    }
}

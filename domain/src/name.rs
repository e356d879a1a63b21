//! Names and keys as types: what has been parsed once need not be doubted again.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Hash;

/// Why a text cannot be the name or key it was meant to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum NameError {
    /// Nothing was given.
    #[error("{what} is empty; give it at least one character")]
    Empty {
        /// What the text was meant to be.
        what: String,
    },
    /// More characters than a name may have.
    #[error("{what} has {length} characters; the limit is {limit}")]
    TooLong {
        /// What the text was meant to be.
        what: String,
        /// How many characters it has.
        length: usize,
        /// How many it may have.
        limit: usize,
    },
    /// A character that cannot be shown, such as a line break.
    #[error("{what} holds the control character U+{code:04X} at position {position}; remove it")]
    ControlCharacter {
        /// What the text was meant to be.
        what: String,
        /// The character's code point.
        code: u32,
        /// Its position, counted in characters from 1.
        position: usize,
    },
}

/// Checks the rules that all names share: 1 to `limit` characters, none of them a control character.
pub fn check_name(what: &str, text: &str, limit: usize) -> Result<(), NameError> {
    let length = text.chars().count();
    if length == 0 {
        return Err(NameError::Empty { what: what.into() });
    }
    if length > limit {
        return Err(NameError::TooLong { what: what.into(), length, limit });
    }
    match text.chars().enumerate().find(|(_, character)| character.is_control()) {
        None => Ok(()),
        Some((at, control)) => {
            Err(NameError::ControlCharacter { what: what.into(), code: u32::from(control), position: at + 1 })
        }
    }
}

// Shared, because a fold names the same few operations, keys and sources on each of thousands of attempts.
macro_rules! text_names {
    ($($(#[$doc:meta])* $name:ident, $what:literal, $limit:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The most characters it may have.
            pub const LIMIT: usize = $limit;

            /// Accepts 1 to `LIMIT` characters without control characters.
            pub fn parse(text: impl Into<String>) -> Result<Self, NameError> {
                let text = text.into();
                check_name($what, &text, Self::LIMIT)?;
                Ok(Self(text.into()))
            }

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().into()
            }
        }
    )*};
}

text_names! {
    /// The row id of an operation (a UUID in text form).
    OperationId, "operation id", 64;
    /// The id of the operation at the root of an intent.
    IntentId, "intent id", 64;
    /// The business name of an operation, unique per workspace: `refund:{order}:{request}`.
    OperationKey, "operation key", 255;
    /// The name a source gives an operation in its own stream.
    SourceOperation, "operation name", 255;
    /// A tool's name.
    ToolName, "tool name", 120;
    /// A destination's name, as configuration has it.
    DestinationName, "destination name", 120;
    /// The idempotency key that was sent to a destination.
    DestinationKey, "destination key", 255;
    /// The key of one operator action; makes pressing twice do it once.
    ActionKey, "action key", 255;
    /// The id of a bulk action (a UUID in text form).
    BulkId, "bulk id", 64;
    /// Where facts come from: an import, a feed, an endpoint.
    SourceName, "source name", 120;
    /// A place to which a destination delivers, as configuration has it.
    WebhookName, "webhook name", 60;
    /// A delivery's id: the same however often it is sent.
    DeliveryId, "delivery id", 255;
    /// The destination's own name for the object that an attempt made.
    Receipt, "receipt", 255;
    /// A retry layer that makes attempts: transport, adapter, workflow, agent, or a product's own name.
    LayerName, "layer name", 120;
    /// A person's or automation's id.
    PrincipalId, "principal id", 64;
    /// A workflow's name.
    WorkflowName, "workflow name", 255;
    /// A workspace's id. There is exactly one for now.
    WorkspaceId, "workspace id", 64;
}

impl WorkspaceId {
    /// The only workspace there is.
    pub fn only() -> Self {
        Self("main".into())
    }
}

impl DestinationKey {
    /// The key of a guarded operation, derived and never drawn: a send that a restored record forgot, even of an
    /// operation that was forgotten and proposed anew, carries the same key (semantics 4.1, 4.8).
    pub fn derive(workspace: &WorkspaceId, key: &OperationKey, destination: Option<&DestinationName>) -> Self {
        let destination = destination.map_or("", DestinationName::as_str);
        let hash = Hash::of_parts(&[workspace.as_str().as_bytes(), key.as_str().as_bytes(), destination.as_bytes()]);
        // 35 characters: every destination of the table takes as many, and none of them needs escaping.
        Self(format!("ts-{}", &hash.to_string()[..32]).into())
    }
}

impl ToolName {
    /// What stands for the tool of an operation of which no tool is told.
    pub fn unnamed() -> Self {
        Self("unnamed".into())
    }
}

impl OperationId {
    /// The id of an operation that is kept nowhere: its source's name for it, or a hash where that is too long.
    pub fn of_name(name: &SourceOperation) -> Self {
        Self::parse(name.as_str()).unwrap_or_else(|_| Self(Hash::of(name.as_str().as_bytes()).to_string().into()))
    }
}

impl OperationKey {
    /// What stands for the key of an operation of which no key is told.
    pub fn of_name(source: &SourceName, name: &SourceOperation) -> Self {
        let made = format!("~{source}/{name}");
        Self::parse(made.as_str()).unwrap_or_else(|_| Self(format!("~{}", Hash::of(made.as_bytes())).into()))
    }
}

impl DeliveryId {
    /// What stands for the id of a delivery that tells none.
    pub fn of_body(hash: &Hash) -> Self {
        Self(format!("sha256:{hash}").into())
    }
}

impl SourceName {
    /// What our own names begin with; nobody else's may.
    pub const OWN: &'static str = "tallystick/";
    const WEBHOOK: &'static str = "tallystick/webhook/";

    /// Our own executor: it counts the bytes it sends (I13).
    pub fn own_executor() -> Self {
        Self("tallystick/executor".into())
    }

    /// Our own authenticated reads at destinations.
    pub fn own_reader() -> Self {
        Self("tallystick/look-up".into())
    }

    /// What came to a webhook with a signature that proves its sender.
    pub fn webhook(name: &WebhookName) -> Self {
        Self(format!("{}{name}", Self::WEBHOOK).into())
    }

    /// Whether it is a webhook: nothing gets this name but what was verified.
    pub fn is_webhook(&self) -> bool {
        self.0.starts_with(Self::WEBHOOK)
    }

    /// Whether it is one of our own.
    pub fn is_own(&self) -> bool {
        self.0.starts_with(Self::OWN)
    }

    /// What people do here, as a source.
    pub fn console() -> Self {
        Self("console".into())
    }
}

impl From<OperationId> for SourceOperation {
    fn from(id: OperationId) -> Self {
        Self(id.0)
    }
}

impl From<OperationId> for IntentId {
    fn from(root: OperationId) -> Self {
        Self(root.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_key_is_refused_with_what_it_was() {
        let error = OperationKey::parse("").unwrap_err();
        assert_eq!(error.to_string(), "operation key is empty; give it at least one character");
    }

    #[test]
    fn a_key_of_300_characters_is_refused_and_one_of_255_is_not() {
        let error = OperationKey::parse("é".repeat(300)).unwrap_err();
        assert!(matches!(error, NameError::TooLong { length: 300, limit: 255, .. }));
        assert!(OperationKey::parse("é".repeat(255)).is_ok());
    }

    #[test]
    fn a_control_character_is_named_with_its_position() {
        let error = OperationKey::parse("pay\u{7}1").unwrap_err();
        assert_eq!(error.to_string(), "operation key holds the control character U+0007 at position 4; remove it");
    }
}

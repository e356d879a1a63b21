//! Texts with places to fill in: `{key}`, `{operation_key}`, `{operation_id}`, `{receipt}`, or a JSON pointer into the
//! arguments: `{/order}`.

use crate::json::Json;
use crate::name::{DestinationKey, OperationId, OperationKey, Receipt};

/// What the places of a template may be filled with.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// The key that goes to the destination.
    pub key: Option<&'a DestinationKey>,
    /// The operation's business name.
    pub operation_key: &'a OperationKey,
    /// The operation's id.
    pub operation_id: &'a OperationId,
    /// The receipt that is asked about.
    pub receipt: Option<&'a Receipt>,
    /// The arguments in force.
    pub arguments: &'a Json,
    /// The same as they were proposed.
    pub argument_bytes: &'a [u8],
}

/// Why a place cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A brace without its other half.
    #[error("the template {template:?} has a brace too many or too few")]
    Unbalanced {
        /// The whole template.
        template: String,
    },
    /// A name that means nothing.
    #[error("{{{name}}} is no name that a template knows")]
    UnknownName {
        /// The name.
        name: String,
    },
    /// Nothing is known under that name.
    #[error("{{{name}}} has no value here")]
    Nothing {
        /// The name.
        name: String,
    },
    /// An object or array cannot stand in a text.
    #[error("{{{name}}} is {kind}, which cannot stand in a text")]
    NotText {
        /// The name.
        name: String,
        /// What it is.
        kind: &'static str,
    },
}

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As they are.
    Plain,
    /// Percent-encoded, for an address.
    Address,
}

pub(super) use crate::view::encoded;

/// Fills in a template.
pub fn fill(template: &str, names: &Names<'_>, encoding: Encoding) -> Result<String, TemplateError> {
    let unbalanced = || TemplateError::Unbalanced { template: template.into() };
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (text, from) = rest.split_at(at);
        out.push_str(text);
        let inner = from.strip_prefix('{').ok_or_else(unbalanced)?;
        let (name, after) = inner.split_once('}').ok_or_else(unbalanced)?;
        let value = value_of(name, names)?;
        match encoding {
            Encoding::Plain => out.push_str(&value),
            Encoding::Address => out.push_str(&encoded(&value)),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn value_of(name: &str, names: &Names<'_>) -> Result<String, TemplateError> {
    let nothing = || TemplateError::Nothing { name: name.into() };
    match name {
        "key" => names.key.map(ToString::to_string).ok_or_else(nothing),
        "operation_key" => Ok(names.operation_key.to_string()),
        "operation_id" => Ok(names.operation_id.to_string()),
        "receipt" => names.receipt.map(ToString::to_string).ok_or_else(nothing),
        pointer if pointer.starts_with('/') => match names.arguments.pointer(pointer) {
            Some(Json::String(text) | Json::Number(text)) => Ok(text.clone()),
            Some(Json::Bool(value)) => Ok(value.to_string()),
            None | Some(Json::Null) => Err(nothing()),
            Some(other) => Err(TemplateError::NotText { name: name.into(), kind: other.kind() }),
        },
        _ => Err(TemplateError::UnknownName { name: name.into() }),
    }
}

//! How a tool's arguments become a request: a template that is declared with the tool, filled in once, before the first
//! send. What it makes is kept, and the kept bytes are what goes out (J7, I40).

mod form;
mod template;
mod wire;

pub use template::{Encoding, Names, TemplateError, fill};
pub use wire::{Wire, WireError};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract::{Contract, UnfitKey};
use crate::json::Json;
use crate::operation::named;

named! {
    /// The methods that a request may have.
    Method {
        /// Reads; the only method of a look-up.
        Get = "GET",
        /// Makes, or does.
        Post = "POST",
        /// Puts in place of what is there.
        Put = "PUT",
        /// Changes a part.
        Patch = "PATCH",
        /// Removes.
        Delete = "DELETE",
    }
}

named! {
    /// How the arguments travel.
    BodyForm {
        /// As the JSON text that was proposed, byte for byte where nothing is written into it.
        Json = "json",
        /// As form fields: `metadata[order]=7`.
        Form = "form",
        /// Not in the body.
        None = "none",
    }
}

/// A value that is written into the body beside the arguments: our own reference, so that the object can be found again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Where, as a JSON pointer: `/metadata/operation_key`.
    pub to: String,
    /// What, as a template: `{operation_key}`.
    pub value: String,
}

/// The request that a tool's operations are sent as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestTemplate {
    /// Its method.
    pub method: Method,
    /// Its path below the destination's base address, with places to fill in: `/charges/{/charge}/refunds`.
    pub path: String,
    /// Further headers; their values may hold places to fill in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How the arguments travel; as JSON, where nothing is said.
    #[serde(default = "json_body")]
    pub body: BodyForm,
    /// What is written into the body beside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<Written>,
    /// Whether the body holds what is written and nothing else: the arguments of a compensation are named by us, and a
    /// strict destination refuses names that it does not know.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_written: bool,
    /// Where the destination's error code stands in an answer, as a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_pointer: Option<String>,
}

const fn json_body() -> BodyForm {
    BodyForm::Json
}

/// What the destination adds to every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Face {
    /// Host and port, as the `Host` header has them.
    pub host: String,
    /// The path of the base address, without a slash at its end.
    pub base_path: String,
    /// The header that carries the credential, with a reference in its place: `Bearer {env:PSP_KEY}`.
    pub credential: Option<(String, String)>,
}

/// Why no request can be made. Nothing was sent (E2).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A place of the template cannot be filled.
    #[error("{part}: {source}. Nothing was sent.")]
    Template {
        /// Which part of the request.
        part: String,
        /// Why.
        source: TemplateError,
    },
    /// The destination does not take our key.
    #[error(transparent)]
    Key(#[from] UnfitKey),
    /// There is no place for the key that we can write to.
    #[error("the key travels in {location:?}, which this edition cannot write. Nothing was sent.")]
    KeyLocation {
        /// Where the contract says it travels.
        location: String,
    },
    /// Something else stands where a value should be written.
    #[error("the arguments hold something else where {pointer} should be written. Nothing was sent.")]
    Occupied {
        /// Where.
        pointer: String,
    },
    /// A header or the path holds what would change the request's shape.
    #[error("{part} holds a character that a request cannot carry there. Nothing was sent.")]
    Malformed {
        /// Which part.
        part: String,
    },
}

impl RequestTemplate {
    /// Makes the request for one operation.
    pub fn render(&self, contract: &Contract, names: &Names<'_>, face: &Face) -> Result<Wire, RequestError> {
        let mut body = self.written(names)?;
        let mut target = path_of(&self.path, names, face)?;
        let mut headers = headers_of(&self.headers, names, face)?;
        let mut is_changed = self.only_written || !self.write.is_empty();
        if let (Some(key), Some(location)) = (names.key, contract.key_location.as_deref()) {
            let text = contract.key_on_the_wire(key)?;
            if location.starts_with('/') {
                put(&mut body, location, Json::String(text.into_owned()))?;
                is_changed = true;
            } else if let Some(parameter) = location.strip_prefix('?') {
                target.push(if target.contains('?') { '&' } else { '?' });
                target.extend([template::encoded(parameter).as_str(), "=", &template::encoded(&text)]);
            } else if location.starts_with('@') {
                return Err(RequestError::KeyLocation { location: location.into() });
            } else {
                headers.push((location.to_ascii_lowercase(), text.into_owned()));
            }
        }
        let (kind, bytes) = match self.body {
            BodyForm::None => (None, Vec::new()),
            BodyForm::Form => (Some("application/x-www-form-urlencoded"), form::encode(&body).into_bytes()),
            BodyForm::Json if is_changed => (Some("application/json"), body.compact().into_bytes()),
            BodyForm::Json => (Some("application/json"), names.argument_bytes.to_vec()),
        };
        if let Some(kind) = kind {
            headers.push(("content-type".into(), kind.into()));
        }
        if kind.is_some() || self.method != Method::Get {
            headers.push(("content-length".into(), bytes.len().to_string()));
        }
        Wire::new(self.method, target, headers, bytes)
    }

    fn written(&self, names: &Names<'_>) -> Result<Json, RequestError> {
        let mut body = if self.only_written { Json::Object(Vec::new()) } else { names.arguments.clone() };
        for Written { to, value } in &self.write {
            let text = fill(value, names, Encoding::Plain)
                .map_err(|source| RequestError::Template { part: format!("what is written to {to}"), source })?;
            put(&mut body, to, Json::String(text))?;
        }
        Ok(body)
    }
}

fn put(body: &mut Json, pointer: &str, value: Json) -> Result<(), RequestError> {
    if body.set(pointer, value) { Ok(()) } else { Err(RequestError::Occupied { pointer: pointer.into() }) }
}

/// The target of a request: the base address's path, then the template's.
pub(crate) fn path_of(path: &str, names: &Names<'_>, face: &Face) -> Result<String, RequestError> {
    let filled = fill(path, names, Encoding::Address)
        .map_err(|source| RequestError::Template { part: "the path".into(), source })?;
    let slash = if filled.starts_with('/') { "" } else { "/" };
    Ok(format!("{}{slash}{filled}", face.base_path))
}

/// Host first, then what the template adds, then the credential's reference.
pub(crate) fn headers_of(
    declared: &BTreeMap<String, String>,
    names: &Names<'_>,
    face: &Face,
) -> Result<Vec<(String, String)>, RequestError> {
    let mut headers = vec![("host".to_owned(), face.host.clone())];
    for (name, value) in declared {
        let value = fill(value, names, Encoding::Plain)
            .map_err(|source| RequestError::Template { part: format!("the header {name}"), source })?;
        headers.push((name.to_ascii_lowercase(), value));
    }
    if !declared.keys().any(|name| name.eq_ignore_ascii_case("accept")) {
        headers.push(("accept".into(), "application/json".into()));
    }
    headers.extend(face.credential.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
    Ok(headers)
}

#[cfg(test)]
mod tests;

//! What a page is told when a server function did not do what it was asked: a closed set, with our own words.

use leptos::server_fn::codec::JsonEncoding;
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};
use serde::{Deserialize, Serialize};

/// Why there is no answer. Nothing was half done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum ApiError {
    /// Nobody is signed in.
    SignedOut,
    /// The rules said no.
    Refused {
        /// The refusal's stable name.
        code: String,
        /// What was refused, why, and what to do next.
        text: String,
    },
    /// There is no such thing.
    NotFound {
        /// What kind of thing.
        what: String,
    },
    /// The address asks for something that it cannot.
    BadAddress {
        /// What is not understood, and what would be.
        text: String,
    },
    /// Others kept changing the same thing.
    Contended,
    /// The record cannot be reached.
    StoreUnavailable,
    /// Reading took longer than it may.
    TookTooLong,
    /// The browser could not reach the server.
    Unreachable,
    /// The page and the server are of different editions.
    Outdated,
    /// Something else failed; the server's log has it.
    Failed,
}

impl ApiError {
    /// A heading.
    pub const fn title(&self) -> &'static str {
        match self {
            Self::SignedOut => "You are signed out",
            Self::Refused { .. } => "Refused",
            Self::NotFound { .. } => "Not there",
            Self::BadAddress { .. } => "This address is not understood",
            Self::Contended => "Somebody else was faster",
            Self::StoreUnavailable => "The record cannot be reached",
            Self::TookTooLong => "That took too long",
            Self::Unreachable => "The server cannot be reached",
            Self::Outdated => "This page is of an older edition",
            Self::Failed => "Something failed",
        }
    }

    /// What happened, what was not done, and what to do next.
    pub fn text(&self) -> String {
        match self {
            Self::SignedOut => "Your session has ended. Nothing was done. Sign in again.".into(),
            Self::Refused { text, .. } | Self::BadAddress { text } => text.clone(),
            Self::NotFound { what } => format!("There is no {what} at this address. It may be in another workspace, or the link is cut off."),
            Self::Contended => "The same operation changed several times while this was decided. Nothing was done. Try again.".into(),
            Self::StoreUnavailable => "The store does not answer. Nothing was read, and nothing was done. Reload in a moment; if it lasts, look at the server's log.".into(),
            Self::TookTooLong => "Reading was stopped so that it keeps nobody else waiting. Nothing was done. Ask for less: a tool, a destination, a shorter time.".into(),
            Self::Unreachable => "No answer came from the server. What you see may be old. If you had sent a form, open the operation before you send it again.".into(),
            Self::Outdated => "The server answered in a form that this page does not know. Reload the page.".into(),
            Self::Failed => "The server could not answer. It has been logged there. Reload; before you send a form again, look at the operation.".into(),
        }
    }

    /// The HTTP status that goes with it.
    pub fn status(&self) -> u16 {
        match self {
            Self::SignedOut => 401,
            Self::Refused { code, .. } => match code.as_str() {
                "not-permitted" | "separation-of-duties" => 403,
                "unknown" => 404,
                "stale-version" => 412,
                "reason-missing" | "bad-field" | "idempotency-key-mismatch" | "operation-key-conflict" => 422,
                "not-carried-out" => 501,
                _ => 409,
            },
            Self::NotFound { .. } => 404,
            Self::BadAddress { .. } => 400,
            Self::Contended => 409,
            Self::StoreUnavailable | Self::TookTooLong => 503,
            Self::Unreachable | Self::Outdated | Self::Failed => 500,
        }
    }
}

impl FromServerFnError for ApiError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Request(_) | ServerFnErrorErr::Response(_) => Self::Unreachable,
            ServerFnErrorErr::Deserialization(_) | ServerFnErrorErr::UnsupportedRequestMethod(_) => Self::Outdated,
            ServerFnErrorErr::Args(_) | ServerFnErrorErr::MissingArg(_) => {
                Self::BadAddress { text: "The form is not complete. Nothing was done. Open it again.".into() }
            }
            ServerFnErrorErr::Registration(_)
            | ServerFnErrorErr::MiddlewareError(_)
            | ServerFnErrorErr::ServerError(_)
            | ServerFnErrorErr::Serialization(_) => Self::Failed,
        }
    }
}

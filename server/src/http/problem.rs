//! Errors of the API as RFC 9457 problem documents. Every kind there is stands in [`KINDS`], is served as a page under
//! `/problems/{code}`, and says what was *not* done and what to do next (semantics P1–P3).

use axum::Json;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, LINK, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use tallystick_domain::json::JsonError;
use tallystick_domain::name::NameError;
use tallystick_domain::refusal::Refusal;
use tallystick_ledger::LedgerError;

/// A kind of problem.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The last part of its type.
    pub code: &'static str,
    /// The status that goes with it.
    pub status: u16,
    /// What it is, in a few words that never change.
    pub title: &'static str,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:literal, $title:literal;)*) => {
        $($(#[$doc])* pub const $name: Kind = Kind { code: $code, status: $status, title: $title };)*
        /// Every kind of problem that this server can answer with.
        pub const KINDS: &[Kind] = &[$($name,)*];
    };
}

kinds! {
    /// Not JSON as we accept it.
    MALFORMED_JSON = "malformed-json", 400, "The body is not JSON that we accept";
    /// JSON, but not the members we ask for.
    BAD_BODY = "bad-body", 400, "The body does not have the expected members";
    /// A query parameter that is not understood.
    BAD_QUERY = "bad-query", 400, "A query parameter is not understood";
    /// A header that is not understood.
    BAD_HEADER = "bad-header", 400, "A header is not understood";
    /// No key on a call that needs one.
    IDEMPOTENCY_KEY_MISSING = "idempotency-key-missing", 400, "Idempotency-Key is missing";
    /// A key that cannot be one.
    IDEMPOTENCY_KEY_INVALID = "idempotency-key-invalid", 400, "Idempotency-Key is not valid";
    /// Nobody is signed in.
    NOT_SIGNED_IN = "not-signed-in", 401, "Nobody is signed in";
    /// A token that is not one of ours, or was taken back.
    INVALID_TOKEN = "invalid-token", 401, "The token is not valid";
    /// A delivery whose signature does not hold.
    INVALID_SIGNATURE = "invalid-signature", 401, "The delivery's signature does not hold";
    /// A wrong login or password.
    WRONG_CREDENTIALS = "wrong-credentials", 401, "Login or password is wrong";
    /// A request that another site made a browser send.
    CROSS_SITE = "cross-site", 403, "The request came from another site";
    /// The role does not admit it.
    NOT_PERMITTED = "not-permitted", 403, "The role does not admit it";
    /// The second person is the first.
    SEPARATION_OF_DUTIES = "separation-of-duties", 403, "The second person must be somebody else";
    /// Somebody else made the preview.
    BULK_OF_ANOTHER = "bulk-of-another", 403, "Somebody else made the preview";
    /// No such place.
    NOT_FOUND = "not-found", 404, "There is nothing here";
    /// No such thing.
    UNKNOWN = "unknown", 404, "There is no such thing";
    /// Another method is needed.
    METHOD_NOT_ALLOWED = "method-not-allowed", 405, "The method is not allowed here";
    /// The decision table says no.
    TRANSITION_NOT_ALLOWED = "transition-not-allowed", 409, "The action is forbidden now";
    /// A typed confirmation is missing.
    UNSAFE_ACTION = "unsafe-action-needs-confirmation", 409, "The action needs a typed confirmation";
    /// It does not wait for a second person.
    NOT_AWAITED = "not-awaited", 409, "Nothing waits for a second person";
    /// Guards of a transition do not hold.
    GUARDS_FAILED = "guards-failed", 409, "It is not possible in this state";
    /// Only adopting makes it ours.
    OBSERVED_OPERATION = "observed-operation", 409, "The key belongs to an observed operation";
    /// A bulk action that is over, too old or another.
    BULK_NOT_STARTABLE = "bulk-not-startable", 409, "The bulk action cannot be started";
    /// The operation changed.
    STALE_VERSION = "stale-version", 412, "The operation changed";
    /// A body that is too long.
    TOO_LARGE = "too-large", 413, "The body is too large";
    /// A body of another kind.
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type", 415, "The body has another media type";
    /// The key came with other content.
    IDEMPOTENCY_KEY_MISMATCH = "idempotency-key-mismatch", 422, "Idempotency-Key was used for other content";
    /// The operation key came with other arguments.
    OPERATION_KEY_CONFLICT = "operation-key-conflict", 422, "The operation key has other arguments";
    /// Why is missing.
    REASON_MISSING = "reason-missing", 422, "A reason is missing";
    /// A field that holds something else.
    BAD_FIELD = "bad-field", 422, "A field does not hold what it must";
    /// A line that is not taken, where the caller asked to stop.
    BAD_LINE = "bad-line", 422, "A line was not taken";
    /// The version that was seen is missing.
    PRECONDITION_REQUIRED = "precondition-required", 428, "If-Match is missing";
    /// Too many wrong passwords.
    TOO_MANY_ATTEMPTS = "too-many-attempts", 429, "Too many failed sign-ins";
    /// Something broke here.
    INTERNAL = "internal", 500, "Something failed here";
    /// Rows contradict each other.
    RECORD_CORRUPT = "record-corrupt", 500, "The record contradicts itself";
    /// Not in this edition.
    NOT_CARRIED_OUT = "not-carried-out", 501, "This edition does not carry it out";
    /// Others kept changing it.
    CONTENDED = "contended", 503, "The operation kept changing";
    /// A read that was stopped.
    TOOK_TOO_LONG = "took-too-long", 503, "Reading took too long";
    /// The store does not answer.
    STORE_UNAVAILABLE = "store-unavailable", 503, "The store is not available";
    /// A webhook whose secrets cannot be read.
    SECRET_UNAVAILABLE = "secret-unavailable", 503, "The webhook's secret cannot be read";
    /// It took too long.
    TIMED_OUT = "timed-out", 503, "The request took too long";
}

/// The prefix of every problem type.
pub const TYPE_PREFIX: &str = "urn:tallystick:problem:";

/// One problem, as it is answered.
#[derive(Debug, Clone)]
pub struct Problem {
    kind: Kind,
    detail: String,
    extensions: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// What a handler of the API answers.
pub type Answer<T> = Result<T, Problem>;

impl Problem {
    /// A problem with what happened this time: what was not done, and what to do.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), extensions: Map::new(), headers: Vec::new() }
    }

    /// Adds a member beside the standard ones.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extensions.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Says when to try again.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.with_header(RETRY_AFTER, HeaderValue::from(seconds)).with("retry_after_s", seconds)
    }

    /// Nobody is signed in, on a call for programs.
    pub fn not_signed_in() -> Self {
        Self::new(
            NOT_SIGNED_IN,
            "Nobody is signed in. Nothing was done. Send `Authorization: Bearer ts_…` or sign in with a browser.",
        )
        .with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tallystick\""))
    }

    /// There is nothing at this address.
    pub fn not_found(path: &str) -> Self {
        Self::new(
            NOT_FOUND,
            format!("There is nothing at {path}. Nothing was done. See /api/v1/openapi.json for what there is."),
        )
    }

    /// There is no thing with this name.
    pub fn unknown(what: &str, name: &str) -> Self {
        Refusal::Unknown { what: what.to_owned(), name: name.to_owned() }.into()
    }

    /// The address is there, the method is not.
    pub fn method_not_allowed(method: &str, path: &str) -> Self {
        Self::new(
            METHOD_NOT_ALLOWED,
            format!("{method} is not allowed at {path}. Nothing was done. See the Allow header."),
        )
    }

    /// The body is longer than it may be.
    pub fn too_large(what: &str, limit: usize) -> Self {
        Self::new(TOO_LARGE, format!("{what} is larger than {limit} bytes. Nothing was done. Send less."))
            .with("limit_bytes", limit)
    }

    /// The kind it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The status it is answered with.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.kind.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// What happened this time.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// When to try again, if that is told.
    pub fn retry_after_s(&self) -> Option<u64> {
        self.extensions.get("retry_after_s").and_then(Value::as_u64)
    }

    fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        document.insert("type".into(), format!("{TYPE_PREFIX}{}", self.kind.code).into());
        document.insert("title".into(), self.kind.title.into());
        document.insert("status".into(), self.kind.status.into());
        document.insert("detail".into(), self.detail.clone().into());
        document.extend(self.extensions.clone());
        document
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(Value::Object(self.document()))).into_response();
        response.extensions_mut().insert(self.clone());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Ok(link) = HeaderValue::from_str(&format!("</problems/{}>; rel=\"describedby\"", self.kind.code)) {
            headers.append(LINK, link);
        }
        for (name, value) in self.headers {
            if name == ALLOW {
                headers.append(name, value)
            } else {
                headers.insert(name, value).is_some()
            };
        }
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let code = refusal.code();
        let kind = KINDS.iter().copied().find(|kind| kind.code == code).unwrap_or(INTERNAL);
        let mut problem = Self::new(kind, refusal.to_string());
        // The refusal's own fields are the extensions: `seen`, `current`, `changes`, `operation_id`, `row`, …
        if let Ok(Value::Object(fields)) = serde_json::to_value(&refusal) {
            problem.extensions.extend(fields.into_iter().filter(|(name, _)| name != "refusal"));
        }
        if let Refusal::StaleVersion { current, .. } = refusal {
            problem = problem.with("current_version", current);
        }
        problem
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        let text = error.to_string();
        match error {
            LedgerError::Refused(refusal) => refusal.into(),
            LedgerError::Contended => Self::new(CONTENDED, sentence(&text)).retry_after(1),
            LedgerError::StoreUnavailable { what, source } => {
                log_chain("The store is not available", &what, source.as_deref());
                let advice = "Try again; if it lasts, see to the database. A repeat with the same key is safe.";
                Self::new(STORE_UNAVAILABLE, format!("{} {advice}", sentence(&text))).retry_after(5)
            }
            LedgerError::TookTooLong => {
                let advice = "Ask for less: a tool, a destination, a shorter time, a smaller page.";
                Self::new(TOOK_TOO_LONG, format!("{} {advice}", sentence(&text)))
            }
            LedgerError::Schema { .. } => Self::new(STORE_UNAVAILABLE, sentence(&text)),
            LedgerError::Corrupt { what } => {
                log_chain("The record contradicts itself", &what, None);
                Self::new(RECORD_CORRUPT, sentence(&text))
            }
        }
    }
}

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        let at = error.at;
        Self::new(
            MALFORMED_JSON,
            format!("{}. Nothing was done. Correct the body and send it again.", capital(&error.to_string())),
        )
        .with("at_byte", at)
    }
}

impl From<NameError> for Problem {
    fn from(error: NameError) -> Self {
        Self::new(BAD_FIELD, format!("{}. Nothing was done.", capital(&error.to_string())))
    }
}

fn log_chain(message: &str, what: &str, source: Option<&(dyn std::error::Error + Send + Sync + 'static)>) {
    let mut chain = Vec::new();
    let mut cause = source.map(|source| source as &dyn std::error::Error);
    while let Some(error) = cause {
        chain.push(error.to_string());
        cause = error.source();
    }
    tracing::error!(what, cause = chain.join(": "), "{message}: {what}");
}

fn sentence(text: &str) -> String {
    let text = capital(text);
    if text.ends_with('.') { text } else { format!("{text}.") }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use tallystick_domain::action::Action;
    use tallystick_domain::bulk::NotStartable;
    use tallystick_domain::decision::Verdict;
    use tallystick_domain::permission::{Permission, Role};

    use super::*;

    /// One refusal of each kind; the match keeps the list whole.
    fn every_refusal() -> Vec<Refusal> {
        let text = || "x".to_owned();
        let all = vec![
            Refusal::NotPermitted { role: Role::Viewer, permission: Permission::Propose },
            Refusal::StaleVersion { seen: 1, current: 2 },
            Refusal::ActionKeyReused {},
            Refusal::Forbidden { action: Action::Adopt, row: text(), reason: text() },
            Refusal::ReasonMissing {},
            Refusal::ConfirmationMissing { expected: text(), verdict: Verdict::Confirm },
            Refusal::SamePersonTwice {},
            Refusal::NotAwaited {},
            Refusal::BadField { field: text(), problem: text() },
            Refusal::OperationKeyConflict { operation_id: text(), changes: vec![] },
            Refusal::ObservedOperation { operation_id: text() },
            Refusal::Unknown { what: text(), name: text() },
            Refusal::GuardsFailed { transition: "T10".into(), failed: vec![] },
            Refusal::BulkOfAnother { by: text() },
            Refusal::BulkNotStartable { why: NotStartable::Expired },
        ];
        let named = |refusal: &Refusal| match refusal {
            Refusal::NotPermitted { .. } => 0,
            Refusal::StaleVersion { .. } => 1,
            Refusal::ActionKeyReused {} => 2,
            Refusal::Forbidden { .. } => 3,
            Refusal::ReasonMissing {} => 4,
            Refusal::ConfirmationMissing { .. } => 5,
            Refusal::SamePersonTwice {} => 6,
            Refusal::NotAwaited {} => 7,
            Refusal::BadField { .. } => 8,
            Refusal::OperationKeyConflict { .. } => 9,
            Refusal::ObservedOperation { .. } => 10,
            Refusal::Unknown { .. } => 11,
            Refusal::GuardsFailed { .. } => 12,
            Refusal::BulkOfAnother { .. } => 13,
            Refusal::BulkNotStartable { .. } => 14,
        };
        assert!(all.iter().map(named).eq(0..15));
        all
    }

    #[test]
    fn every_refusal_has_a_kind_with_its_own_status_and_says_what_was_not_done() {
        for refusal in every_refusal() {
            let (code, status) = (refusal.code(), refusal.status());
            let problem = Problem::from(refusal);
            assert_eq!((problem.kind.code, problem.kind.status), (code, status));
            assert!(problem.detail.contains("Nothing was done") || problem.detail.contains("No operation was made"));
        }
    }

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<_> = KINDS.iter().map(|kind| kind.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), KINDS.len());
    }
}

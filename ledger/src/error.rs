//! What can fail, by what the caller can do about it.

use tallystick_domain::refusal::Refusal;

/// A use case did not do what it was asked. Nothing was half done.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The rules said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Somebody else changed the same rows several times in a row; try again.
    #[error("the operation kept changing while this was decided; nothing was done, try again")]
    Contended,
    /// The store cannot be reached, is read-only, is full or has vanished.
    #[error("the store is not available ({what}); nothing was done")]
    StoreUnavailable {
        /// In words: `disk full`, `read-only`, `not reachable`.
        what: String,
        /// The driver's error.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// A statement that reads took longer than one may, and was stopped.
    #[error("reading took longer than {} s and was stopped; nothing was done", crate::store::READ_LIMIT.as_secs())]
    TookTooLong,
    /// The schema is newer than this binary, or older and may not be changed.
    #[error("the store's schema is version {found}, this binary knows {known}; {advice}")]
    Schema {
        /// The version found.
        found: i64,
        /// The version known.
        known: i64,
        /// What to do.
        advice: &'static str,
    },
    /// Rows contradict each other; `tallystick verify` names them.
    #[error("the record contradicts itself: {what}; run `tallystick verify`")]
    Corrupt {
        /// Table, row, column.
        what: String,
    },
}

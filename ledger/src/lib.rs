//! The record of Tallystick: use cases over two stores, and the only crate that knows SQL.
//!
//! Every change walks the same way: a use case loads, `tallystick_domain::transition::decide` decides,
//! the store commits in one transaction, the change feed tells the live views. Nothing else writes.

pub mod actions;
pub mod changes;
pub mod error;
pub mod intake;
pub mod operations;
pub mod people;
pub mod port;
pub mod sessions;
pub mod settings;
pub mod sweep;
pub mod tools;
pub mod verify;

pub use error::LedgerError;

/// The record. A cheap handle; clone it freely.
#[derive(Clone)]
pub struct Ledger {}

/// How to open a record.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// `sqlite:PATH`, `sqlite::memory:` or `postgres://…`.
    pub url: String,
    /// Whether to bring the schema up to date; otherwise an older schema is refused.
    pub migrate: bool,
}

impl Ledger {
    /// Opens the record, refusing a schema that this binary does not know.
    pub async fn open(options: &OpenOptions) -> Result<Self, LedgerError> {
        let _ = options;
        todo!()
    }

    /// Waits for what is under way and closes.
    pub async fn close(&self) {
        todo!()
    }

    /// The record's clock: the database's, plus the offset that only test builds can set.
    pub async fn now(&self) -> Result<tallystick_domain::time::Timestamp, LedgerError> {
        todo!()
    }

    /// Whether the store answers and its schema is known (`/readyz`).
    pub async fn check_ready(&self) -> Result<(), LedgerError> {
        todo!()
    }
}

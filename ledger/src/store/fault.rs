//! Driver errors in our words: what the caller can do about them, never what a driver calls them.

use crate::LedgerError;

/// What a driver's error means. Conflicts between transactions become [`LedgerError::Contended`], which the store
/// tries again by itself; whatever cannot be read back is [`LedgerError::Corrupt`].
pub(crate) fn from_driver(error: sqlx::Error) -> LedgerError {
    let what = match &error {
        sqlx::Error::Database(inner) => match in_words(inner.code().as_deref().unwrap_or_default()) {
            Meaning::Conflict => return LedgerError::Contended,
            Meaning::TookTooLong => return LedgerError::TookTooLong,
            Meaning::Unavailable(words) => words,
            Meaning::Other => "it refused a statement",
        },
        sqlx::Error::PoolTimedOut => "not reachable: no connection became free in time",
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
            "not reachable"
        }
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnIndexOutOfBounds { .. } => {
            return LedgerError::Corrupt { what: error.to_string() };
        }
        _ => "the driver failed",
    };
    unavailable(what, error)
}

/// The store cannot do it now.
pub(crate) fn unavailable(what: &str, source: sqlx::Error) -> LedgerError {
    LedgerError::StoreUnavailable { what: what.into(), source: Some(Box::new(source)) }
}

/// The store cannot do it now, by our own observation.
pub(crate) fn unavailable_by(what: &str) -> LedgerError {
    LedgerError::StoreUnavailable { what: what.into(), source: None }
}

enum Meaning {
    Conflict,
    TookTooLong,
    Unavailable(&'static str),
    Other,
}

/// PostgreSQL's five characters, or SQLite's extended result code (its low byte is the primary code).
fn in_words(code: &str) -> Meaning {
    if code.len() == 5 {
        return postgres_in_words(code);
    }
    let extended: u32 = code.parse().unwrap_or(0);
    match (extended, extended & 0xff) {
        (1555 | 2067, _) => Meaning::Conflict,
        (1032, _) => Meaning::Unavailable("the database file was moved or removed"),
        (_, 5 | 6) => Meaning::Unavailable("locked by another process"),
        (_, 8) => Meaning::Unavailable("read-only"),
        (_, 10) => Meaning::Unavailable("the disk failed"),
        (_, 11 | 26) => Meaning::Unavailable("the file is damaged or not a database"),
        (_, 13) => Meaning::Unavailable("disk full"),
        (_, 14) => Meaning::Unavailable("the database file cannot be opened"),
        _ => Meaning::Other,
    }
}

fn postgres_in_words(code: &str) -> Meaning {
    match code {
        // Serialisation failure, deadlock, unique violation: two transactions met; one tries again.
        "40001" | "40P01" | "23505" => Meaning::Conflict,
        "53100" => Meaning::Unavailable("disk full"),
        "53300" => Meaning::Unavailable("too many connections"),
        "25006" => Meaning::Unavailable("read-only"),
        "55P03" => Meaning::Unavailable("locked by another process"),
        "57014" => Meaning::TookTooLong,
        "3D000" => Meaning::Unavailable("the database does not exist"),
        "28000" | "28P01" | "42501" => Meaning::Unavailable("access was refused"),
        _ if code.starts_with("08") || code.starts_with("57P") => Meaning::Unavailable("not reachable"),
        _ => Meaning::Other,
    }
}

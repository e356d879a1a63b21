//! Browser sessions for tower-sessions, kept in the record. The record holds the SHA-256 of a session's id, never the id,
//! and of its data only whose it is.

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use tallystick_domain::name::PrincipalId;
use tallystick_domain::time::Timestamp;
use tallystick_ledger::Ledger;
use tallystick_ledger::sessions::StoredSession;
use time::OffsetDateTime;
use tower_sessions::SessionStore;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};

use super::SESSION_PRINCIPAL;

/// How often a new id is drawn when one is taken. With 128 random bits, once is already too often.
const DRAWS: u32 = 3;

/// Sessions over the record.
#[derive(Clone)]
pub struct LedgerSessions {
    ledger: Ledger,
}

impl LedgerSessions {
    /// Sessions kept in this record.
    pub const fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }
}

impl std::fmt::Debug for LedgerSessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LedgerSessions")
    }
}

#[async_trait]
impl SessionStore for LedgerSessions {
    async fn create(&self, record: &mut Record) -> Result<()> {
        for _ in 0..DRAWS {
            if self.ledger.session_create(&stored(record)?).await.map_err(backend)? {
                return Ok(());
            }
            record.id = Id::default();
        }
        Err(Error::Backend("no free session id was found".to_owned()))
    }

    async fn save(&self, record: &Record) -> Result<()> {
        self.ledger.session_save(&stored(record)?).await.map_err(backend)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let Some(session) = self.ledger.session_load(hash(*id)).await.map_err(backend)? else { return Ok(None) };
        let data = serde_json::from_slice(&session.data).map_err(|error| Error::Decode(error.to_string()))?;
        Ok(Some(Record { id: *id, data, expiry_date: to_date(session.expires_at) }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        self.ledger.session_delete(hash(*id)).await.map_err(backend)
    }
}

fn hash(id: Id) -> [u8; 32] {
    Sha256::digest(id.0.to_be_bytes()).into()
}

fn stored(record: &Record) -> Result<StoredSession> {
    let principal = record.data.get(SESSION_PRINCIPAL).and_then(|value| value.as_str());
    let principal = principal.map(PrincipalId::parse).transpose().map_err(|error| Error::Encode(error.to_string()))?;
    let data = serde_json::to_vec(&record.data).map_err(|error| Error::Encode(error.to_string()))?;
    Ok(StoredSession { id_hash: hash(record.id), principal, data, expires_at: from_date(record.expiry_date) })
}

fn from_date(date: OffsetDateTime) -> Timestamp {
    Timestamp::from_micros(i64::try_from(date.unix_timestamp_nanos() / 1000).unwrap_or(i64::MAX))
}

fn to_date(at: Timestamp) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.as_micros()) * 1000).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn backend(error: tallystick_ledger::LedgerError) -> Error {
    Error::Backend(error.to_string())
}

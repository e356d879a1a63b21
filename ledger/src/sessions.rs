//! Browser sessions, for the server's session store. The id is kept only as a hash.

use tallystick_domain::name::PrincipalId;
use tallystick_domain::time::Timestamp;

use crate::{Ledger, LedgerError};

/// One session as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// SHA-256 of its id.
    pub id_hash: [u8; 32],
    /// Whose it is, once signed in.
    pub principal: Option<PrincipalId>,
    /// Its data, opaque.
    pub data: Vec<u8>,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl Ledger {
    /// Makes a session; `false` if the id is taken.
    pub async fn session_create(&self, session: &StoredSession) -> Result<bool, LedgerError> {
        let _ = session;
        todo!()
    }

    /// Saves a session, making it if it is not there.
    pub async fn session_save(&self, session: &StoredSession) -> Result<(), LedgerError> {
        let _ = session;
        todo!()
    }

    /// The session with this id, unless it has ended.
    pub async fn session_load(&self, id_hash: [u8; 32]) -> Result<Option<StoredSession>, LedgerError> {
        let _ = id_hash;
        todo!()
    }

    /// Ends a session.
    pub async fn session_delete(&self, id_hash: [u8; 32]) -> Result<(), LedgerError> {
        let _ = id_hash;
        todo!()
    }
}

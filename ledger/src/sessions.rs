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
        let session = session.clone();
        self.store()
            .write(move |tx| {
                let session = session.clone();
                Box::pin(async move { tx.session_create(&session).await })
            })
            .await
    }

    /// Saves a session, making it if it is not there.
    pub async fn session_save(&self, session: &StoredSession) -> Result<(), LedgerError> {
        let session = session.clone();
        self.store()
            .write(move |tx| {
                let session = session.clone();
                Box::pin(async move { tx.session_save(&session).await })
            })
            .await
    }

    /// The session with this id, unless it has ended.
    pub async fn session_load(&self, id_hash: [u8; 32]) -> Result<Option<StoredSession>, LedgerError> {
        self.store()
            .read(move |tx| {
                Box::pin(async move {
                    let now = tx.now().await?;
                    tx.session_load(&id_hash, now).await
                })
            })
            .await
    }

    /// Ends a session.
    pub async fn session_delete(&self, id_hash: [u8; 32]) -> Result<(), LedgerError> {
        self.store().write(move |tx| Box::pin(async move { tx.session_delete(&id_hash).await })).await
    }
}

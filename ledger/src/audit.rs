//! The audit trail of everything beside operations: people, tokens, tools, sources, settings, and refused tries.

use std::sync::Arc;

use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;

use crate::operations::Page;
use crate::port::Ids;
use crate::store::Tx;
use crate::store::list::page_size;
use crate::store::people::AuditRow;
use crate::{Ledger, LedgerError};

/// One row of the trail.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    /// Its id; newer ids sort later.
    pub id: String,
    /// When, by the record's clock.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What: `declare_tool`, `add_token`, `refused`.
    pub verb: String,
    /// Of which thing.
    pub subject: String,
    /// `done` or `refused`.
    pub status: String,
    /// Details as JSON, never a secret.
    pub detail: String,
}

/// What goes into the trail.
pub(crate) struct Note<'n> {
    pub(crate) verb: &'n str,
    pub(crate) subject: &'n str,
    pub(crate) status: &'n str,
    pub(crate) detail: serde_json::Value,
}

impl Ledger {
    /// The trail, newest first. Administrators read it.
    pub async fn audit_trail(
        &self,
        by: &Actor,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<AuditEntry>, LedgerError> {
        self.permit(by, Permission::Administer, "audit").await?;
        let (after, limit) = (after.map(ToOwned::to_owned), page_size(Some(limit)));
        self.store()
            .read(move |tx| {
                let after = after.clone();
                Box::pin(async move {
                    let (as_of, sequence) = (tx.now().await?, tx.newest_sequence().await?);
                    let rows = tx.audit_page(after.as_deref(), limit + 1).await?;
                    let rows = rows.into_iter().map(entry).collect();
                    Ok(Page::cut(rows, limit, as_of, sequence, |entry: &AuditEntry| entry.id.clone()))
                })
            })
            .await
    }

    /// Refuses what the role does not admit, and records the try.
    pub(crate) async fn permit(&self, by: &Actor, permission: Permission, subject: &str) -> Result<(), LedgerError> {
        if by.role.allows(permission) {
            return Ok(());
        }
        let refusal = Refusal::NotPermitted { role: by.role, permission };
        let (ids, by, subject) = (self.ids(), by.clone(), subject.to_owned());
        self.store()
            .write(move |tx| {
                let (ids, by, subject) = (Arc::clone(&ids), by.clone(), subject.clone());
                Box::pin(async move {
                    let now = tx.now().await?;
                    let detail = serde_json::json!({ "permission": permission.phrase() });
                    let note = Note { verb: "refused", subject: &subject, status: "refused", detail };
                    audit(tx, ids.as_ref(), now, &by, note).await
                })
            })
            .await?;
        Err(refusal.into())
    }
}

/// Adds to the trail, in the transaction of what it tells of.
pub(crate) async fn audit(
    tx: &mut Tx,
    ids: &dyn Ids,
    at: Timestamp,
    actor: &Actor,
    note: Note<'_>,
) -> Result<(), LedgerError> {
    let row = AuditRow {
        audit_id: ids.new_id(at),
        at,
        actor: actor.clone(),
        verb: note.verb.into(),
        subject: note.subject.into(),
        status: note.status.into(),
        detail: note.detail.to_string(),
    };
    tx.audit_insert(&row).await
}

fn entry(row: AuditRow) -> AuditEntry {
    let AuditRow { audit_id: id, at, actor, verb, subject, status, detail } = row;
    AuditEntry { id, at, actor, verb, subject, status, detail }
}

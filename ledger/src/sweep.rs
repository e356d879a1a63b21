//! The sweeper: decisions that change by time alone are made again when their time has come, and work that was left
//! over (folding again after a tool or a source changed) goes on.

use tallystick_domain::name::OperationId;

use crate::desk::Desk;
use crate::people::system_actor;
use crate::store::Tx;
use crate::{Ledger, LedgerError};

/// How many operations one transaction folds again.
const BATCH: u32 = 100;

impl Ledger {
    /// Folds again up to `limit` operations whose `next_change_at` has passed; how many changed. Also goes on with
    /// folding that was left over, forgets ended sessions and cuts the change feed at its old end.
    pub async fn sweep(&self, limit: u32) -> Result<u32, LedgerError> {
        let mut changed = self.finish_refolds().await?;
        let mut left = limit;
        while left > 0 {
            let batch = left.min(BATCH);
            let (found, now_changed) = self.store().write(move |tx| Box::pin(fold_due(tx, batch))).await?;
            changed += now_changed;
            left -= batch;
            if found < batch {
                break;
            }
        }
        self.store().write(|tx| Box::pin(tidy(tx))).await?;
        if changed > 0 {
            self.note_change();
        }
        Ok(changed)
    }

    /// Folds again what changed tools and sources left to be folded; how many operations changed.
    pub(crate) async fn finish_refolds(&self) -> Result<u32, LedgerError> {
        let mut changed = 0;
        loop {
            let batch = self.store().write(|tx| Box::pin(refold_batch(tx))).await?;
            match batch {
                Some(count) => changed += count,
                None => break,
            }
        }
        if changed > 0 {
            self.note_change();
        }
        Ok(changed)
    }
}

async fn fold_due(tx: &mut Tx, limit: u32) -> Result<(u32, u32), LedgerError> {
    let now = tx.now().await?;
    let due = tx.operation_ids_due(now, limit).await?;
    let found = u32::try_from(due.len()).unwrap_or(limit);
    if due.is_empty() {
        return Ok((0, 0));
    }
    Ok((found, fold(tx, due).await?))
}

/// One batch of the oldest refold; `None` when there is none.
async fn refold_batch(tx: &mut Tx) -> Result<Option<u32>, LedgerError> {
    let Some(refold) = tx.refold_next().await? else { return Ok(None) };
    let ids = match refold.kind.as_str() {
        "tool" => tx.operation_ids_of_tool(&refold.subject, &refold.after, BATCH).await?,
        _ => tx.operation_ids_of_source(&refold.subject, &refold.after, BATCH).await?,
    };
    tx.refold_advance(&refold, ids.last().map(String::as_str)).await?;
    if ids.is_empty() {
        return Ok(Some(0));
    }
    fold(tx, ids).await.map(Some)
}

async fn fold(tx: &mut Tx, ids: Vec<String>) -> Result<u32, LedgerError> {
    let now = tx.now().await?;
    let actor = system_actor();
    let mut desk = Desk::open(tx, now, &actor).await?;
    let ids: Result<Vec<OperationId>, _> = ids.into_iter().map(OperationId::parse).collect();
    let ids = ids.map_err(|error| LedgerError::Corrupt { what: error.to_string() })?;
    let changed = desk.refold(ids).await?;
    desk.save().await?;
    Ok(changed)
}

async fn tidy(tx: &mut Tx) -> Result<(), LedgerError> {
    let now = tx.now().await?;
    tx.sessions_forget(now).await?;
    tx.feed_cut().await
}

//! The sweeper: decisions that change by time alone are made again when their time has come, and work that was left
//! over (folding again after a tool or a source changed) goes on.

use std::sync::atomic::Ordering;

use tallystick_domain::name::OperationId;

use crate::bulk::{forget_old_previews, has_old_previews};
use crate::deliveries::names_in;
use crate::desk::Desk;
use crate::people::system_actor;
use crate::store::Tx;
use crate::store::tool::{DELIVERIES, Refold};
use crate::{Ledger, LedgerError};

/// How many operations one transaction folds again.
const BATCH: u32 = 100;
/// How many deliveries one transaction reads again; a body may have a megabyte.
const DELIVERY_BATCH: u32 = 16;
/// How many cuts of the change feed are made at a time.
const CUTS: u32 = 5;

impl Ledger {
    /// Folds again up to `limit` operations whose `next_change_at` has passed; how many changed. Also goes on with
    /// folding that was left over, forgets ended sessions and previews that nobody started, and cuts the change feed at its old end.
    ///
    /// What there is to do is found by reading: where nothing is due, nothing is written, no other process waits for
    /// the lock, and the store's writer rests.
    pub async fn sweep(&self, limit: u32) -> Result<u32, LedgerError> {
        let due = self.store().read(|tx| Box::pin(look(tx))).await?;
        let mut changed = if due.refolds { self.finish_refolds().await? } else { 0 };
        let mut left = if due.operations { limit } else { 0 };
        while left > 0 {
            let batch = left.min(BATCH);
            let (found, now_changed) = self.store().write(move |tx| Box::pin(fold_due(tx, batch))).await?;
            changed += now_changed;
            left -= batch;
            if found < batch {
                break;
            }
        }
        if due.sessions {
            self.store().write(|tx| Box::pin(forget_sessions(tx))).await?;
        }
        if due.previews {
            self.store().write(|tx| Box::pin(forget_old_previews(tx))).await?;
        }
        self.cut_long_feed().await?;
        if changed > 0 {
            self.note_change();
        }
        Ok(changed)
    }

    /// Cuts the change feed if it is long, in a few short transactions; whoever comes next goes on. Done by the sweeps,
    /// and by an import: a process that only imports does not leave it to the next one that serves.
    pub(crate) async fn cut_long_feed(&self) -> Result<(), LedgerError> {
        let short_at = self.inner.feed_short_at.load(Ordering::Relaxed);
        let short_at = self.store().read(move |tx| Box::pin(tx.feed_short_at(short_at))).await?;
        if let Some(short_at) = short_at {
            self.inner.feed_short_at.store(short_at, Ordering::Relaxed);
            return Ok(());
        }
        for _ in 0..CUTS {
            if !self.store().write(|tx| Box::pin(tx.feed_cut())).await? {
                break;
            }
        }
        Ok(())
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

/// What is due.
struct Due {
    refolds: bool,
    operations: bool,
    sessions: bool,
    previews: bool,
}

async fn look(tx: &mut Tx) -> Result<Due, LedgerError> {
    let now = tx.now().await?;
    Ok(Due {
        refolds: tx.refold_next().await?.is_some(),
        operations: !tx.operation_ids_due(now, 1).await?.is_empty(),
        sessions: tx.has_ended_sessions(now).await?,
        previews: has_old_previews(tx, now).await?,
    })
}

async fn fold_due(tx: &mut Tx, limit: u32) -> Result<(u32, u32), LedgerError> {
    let now = tx.now().await?;
    let due = tx.operation_ids_due(now, limit).await?;
    let found = u32::try_from(due.len()).unwrap_or(limit);
    if due.is_empty() {
        return Ok((0, 0));
    }
    Ok((found, fold(tx, due, false).await?))
}

/// One batch of the oldest refold; `None` when there is none.
async fn refold_batch(tx: &mut Tx) -> Result<Option<u32>, LedgerError> {
    let Some(refold) = tx.refold_next().await? else { return Ok(None) };
    if refold.kind == DELIVERIES {
        return read_deliveries(tx, &refold).await.map(Some);
    }
    let ids = match refold.kind.as_str() {
        "tool" => tx.operation_ids_of_tool(&refold.subject, &refold.after, BATCH).await?,
        _ => tx.operation_ids_of_source(&refold.subject, &refold.after, BATCH).await?,
    };
    tx.refold_advance(&refold, ids.last().map(String::as_str)).await?;
    if ids.is_empty() {
        return Ok(Some(0));
    }
    fold(tx, ids, refold.kind == "tool").await.map(Some)
}

/// One batch of the deliveries of a tool's destination is read by its new template.
async fn read_deliveries(tx: &mut Tx, refold: &Refold) -> Result<u32, LedgerError> {
    let tool = tx.tool_find(&refold.subject).await?;
    let read = match tool.as_ref().and_then(|tool| Some((tool, tool.destination.as_ref()?))) {
        Some((tool, destination)) => {
            let batch = tx.deliveries_of_destination(destination.as_str(), &refold.after, DELIVERY_BATCH).await?;
            for kept in &batch {
                let names = names_in(tool, kept);
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                tx.delivery_names_insert(&kept.row_id, &names).await?;
            }
            batch
        }
        None => Vec::new(),
    };
    tx.refold_advance(refold, read.last().map(|kept| kept.row_id.as_str())).await?;
    Ok(0)
}

/// `reads_anew`: deliveries that the operations could not be linked to before are looked for, too.
async fn fold(tx: &mut Tx, ids: Vec<String>, reads_anew: bool) -> Result<u32, LedgerError> {
    let now = tx.now().await?;
    let actor = system_actor();
    let mut desk = Desk::open(tx, now, &actor).await?;
    let ids: Result<Vec<OperationId>, _> = ids.into_iter().map(OperationId::parse).collect();
    let ids = ids.map_err(|error| LedgerError::Corrupt { what: error.to_string() })?;
    let changed = desk.refold(ids.clone()).await?;
    if reads_anew {
        desk.look_again(&ids);
    }
    desk.save().await?;
    Ok(changed)
}

async fn forget_sessions(tx: &mut Tx) -> Result<(), LedgerError> {
    let now = tx.now().await?;
    tx.sessions_forget(now).await
}

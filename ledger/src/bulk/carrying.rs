//! Carrying a started bulk action out, in the background of any process.
//!
//! Each item is one unit of work: the bulk action's row is locked and must still run, whoever started it must still be
//! allowed to, and then the press is taken exactly as a single one is, under the item's own key. What was done is known by
//! the action's row alone, written in the same commit as its effect. So:
//!
//! - a process that ends anywhere leaves items that have an action and items that wait, and nothing between;
//! - two processes on one list do no item twice: the second finds the row of the first;
//! - after a stop is committed no further item begins.
//!
//! Taking the work (`taken_until`) only keeps two processes from treading on each other's heels.

use std::sync::Arc;
use std::time::Duration;

use tallystick_domain::bulk::{Bulk, Item, Life, Stop};
use tallystick_domain::name::BulkId;
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::time::Timestamp;

use super::set_life;
use crate::actions::take_item_press;
use crate::people::system_actor;
use crate::port::Ids;
use crate::store::Tx;
use crate::{Ledger, LedgerError};

/// For how long the work belongs to who took it; taken again with every batch.
const TAKEN_FOR: Duration = Duration::from_secs(10);
/// How many items are carried out before others that run get their turn.
const BATCH: u32 = 25;
/// How many bulk actions are worked on in one round.
const AT_ONCE: u32 = 20;
/// How long a preview that was never started is kept after it was made.
const PREVIEWS_KEPT: Duration = Duration::from_hours(24);

/// What became of one item.
enum Carried {
    /// It has its answer.
    Answered,
    /// No further item may begin.
    Stopped,
}

impl Ledger {
    /// Carries out a batch of every bulk action that runs and that nobody else works on; how many items got their answer.
    /// `runner` names this process.
    ///
    /// An item that fails stays waiting and is met again in the next round, until it succeeds or a person stops the bulk
    /// action; the others go on.
    pub async fn carry_on_bulks(&self, runner: &str) -> Result<u32, LedgerError> {
        let named = runner.to_owned();
        // First a read: where nothing runs, nobody waits for the writer.
        let running = self.store().read(move |tx| {
            let runner = named.clone();
            Box::pin(async move {
                let now = tx.now().await?;
                tx.bulks_running(&runner, now, AT_ONCE).await
            })
        });
        let (mut answered, mut failed) = (0, None);
        for id in running.await? {
            match self.carry_batch(&id, runner).await {
                Ok(count) => answered += count,
                Err(error @ LedgerError::StoreUnavailable { .. }) => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(answered), Err)
    }

    /// Lets others go on at once with what this process works on.
    pub async fn give_bulks_back(&self, runner: &str) -> Result<(), LedgerError> {
        let runner = runner.to_owned();
        self.store()
            .write(move |tx| {
                let runner = runner.clone();
                Box::pin(async move { tx.bulks_give_back(&runner).await })
            })
            .await
    }

    async fn carry_batch(&self, id: &BulkId, runner: &str) -> Result<u32, LedgerError> {
        let asked = Arc::new((id.clone(), runner.to_owned()));
        let taken = self.store().write(move |tx| {
            let asked = Arc::clone(&asked);
            Box::pin(async move { take(tx, &asked.0, &asked.1).await })
        });
        let waiting = taken.await?;
        let (mut answered, mut failed) = (0, None);
        for item in waiting {
            match self.carry_item(id, item).await {
                Ok(Carried::Answered) => answered += 1,
                Ok(Carried::Stopped) => break,
                Err(error @ LedgerError::StoreUnavailable { .. }) => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(answered), Err)
    }

    async fn carry_item(&self, id: &BulkId, item: Item) -> Result<Carried, LedgerError> {
        let (ids, asked) = (self.ids(), Arc::new((id.clone(), item)));
        let carried = self.store().write(move |tx| {
            let (ids, asked) = (Arc::clone(&ids), Arc::clone(&asked));
            Box::pin(async move { carry_item(tx, &ids, &asked.0, &asked.1).await })
        });
        let carried = carried.await?;
        self.note_change();
        Ok(carried)
    }
}

/// Whether there are previews that nobody started and nobody may start any more, for a day at least.
pub(crate) async fn has_old_previews(tx: &mut Tx, now: Timestamp) -> Result<bool, LedgerError> {
    Ok(!tx.bulks_unstarted(made_before(now), 1).await?.is_empty())
}

/// Forgets some of them.
pub(crate) async fn forget_old_previews(tx: &mut Tx) -> Result<(), LedgerError> {
    let now = tx.now().await?;
    for id in tx.bulks_unstarted(made_before(now), AT_ONCE).await? {
        tx.bulk_forget(&id).await?;
    }
    Ok(())
}

fn made_before(now: Timestamp) -> Timestamp {
    let kept = i64::try_from(PREVIEWS_KEPT.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(now.as_micros().saturating_sub(kept))
}

/// Takes the work; the next items of it. Where none is left the bulk action is done.
async fn take(tx: &mut Tx, id: &BulkId, runner: &str) -> Result<Vec<Item>, LedgerError> {
    let now = tx.now().await?;
    if !tx.bulk_take(id, runner, now, now.plus(TAKEN_FOR)).await? {
        return Ok(Vec::new());
    }
    let waiting = tx.bulk_items_waiting(id, BATCH).await?;
    if waiting.is_empty()
        && let Some(bulk) = tx.bulk_find(id).await?
        && let Life::Running(started) = &bulk.life
    {
        tx.bulk_set_life(&bulk, &Life::Done { started: started.clone(), at: now }).await?;
    }
    Ok(waiting)
}

async fn carry_item(tx: &mut Tx, ids: &Arc<dyn Ids>, id: &BulkId, item: &Item) -> Result<Carried, LedgerError> {
    let Some(bulk) = tx.bulk_find(id).await? else { return Ok(Carried::Stopped) };
    let Life::Running(started) = &bulk.life else { return Ok(Carried::Stopped) };
    let now = tx.now().await?;
    let actor = match who_carries(tx, &bulk).await? {
        Ok(actor) => actor,
        Err(why) => return stop(tx, ids.as_ref(), &bulk, why, now).await,
    };
    let act = bulk
        .act_on(item, actor, &started.reason)
        .map_err(|error| LedgerError::Corrupt { what: format!("bulk action {id}: {error}") })?;
    take_item_press(tx, ids.as_ref(), &item.operation, act).await?;
    Ok(Carried::Answered)
}

/// Whoever started it, with the role they have now, or why they may not go on.
async fn who_carries(tx: &mut Tx, bulk: &Bulk) -> Result<Result<Actor, Stop>, LedgerError> {
    let Some((principal, _)) = tx.principal_by_id(bulk.by.id.as_str()).await? else { return Ok(Err(Stop::Gone)) };
    let actor = principal.actor();
    let is_allowed = actor.role.allows(Permission::Act(bulk.input.action()));
    Ok(if is_allowed { Ok(actor) } else { Err(Stop::NotPermitted { role: actor.role }) })
}

async fn stop(tx: &mut Tx, ids: &dyn Ids, bulk: &Bulk, why: Stop, now: Timestamp) -> Result<Carried, LedgerError> {
    if let Some(next) = bulk.stopped(why, now) {
        set_life(tx, ids, bulk, &next, &system_actor(), "abort_bulk").await?;
    }
    Ok(Carried::Stopped)
}

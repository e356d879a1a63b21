//! Bulk actions: previewing, starting, stopping, and how far each item is. What is done to an item is an operator action like
//! any other; how far a bulk action has come is read from those actions and from nothing else.

mod carrying;
mod selecting;

use std::sync::Arc;

use tallystick_domain::action::{Action, ActionInput};
use tallystick_domain::bulk::{Bulk, Item, Life, Origin, Selection, Standing, list_hash, not_for_many};
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::{ActionKey, BulkId, OperationId};
use tallystick_domain::outcome;
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;
use tallystick_domain::view::action::{Reached, reached};

use crate::actions::ActionStatus;
use crate::audit::{Note, audit};
use crate::desk::Desk;
use crate::operations::Listed;
use crate::people::unknown;
use crate::port::Ids;
use crate::store::Tx;
use crate::{Ledger, LedgerError};

pub(crate) use self::carrying::{forget_old_previews, has_old_previews};

/// How many operations are judged by one reading.
const CHUNK: usize = 50;

/// The answer of one item: its action as the record has it.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The action's key.
    pub key: ActionKey,
    /// How far it has come.
    pub status: ActionStatus,
    /// Why it was refused.
    pub refusal: Option<Refusal>,
    /// When it was settled.
    pub settled_at: Option<Timestamp>,
    /// The version that it made.
    pub made_version: Option<u64>,
}

/// One item with what came of it.
#[derive(Debug, Clone)]
pub struct BulkItem {
    /// As it was frozen.
    pub item: Item,
    /// The operation as it is now.
    pub operation: Listed,
    /// Its answer, once it has one.
    pub answer: Option<Answer>,
    /// What followed at the destination.
    pub reached: Reached,
}

impl BulkItem {
    /// Where it stands in a bulk action with this life.
    pub fn standing(&self, life: &Life) -> Standing {
        Standing::of(&self.item, self.answer.as_ref().map(|answer| answer.refusal.as_ref()), life)
    }
}

/// A bulk action with its whole list.
#[derive(Debug, Clone)]
pub struct BulkPage {
    /// The bulk action.
    pub bulk: Bulk,
    /// Its items, in the order in which they were frozen.
    pub items: Vec<BulkItem>,
    /// The record's clock when it was read.
    pub as_of: Timestamp,
    /// The newest change that this shows.
    pub sequence: i64,
}

/// The answer to starting or stopping.
#[derive(Debug, Clone)]
pub struct BulkAnswer {
    /// As it is now.
    pub bulk: Bulk,
    /// Whether it was so already.
    pub already_recorded: bool,
}

/// A bulk action that an operation was part of.
#[derive(Debug, Clone)]
pub struct BulkOfOperation {
    /// Which.
    pub id: BulkId,
    /// What was asked.
    pub input: ActionInput,
    /// When its preview was made.
    pub made_at: Timestamp,
}

impl Ledger {
    /// Freezes which operations are meant and what the decision says about each. Nothing is done to them.
    pub async fn preview_bulk(
        &self,
        by: &Actor,
        input: ActionInput,
        selection: Selection,
    ) -> Result<Bulk, LedgerError> {
        let action = input.action();
        if !action.is_for_many() {
            return Err(not_for_many(action).into());
        }
        self.permit(by, Permission::Act(action), "bulk").await?;
        let (operations, origin) = match selection {
            Selection::Chosen { operations, from } => (selecting::chosen(operations)?, Origin::Chosen { from }),
            Selection::Matching(filter) => (self.matching(&filter).await?, Origin::Matching { filter }),
        };
        let items = Arc::new(self.judge(by, action, &operations).await?);
        let frozen = Arc::new((by.clone(), input, origin));
        let ids = self.ids();
        let made = self.store().write(move |tx| {
            let (ids, items, frozen) = (Arc::clone(&ids), Arc::clone(&items), Arc::clone(&frozen));
            Box::pin(async move { keep_preview(tx, ids.as_ref(), &frozen, &items).await })
        });
        let bulk = made.await?;
        self.note_change();
        Ok(bulk)
    }

    /// Starts what its maker has seen: from now on the items are carried out in the background. Started again, it is the
    /// same start.
    pub async fn start_bulk(
        &self,
        by: &Actor,
        id: &BulkId,
        hash: Hash,
        reason: &str,
    ) -> Result<BulkAnswer, LedgerError> {
        let action = self.bulk_found(id).await?.input.action();
        self.permit(by, Permission::Act(action), id.as_str()).await?;
        let reason = reason.to_owned();
        self.change_bulk(by, id, "start_bulk", move |bulk, by, now| bulk.start(by, hash, &reason, now)).await
    }

    /// Stops it: no further item begins. What was begun stays as it is.
    pub async fn abort_bulk(&self, by: &Actor, id: &BulkId) -> Result<BulkAnswer, LedgerError> {
        let bulk = self.bulk_found(id).await?;
        if bulk.by.id != by.id {
            self.permit(by, Permission::Act(bulk.input.action()), id.as_str()).await?;
        }
        self.change_bulk(by, id, "abort_bulk", Bulk::abort).await
    }

    /// One bulk action with its whole list; `None` if there is none with this id.
    pub async fn bulk(&self, by: &Actor, id: &BulkId) -> Result<Option<BulkPage>, LedgerError> {
        self.permit(by, Permission::Read, id.as_str()).await?;
        let asked = Arc::new((by.clone(), id.clone()));
        self.store()
            .read(move |tx| {
                let asked = Arc::clone(&asked);
                Box::pin(async move { page(tx, &asked.0, &asked.1).await })
            })
            .await
    }

    /// Bulk actions that were started, the newest first.
    pub async fn bulks(&self, by: &Actor, limit: u32) -> Result<Vec<Bulk>, LedgerError> {
        self.permit(by, Permission::Read, "bulk").await?;
        self.store().read(move |tx| Box::pin(tx.bulks_newest(limit))).await
    }

    async fn bulk_found(&self, id: &BulkId) -> Result<Bulk, LedgerError> {
        let asked = id.clone();
        let found = self.store().read(move |tx| {
            let id = asked.clone();
            Box::pin(async move { tx.bulk_find(&id).await })
        });
        found.await?.ok_or_else(|| unknown("bulk action", id.as_str()))
    }

    async fn change_bulk(
        &self,
        by: &Actor,
        id: &BulkId,
        verb: &'static str,
        decide: impl Fn(&Bulk, &Actor, Timestamp) -> Result<Option<Life>, Refusal> + Send + Sync + 'static,
    ) -> Result<BulkAnswer, LedgerError> {
        let (ids, decide, asked) = (self.ids(), Arc::new(decide), Arc::new((by.clone(), id.clone())));
        let answer = self.store().write(move |tx| {
            let (ids, decide, asked) = (Arc::clone(&ids), Arc::clone(&decide), Arc::clone(&asked));
            Box::pin(async move {
                let (by, id) = asked.as_ref();
                let bulk = tx.bulk_find(id).await?.ok_or_else(|| unknown("bulk action", id.as_str()))?;
                let now = tx.now().await?;
                let Some(next) = decide(&bulk, by, now)? else {
                    return Ok(BulkAnswer { bulk, already_recorded: true });
                };
                set_life(tx, ids.as_ref(), &bulk, &next, by, verb).await?;
                Ok(BulkAnswer { bulk: Bulk { life: next, ..bulk }, already_recorded: false })
            })
        });
        let answer = answer.await?;
        self.note_change();
        Ok(answer)
    }
}

async fn keep_preview(
    tx: &mut Tx,
    ids: &dyn Ids,
    (by, input, origin): &(Actor, ActionInput, Origin),
    items: &[Item],
) -> Result<Bulk, LedgerError> {
    let now = tx.now().await?;
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let bulk = Bulk {
        id: BulkId::parse(ids.new_id(now)).map_err(|error| LedgerError::Corrupt { what: error.to_string() })?,
        hash: list_hash(input, items),
        input: input.clone(),
        origin: origin.clone(),
        items: count(items.len()),
        eligible: count(items.iter().filter(|item| item.skip.is_none()).count()),
        by: by.clone(),
        made_at: now,
        life: Life::Previewed,
    };
    tx.bulk_insert(&bulk, items).await?;
    note(tx, ids, &bulk, &bulk.life, by, "preview_bulk").await?;
    Ok(bulk)
}

/// Writes the next life and a line of the audit trail.
async fn set_life(
    tx: &mut Tx,
    ids: &dyn Ids,
    bulk: &Bulk,
    next: &Life,
    by: &Actor,
    verb: &str,
) -> Result<(), LedgerError> {
    tx.bulk_set_life(bulk, next).await?;
    note(tx, ids, bulk, next, by, verb).await
}

async fn note(tx: &mut Tx, ids: &dyn Ids, bulk: &Bulk, life: &Life, by: &Actor, verb: &str) -> Result<(), LedgerError> {
    let now = tx.now().await?;
    let detail = serde_json::json!({
        "action": bulk.input.action().name(), "items": bulk.items, "eligible": bulk.eligible, "list": bulk.hash.to_string(),
        "reason": life.started().map(|started| started.reason.as_str()),
    });
    audit(tx, ids, now, by, Note { verb, subject: bulk.id.as_str(), status: "done", detail }).await
}

async fn page(tx: &mut Tx, by: &Actor, id: &BulkId) -> Result<Option<BulkPage>, LedgerError> {
    let (sequence, as_of) = (tx.newest_sequence().await?, tx.now().await?);
    let Some(bulk) = tx.bulk_find(id).await? else { return Ok(None) };
    let found = tx.bulk_items(id).await?;
    let texts: Vec<&str> = found.iter().map(|(item, _)| item.operation.as_str()).collect();
    let rows = tx.operation_rows(&texts).await?;
    let mut rows: std::collections::HashMap<OperationId, Listed> =
        rows.into_iter().map(|(listed, _)| (listed.head.id.clone(), listed)).collect();
    let mut items = Vec::with_capacity(found.len());
    for (item, answer) in found {
        let operation = rows.remove(&item.operation).ok_or_else(|| LedgerError::Corrupt {
            what: format!("operation {} of bulk action {id} is not there", item.operation),
        })?;
        items.push(BulkItem { item, operation, answer, reached: Reached::default() });
    }
    follow(tx, by, bulk.input.action(), as_of, &mut items).await?;
    Ok(Some(BulkPage { bulk, items, as_of, sequence }))
}

/// Fills in what followed each action that is done. An operation that is still at the version which its action made has
/// learnt nothing since.
async fn follow(
    tx: &mut Tx,
    by: &Actor,
    action: Action,
    now: Timestamp,
    items: &mut [BulkItem],
) -> Result<(), LedgerError> {
    let mut moved: Vec<(&mut BulkItem, Timestamp)> = Vec::new();
    for item in items {
        let Some(answer) = item.answer.as_ref().filter(|answer| answer.status == ActionStatus::Done) else { continue };
        let is_still = answer.made_version == Some(item.operation.version) && item.operation.row.effects == 0;
        if let Some(at) = answer.settled_at.filter(|_| !is_still && action.leads_to_destination()) {
            moved.push((item, at));
        }
    }
    for chunk in moved.chunks_mut(CHUNK) {
        let ids: Vec<OperationId> = chunk.iter().map(|(item, _)| item.item.operation.clone()).collect();
        let mut desk = Desk::open(tx, now, by).await?;
        desk.lay(&ids).await?;
        desk.lay_sharers(&ids).await?;
        for ((item, done_at), id) in chunk.iter_mut().zip(&ids) {
            let around = desk.around(id).await?;
            let record = &desk.sheet(id)?.record;
            item.reached = reached(action, *done_at, record, &outcome::fold(record, &around, now));
        }
    }
    Ok(())
}

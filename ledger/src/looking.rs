//! Looking the truth up (semantics 4.4.6): which operations are due, and what was found. The reads themselves are made
//! elsewhere; a look-up changes nothing at the destination, and changes state here only as evidence, through the fold.

use std::sync::Arc;
use std::time::Duration;

use tallystick_domain::evidence::{Claim, Evidence};
use tallystick_domain::look_up::{linked_by, searched_by};
use tallystick_domain::name::{DestinationKey, OperationId, Receipt, SourceName, ToolName};
use tallystick_domain::operation::Fact;
use tallystick_domain::outcome;
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;

use crate::desk::Desk;
use crate::executing::lay;
use crate::operations::Listed;
use crate::store::Tx;
use crate::{Ledger, LedgerError};

/// For how long a look-up belongs to who took it.
const TAKEN_FOR: Duration = Duration::from_mins(1);

/// An operation to be looked up.
#[derive(Debug, Clone)]
pub struct ToLookUp {
    /// The operation.
    pub operation: Listed,
    /// Its tool, with the template.
    pub tool: Tool,
    /// The key that was sent, or would be.
    pub destination_key: Option<DestinationKey>,
    /// The arguments in force.
    pub arguments: Vec<u8>,
    /// A receipt on record, for look-ups by receipt.
    pub receipt: Option<Receipt>,
    /// The record's clock before the look-up is sent: absence is judged at this time (K6).
    pub sent_at: Timestamp,
}

impl Ledger {
    /// Takes operations of these tools whose look-up is due.
    pub async fn take_look_ups(
        &self,
        by: &Actor,
        tools: &[ToolName],
        limit: u32,
    ) -> Result<Vec<ToLookUp>, LedgerError> {
        self.permit(by, Permission::Execute, "look-ups").await?;
        let asked = Arc::new((by.clone(), tools.to_vec()));
        // First a read: where nothing is due, nobody waits for the writer.
        let asking = Arc::clone(&asked);
        let due = self.store().read(move |tx| {
            let asked = Arc::clone(&asking);
            Box::pin(async move {
                let now = tx.now().await?;
                due(tx, &asked.1, 1, now).await
            })
        });
        if due.await?.is_empty() {
            return Ok(Vec::new());
        }
        self.store()
            .write(move |tx| {
                let asked = Arc::clone(&asked);
                Box::pin(async move { take(tx, &asked.0, &asked.1, limit).await })
            })
            .await
    }

    /// Records what a look-up found. `sent_at` is the time it was taken at.
    pub async fn record_look_up(
        &self,
        by: &Actor,
        id: &OperationId,
        sent_at: Timestamp,
        claims: Vec<Claim>,
    ) -> Result<Listed, LedgerError> {
        self.permit(by, Permission::Execute, id.as_str()).await?;
        let told = Arc::new((by.clone(), id.clone(), claims));
        let recorded = self.store().write(move |tx| {
            let told = Arc::clone(&told);
            Box::pin(async move { record(tx, &told.0, &told.1, sent_at, &told.2).await })
        });
        let listed = recorded.await?;
        self.note_change();
        Ok(listed)
    }
}

async fn due(tx: &mut Tx, tools: &[ToolName], limit: u32, now: Timestamp) -> Result<Vec<OperationId>, LedgerError> {
    let mut found = Vec::new();
    for tool in tools {
        found.extend(tx.look_ups_due(tool.as_str(), now, limit).await?);
        if found.len() >= limit as usize {
            break;
        }
    }
    found.truncate(limit as usize);
    Ok(found)
}

async fn take(tx: &mut Tx, by: &Actor, tools: &[ToolName], limit: u32) -> Result<Vec<ToLookUp>, LedgerError> {
    let now = tx.now().await?;
    let mut taken = Vec::new();
    for id in due(tx, tools, limit, now).await? {
        if tx.look_take(id.as_str(), now, now.plus(TAKEN_FOR)).await? {
            taken.push(id);
        }
    }
    let mut desk = Desk::open(tx, now, by).await?;
    desk.lay(&taken).await?;
    let mut tasks = Vec::with_capacity(taken.len());
    for id in taken {
        if !desk.has(&id) {
            continue;
        }
        let around = desk.around(&id).await?;
        let arguments = desk.arguments_in_force(&id, i64::MAX).await?.unwrap_or_default();
        let record = &desk.sheet(&id)?.record;
        let sent_under = record.destination_keys().first().map(|key| (*key).clone());
        tasks.push(ToLookUp {
            destination_key: sent_under.or_else(|| record.destination_key(&around.relatives)),
            receipt: record.row.as_ref().and_then(|row| row.receipt.clone()),
            operation: desk.listed(&id)?,
            tool: around.tool,
            arguments,
            sent_at: now,
        });
    }
    Ok(tasks)
}

async fn record(
    tx: &mut Tx,
    by: &Actor,
    id: &OperationId,
    sent_at: Timestamp,
    claims: &[Claim],
) -> Result<Listed, LedgerError> {
    let mut desk = lay(tx, by, id).await?;
    let now = desk.now;
    let around = desk.around(id).await?;
    let key = desk.sheet(id)?.record.destination_keys().first().map(|key| (*key).clone());
    let by_what = searched_by(&around.tool.contract);
    let moved = outcome::fold(&desk.sheet(id)?.record, &around, now).scope_changed;
    for (number, claim) in claims.iter().enumerate() {
        // Row 30: what is not found in one scope says nothing about what was sent in another.
        let claim = if moved && *claim == Claim::Absent { &Claim::Unavailable } else { claim };
        let evidence = Evidence {
            id: format!("look-up {id} {} {number}", sent_at.as_micros()),
            source: SourceName::own_reader(),
            claim: claim.clone(),
            object: None,
            linked_by: linked_by(by_what),
            key: key.clone().or_else(|| desk.sheet(id).ok()?.record.destination_key(&around.relatives)),
            at: now,
            provider_time: None,
            sent_at: Some(sent_at),
        };
        desk.add_fact(id, Fact::Evidence(evidence))?;
    }
    let decision = desk.decide_added(id, "look_up").await?;
    desk.refold(decision.refold).await?;
    desk.link_deliveries().await?;
    let listed = desk.listed(id)?;
    let tx = desk.save().await?;
    tx.look_end(id.as_str()).await?;
    Ok(listed)
}

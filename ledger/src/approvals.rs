//! Proposals that wait for an authorization: what waits, with everything that a person needs in order to look at it.

use std::collections::{BTreeMap, HashMap};

use tallystick_domain::difference::diff;
use tallystick_domain::json::Json;
use tallystick_domain::name::OperationId;
use tallystick_domain::operation::{FieldChange, Reason, Record};
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::query::QueueQuery;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;

use crate::store::Tx;
use crate::{Ledger, LedgerError};

/// Why an operation is here.
pub const REASONS: [Reason; 3] = [Reason::AwaitsSecondPerson, Reason::AwaitsApproval, Reason::ApprovalExpired];
/// How many are shown for each reason, the most urgent; the queue has them all.
pub const SHOWN: u32 = 50;
/// Arguments larger than this are not compared here.
const COMPARED_BYTES: i64 = 64 * 1024;

/// An operation that waits for an authorization.
#[derive(Debug, Clone)]
pub struct Awaiting {
    /// Why.
    pub reason: Reason,
    /// Identity, facts and row.
    pub record: Record,
    /// Its tool, or what is assumed of an undeclared one.
    pub tool: Option<Tool>,
    /// The operation that it runs again or takes over from, with what differs in the arguments.
    pub earlier: Option<Earlier>,
}

/// What an operation comes after.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// Its key.
    pub key: String,
    /// How the arguments differ; nothing where one of them is too large to be compared, or does not read as JSON.
    pub changes: Option<Vec<FieldChange>>,
}

/// What waits for an authorization.
#[derive(Debug, Clone)]
pub struct Approvals {
    /// By reason, then the most urgent first.
    pub rows: Vec<Awaiting>,
    /// How many wait for each reason; exact up to 999, then 1000 stands for more.
    pub counts: BTreeMap<Reason, u32>,
    /// The record's clock when it was read.
    pub now: Timestamp,
    /// The newest change that it shows.
    pub sequence: i64,
}

impl Ledger {
    /// What waits for an authorization.
    pub async fn approvals(&self, by: &Actor) -> Result<Approvals, LedgerError> {
        self.permit(by, Permission::Read, "approvals").await?;
        self.store().read(|tx| Box::pin(read(tx))).await
    }
}

async fn read(tx: &mut Tx) -> Result<Approvals, LedgerError> {
    let (sequence, now) = (tx.newest_sequence().await?, tx.now().await?);
    let mut counts = tx.queue_counts().await?;
    counts.retain(|reason, _| REASONS.contains(reason));
    let mut rows = Vec::new();
    for reason in REASONS {
        let query = QueueQuery { reason: Some(reason), limit: Some(SHOWN), ..QueueQuery::default() };
        let mut listed = tx.queue_page(&query, None, None).await?;
        listed.truncate(SHOWN as usize);
        let ids: Vec<&str> = listed.iter().map(|one| one.head.id.as_str()).collect();
        let loaded = tx.operations_load(&ids).await?.into_iter().map(|loaded| loaded.record);
        let mut records: HashMap<OperationId, Record> = loaded.map(|record| (record.head.id.clone(), record)).collect();
        for one in &listed {
            if let Some(record) = records.remove(&one.head.id) {
                rows.push(awaiting(tx, reason, record).await?);
            }
        }
    }
    Ok(Approvals { rows, counts, now, sequence })
}

async fn awaiting(tx: &mut Tx, reason: Reason, record: Record) -> Result<Awaiting, LedgerError> {
    let tool = match &record.head.tool {
        Some(name) => tx.tool_find(name.as_str()).await?,
        None => None,
    };
    let head = &record.head;
    let before = head.supersedes.as_ref().or(head.retries_of.as_ref()).or(head.adopts.as_ref()).cloned();
    let earlier = match before {
        Some(id) => earlier(tx, &record, &id).await?,
        None => None,
    };
    Ok(Awaiting { reason, record, tool, earlier })
}

async fn earlier(tx: &mut Tx, record: &Record, id: &OperationId) -> Result<Option<Earlier>, LedgerError> {
    let Some(before) = tx.operations_load(&[id.as_str()]).await?.pop() else { return Ok(None) };
    let mut read = Vec::with_capacity(2);
    for one in [&before.record, record] {
        let bytes = tx.arguments_in_force(one, COMPARED_BYTES).await?;
        read.push(bytes.and_then(|bytes| Json::parse(&bytes).ok()));
    }
    let changes = match read.as_slice() {
        [Some(before), Some(now)] => Some(diff(before, now)),
        _ => None,
    };
    Ok(Some(Earlier { key: before.record.head.key.to_string(), changes }))
}

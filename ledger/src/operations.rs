//! Proposing operations, and reading them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tallystick_domain::decision::{self, Ruling};
use tallystick_domain::name::{
    DestinationKey, DestinationName, OperationId, OperationKey, SourceOperation, ToolName, WorkflowName,
};
use tallystick_domain::operation::{Head, Projection, Reason, Record, State};
use tallystick_domain::outcome::{self, Outcome};
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::query::{OperationQuery, QueueOrder, QueueQuery};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;
use tallystick_domain::workflow::Place;

use crate::bulk::BulkOfOperation;
use crate::desk::Desk;
use crate::store::Tx;
use crate::store::entry::{Changes, JournalEntry, Replay};
use crate::store::list::{page_cursor, page_size};
use crate::{Ledger, LedgerError};

/// Of arguments larger than this only the first bytes are part of [`Examined`].
const SHOWN_ARGUMENTS_BYTES: i64 = 64 * 1024;
/// How many these are.
const PREVIEW_BYTES: i64 = 4 * 1024;
/// How many bulk actions an operation tells of.
const BULKS_SHOWN: u32 = 20;
/// How near the end of a safe option is "soon".
const SOON: Duration = Duration::from_hours(1);

/// A guarded operation as an agent or program proposes it.
#[derive(Debug, Clone)]
pub struct NewProposal {
    /// The business name.
    pub key: OperationKey,
    /// Which tool; it must be declared.
    pub tool: ToolName,
    /// The arguments exactly as received.
    pub arguments: Vec<u8>,
    /// When it must be done.
    pub deadline: Option<Timestamp>,
    /// The tool call that proposed it; correlation only.
    pub tool_call_id: Option<String>,
    /// Its place in a workflow, if it is a step of one.
    pub step: Option<NewStep>,
}

/// The place of a new operation in a workflow.
#[derive(Debug, Clone)]
pub struct NewStep {
    /// Which workflow; it begins with its first step.
    pub workflow: WorkflowName,
    /// Where in it.
    pub place: Place,
}

/// What came of a proposal.
#[derive(Debug, Clone)]
pub struct ProposalAnswer {
    /// The operation that has the key.
    pub operation: Listed,
    /// Whether it was there already (same key, same arguments).
    pub replayed: bool,
}

/// One operation as a list shows it: head and row, nothing computed anew.
#[derive(Debug, Clone)]
pub struct Listed {
    /// What is fixed.
    pub head: Head,
    /// How many journal entries it has.
    pub version: u64,
    /// What its row shows.
    pub row: Projection,
}

/// A keyset page.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Where the next page starts, if there is one.
    pub next: Option<String>,
    /// The record's clock when it was read.
    pub as_of: Timestamp,
    /// The newest change that it can show; live views ask for what came after.
    pub sequence: i64,
}

/// The queue: a page and the counts above it.
#[derive(Debug, Clone)]
pub struct QueuePage {
    /// The page.
    pub page: Page<Listed>,
    /// How many wait for each reason; exact up to 999, then 1000 stands for more.
    pub counts: BTreeMap<Reason, u32>,
    /// Since when the oldest waits.
    pub oldest_since: Option<Timestamp>,
    /// How many of them lose their safe option within the hour.
    pub losing_soon: u32,
}

/// Operations that wait for the same reason, at the same place, and failed in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueGroup {
    /// Their tool.
    pub tool: Option<String>,
    /// Their destination.
    pub destination: Option<String>,
    /// What they wait for.
    pub reason: Reason,
    /// What their newest open answer was judged by, with its error.
    pub cause: Option<String>,
    /// How many.
    pub count: u32,
    /// Since when the first of them is as it is.
    pub first: Timestamp,
    /// The latest fact about any of them.
    pub last: Timestamp,
}

/// The queue in groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueGroups {
    /// The groups, the one with the most urgent operation first.
    pub groups: Vec<QueueGroup>,
    /// Whether there is more than these: only the most urgent [`Self::OPERATIONS`] are put into groups, and only
    /// [`Self::GROUPS`] groups are told.
    pub is_cut: bool,
}

impl QueueGroups {
    /// How many of those that wait are put into groups.
    pub const OPERATIONS: u32 = 10_000;
    /// How many groups are told.
    pub const GROUPS: u32 = 200;
}

/// How much waits for a person, for what stands around every page.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// Exact up to 999, then 1000 stands for more.
    pub count: u32,
    /// The record's clock when it was counted.
    pub as_of: Timestamp,
    /// The newest change that it shows.
    pub sequence: i64,
}

/// One journal entry as a timeline shows it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Which version it made.
    pub version: u64,
    /// When, by our clock.
    pub at: Timestamp,
    /// Who caused it.
    pub actor: Actor,
    /// What was asked: `record`, `act mark_succeeded`, `refold`, `complete`.
    pub command: String,
    /// Rules that spoke.
    pub rules: Vec<String>,
    /// The state before and after.
    pub from: Option<State>,
    /// The state after.
    pub to: State,
}

/// Another operation that has to do with this one.
#[derive(Debug, Clone)]
pub struct Relative {
    /// How: `adopts`, `adopted by`, `compensates`, `compensated by`, `same workflow`,
    /// `same destination key`, `retries`, `retried by`, `supersedes`, `superseded by`, `same intent`.
    pub link: &'static str,
    /// Which.
    pub operation: Listed,
}

/// One operation with everything the rules say about it now.
#[derive(Debug, Clone)]
pub struct Examined {
    /// Identity, facts and row.
    pub record: Record,
    /// Its tool, or what is assumed of an undeclared one.
    pub tool: Tool,
    /// What the facts say at `now`.
    pub outcome: Outcome,
    /// What may be done at `now`, by this reader.
    pub ruling: Ruling,
    /// The arguments in force as received, unless larger than 64 KiB.
    pub arguments: Option<Vec<u8>>,
    /// The first 4 KiB of them where they are larger.
    pub arguments_start: Option<Vec<u8>>,
    /// The request that is kept for them, once one was sent.
    pub wire: Option<Vec<u8>>,
    /// The key that goes to the destination.
    pub destination_key: Option<DestinationKey>,
    /// Names that sources give it, the first one first.
    pub aliases: Vec<(SourceOperation, String)>,
    /// Other operations.
    pub relatives: Vec<Relative>,
    /// Bulk actions that it was part of, the newest first.
    pub bulks: Vec<BulkOfOperation>,
    /// Its journal, oldest first.
    pub entries: Vec<Entry>,
    /// The record's clock when it was read.
    pub now: Timestamp,
    /// The newest change that this shows.
    pub sequence: i64,
}

impl<T> Page<T> {
    /// A page from its rows and perhaps one more; `cursor` says where the next one starts.
    pub(crate) fn cut(
        mut rows: Vec<T>,
        limit: u32,
        as_of: Timestamp,
        sequence: i64,
        cursor: impl Fn(&T) -> String,
    ) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| has_more).map(cursor);
        Self { rows, next, as_of, sequence }
    }

    /// The same page of other rows.
    pub(crate) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        let Self { rows, next, as_of, sequence } = self;
        Page { rows: rows.into_iter().map(change).collect(), next, as_of, sequence }
    }
}

impl Ledger {
    /// One operation, judged at the record's clock; `None` if there is none with this id.
    pub async fn operation(&self, by: &Actor, id: &OperationId) -> Result<Option<Examined>, LedgerError> {
        self.permit(by, Permission::Read, id.as_str()).await?;
        let (by, id) = (by.clone(), id.clone());
        self.store()
            .read(move |tx| {
                let (by, id) = (by.clone(), id.clone());
                Box::pin(async move { examine(tx, &by, &id).await })
            })
            .await
    }

    /// The arguments of an operation exactly as received.
    pub async fn operation_arguments(&self, by: &Actor, id: &OperationId) -> Result<Option<Vec<u8>>, LedgerError> {
        self.permit(by, Permission::Read, id.as_str()).await?;
        let id = id.clone();
        self.store()
            .read(move |tx| {
                let id = id.clone();
                Box::pin(async move {
                    let loaded = tx.operations_load(&[id.as_str()]).await?.pop();
                    match loaded {
                        Some(loaded) => tx.arguments_in_force(&loaded.record, i64::MAX).await,
                        None => Ok(None),
                    }
                })
            })
            .await
    }

    /// A page of operations, newest first; what a search finds comes by key. Where filters leave out much of what a
    /// search finds, a page may have fewer rows than asked for and still name the next one.
    pub async fn operations(&self, by: &Actor, query: &OperationQuery) -> Result<Page<Listed>, LedgerError> {
        self.permit(by, Permission::Read, "operations").await?;
        let query = Arc::new(query.clone());
        self.store()
            .read(move |tx| {
                let query = Arc::clone(&query);
                Box::pin(async move {
                    // The number first: what is committed meanwhile is told again rather than missed.
                    let (sequence, as_of) = (tx.newest_sequence().await?, tx.now().await?);
                    let limit = page_size(query.limit);
                    let Some(text) = &query.search else {
                        let rows = tx.operations_page(&query).await?;
                        return Ok(Page::cut(rows, limit, as_of, sequence, |row| page_cursor(&query, row)));
                    };
                    let (rows, searched_to) = tx.operations_search(&query, text).await?;
                    let mut page = Page::cut(rows, limit, as_of, sequence, |row| row.head.key.to_string());
                    page.next = page.next.or(searched_to);
                    Ok(page)
                })
            })
            .await
    }

    /// A page of what waits for a person, most urgent first.
    pub async fn queue(&self, by: &Actor, query: &QueueQuery) -> Result<QueuePage, LedgerError> {
        self.permit(by, Permission::Read, "queue").await?;
        let (query, by) = (Arc::new(query.clone()), by.clone());
        self.store()
            .read(move |tx| {
                let (query, by) = (Arc::clone(&query), by.clone());
                Box::pin(async move { queue_page(tx, &by, &query).await })
            })
            .await
    }

    /// What waits for a person, equal ones as one line.
    pub async fn queue_groups(&self, by: &Actor, query: &QueueQuery) -> Result<QueueGroups, LedgerError> {
        self.permit(by, Permission::Read, "queue").await?;
        let (query, by) = (Arc::new(query.clone()), by.clone());
        let groups = self.store().read(move |tx| {
            let (query, by) = (Arc::clone(&query), by.clone());
            Box::pin(async move { tx.queue_groups(&query, assignee_of(&query, &by)).await })
        });
        let groups = groups.await?;
        let counted: u32 = groups.iter().map(|group| group.count).sum();
        let is_cut = counted >= QueueGroups::OPERATIONS || groups.len() >= QueueGroups::GROUPS as usize;
        Ok(QueueGroups { groups, is_cut })
    }

    /// How much waits for a person. Cheaper than a page of the queue: no row is read.
    pub async fn count_waiting(&self, by: &Actor) -> Result<Waiting, LedgerError> {
        self.permit(by, Permission::Read, "queue").await?;
        self.store()
            .read(|tx| {
                Box::pin(async move {
                    let (sequence, as_of) = (tx.newest_sequence().await?, tx.now().await?);
                    Ok(Waiting { count: tx.queue_count().await?, as_of, sequence })
                })
            })
            .await
    }

    /// Rows again, for a live view that heard of a change.
    pub async fn operations_by_id(&self, by: &Actor, ids: &[OperationId]) -> Result<Vec<Listed>, LedgerError> {
        self.permit(by, Permission::Read, "operations").await?;
        let ids = Arc::new(ids.to_vec());
        self.store()
            .read(move |tx| {
                let ids = Arc::clone(&ids);
                Box::pin(async move {
                    let texts: Vec<&str> = ids.iter().map(OperationId::as_str).collect();
                    Ok(tx.operation_rows(&texts).await?.into_iter().map(|(listed, _)| listed).collect())
                })
            })
            .await
    }

    /// Tools and destinations that occur, for filters (at most 200 each).
    pub async fn filter_values(&self, by: &Actor) -> Result<(Vec<ToolName>, Vec<DestinationName>), LedgerError> {
        self.permit(by, Permission::Read, "operations").await?;
        let (tools, destinations) = self.store().read(|tx| Box::pin(tx.names_in_use())).await?;
        let tools = tools.into_iter().filter_map(|name| ToolName::parse(name).ok()).collect();
        let destinations = destinations.into_iter().filter_map(|name| DestinationName::parse(name).ok()).collect();
        Ok((tools, destinations))
    }
}

async fn queue_page(tx: &mut Tx, by: &Actor, query: &QueueQuery) -> Result<QueuePage, LedgerError> {
    let (sequence, as_of) = (tx.newest_sequence().await?, tx.now().await?);
    let after = query.after.as_deref().map(read_queue_cursor).transpose()?;
    let rows = tx.queue_page(query, assignee_of(query, by), after).await?;
    let page = Page::cut(rows, page_size(query.limit), as_of, sequence, |row| queue_cursor(row, query.order));
    Ok(QueuePage {
        page,
        counts: tx.queue_counts().await?,
        oldest_since: tx.queue_oldest().await?,
        losing_soon: tx.queue_losing(as_of, as_of.plus(SOON)).await?,
    })
}

fn assignee_of<'q>(query: &'q QueueQuery, by: &'q Actor) -> Option<&'q str> {
    query.assignee.as_deref().map(|who| if who == "me" { by.id.as_str() } else { who })
}

/// Where the page of the queue after this row starts.
pub(crate) fn queue_cursor(row: &Listed, order: QueueOrder) -> String {
    let place = match order {
        QueueOrder::Urgency => row.row.attention.map_or(0, |attention| attention.rank),
        QueueOrder::Age => row.row.since.as_micros(),
        QueueOrder::Stake => row.row.impact.as_ref().and_then(|impact| impact.amount_minor).unwrap_or(-1),
    };
    format!("{place}.{}", row.head.id)
}

pub(crate) fn read_queue_cursor(cursor: &str) -> Result<(i64, &str), Refusal> {
    let parts = cursor.split_once('.');
    let read = parts.and_then(|(rank, id)| Some((rank.parse().ok()?, id)));
    read.ok_or_else(|| Refusal::BadField {
        field: "after".into(),
        problem: format!("{cursor:?} is not where a page of the queue starts"),
    })
}

async fn examine(tx: &mut Tx, by: &Actor, id: &OperationId) -> Result<Option<Examined>, LedgerError> {
    let (sequence, now) = (tx.newest_sequence().await?, tx.now().await?);
    let mut desk = Desk::open(tx, now, by).await?;
    desk.lay(std::slice::from_ref(id)).await?;
    if !desk.has(id) {
        return Ok(None);
    }
    desk.lay_sharers(std::slice::from_ref(id)).await?;
    let around = desk.around(id).await?;
    let record = desk.sheet(id)?.record.clone();
    let outcome = outcome::fold(&record, &around, now);
    let ruling = decision::rule(&record, &around, &outcome, Some(by), now);
    let tx = desk.save().await?;
    let others = (around.relatives.iter().map(listed).collect(), around.sharers.iter().map(listed).collect());
    let relatives = relatives(tx, &record.head, others).await?;
    let entries = tx.journal_entries(id.as_str(), record.version).await?;
    let wire = tx.wire(id.as_str(), record.args_version()).await?.map(|(bytes, _)| bytes);
    let arguments = tx.arguments_in_force(&record, SHOWN_ARGUMENTS_BYTES).await?;
    let arguments_start = match &arguments {
        None => tx.arguments_start(&record, PREVIEW_BYTES).await?,
        Some(_) => None,
    };
    Ok(Some(Examined {
        wire,
        destination_key: record.destination_key(&around.relatives),
        tool: around.tool,
        outcome,
        ruling,
        arguments,
        arguments_start,
        aliases: tx.names_of(id.as_str()).await?,
        relatives,
        bulks: tx.bulks_of_operation(id.as_str(), BULKS_SHOWN).await?,
        entries: timeline(&entries)?,
        now,
        sequence,
        record,
    }))
}

fn listed(record: &Record) -> Option<Listed> {
    Some(Listed { head: record.head.clone(), version: record.version, row: record.row.clone()? })
}

/// Other operations by how they are linked: the intent first, then sharers of a key, compensation, workflow.
async fn relatives(
    tx: &mut Tx,
    head: &Head,
    (intent, sharers): (Vec<Option<Listed>>, Vec<Option<Listed>>),
) -> Result<Vec<Relative>, LedgerError> {
    let mut found = Vec::new();
    for operation in intent.into_iter().flatten() {
        let link = intent_link(head, &operation.head);
        found.push(Relative { link, operation });
    }
    found.extend(sharers.into_iter().flatten().map(|operation| Relative { link: "same destination key", operation }));
    let undone: Vec<&str> = head.compensates.iter().map(OperationId::as_str).collect();
    let undoing = tx.operation_ids_by_compensates(&[head.id.as_str()]).await?;
    let undoing: Vec<&str> = undoing.iter().map(OperationId::as_str).collect();
    let together = match &head.workflow {
        Some(workflow) => tx.operation_ids_by_workflow(workflow).await?,
        None => Vec::new(),
    };
    let together: Vec<&str> = together.iter().map(OperationId::as_str).filter(|id| *id != head.id.as_str()).collect();
    for (link, ids) in [("compensates", undone), ("compensated by", undoing), ("same workflow", together)] {
        let rows = tx.operation_rows(&ids).await?;
        found.extend(rows.into_iter().map(|(operation, _)| Relative { link, operation }));
    }
    Ok(found)
}

fn intent_link(head: &Head, other: &Head) -> &'static str {
    if head.adopts.as_ref() == Some(&other.id) {
        "adopts"
    } else if other.adopts.as_ref() == Some(&head.id) {
        "adopted by"
    } else if head.retries_of.as_ref() == Some(&other.id) {
        "retries"
    } else if other.retries_of.as_ref() == Some(&head.id) {
        "retried by"
    } else if head.supersedes.as_ref() == Some(&other.id) {
        "supersedes"
    } else if other.supersedes.as_ref() == Some(&head.id) {
        "superseded by"
    } else {
        "same intent"
    }
}

/// The journal as a timeline, states replayed from the changes.
fn timeline(entries: &[JournalEntry]) -> Result<Vec<Entry>, LedgerError> {
    let mut replay = Replay::default();
    let mut from = None;
    let mut timeline = Vec::with_capacity(entries.len());
    for entry in entries {
        let broken = |error: serde_json::Error| LedgerError::Corrupt {
            what: format!("journal of {} version {}: {error}", entry.op_id, entry.version),
        };
        let changes: Changes = serde_json::from_str(&entry.changes).map_err(broken)?;
        replay.skip(&changes);
        let state = replay.member("state").cloned().unwrap_or_default();
        let to: State = serde_json::from_value(state).map_err(broken)?;
        timeline.push(Entry {
            version: entry.version,
            at: entry.at,
            actor: entry.actor.clone(),
            command: entry.command.clone(),
            rules: serde_json::from_str(&entry.rules).map_err(broken)?,
            from,
            to,
        });
        from = Some(to);
    }
    Ok(timeline)
}

//! Proposing operations, and reading them.

use std::collections::BTreeMap;

use tallystick_domain::decision::Ruling;
use tallystick_domain::name::{DestinationName, OperationId, OperationKey, SourceOperation, ToolName};
use tallystick_domain::operation::{Head, Projection, Reason, Record, State};
use tallystick_domain::outcome::Outcome;
use tallystick_domain::permission::Actor;
use tallystick_domain::query::{OperationQuery, QueueQuery};
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;

use crate::{Ledger, LedgerError};

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
    /// How: `adopts`, `adopted by`, `compensates`, `compensated by`, `same workflow`, `same destination key`, `retries`, `retried by`.
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
    /// The first arguments as received, unless larger than 64 KiB (then only their size is in the record).
    pub arguments: Option<Vec<u8>>,
    /// Names that sources give it, the first one first.
    pub aliases: Vec<(SourceOperation, String)>,
    /// Other operations.
    pub relatives: Vec<Relative>,
    /// Its journal, oldest first.
    pub entries: Vec<Entry>,
    /// The record's clock when it was read.
    pub now: Timestamp,
    /// The newest change that this shows.
    pub sequence: i64,
}

impl Ledger {
    /// Proposes a guarded operation (T1). Same key and arguments: the operation that is there. Same key,
    /// other arguments: [`tallystick_domain::refusal::Refusal::OperationKeyConflict`], and the conflicting proposal is kept.
    pub async fn propose_operation(&self, by: &Actor, new: NewProposal) -> Result<ProposalAnswer, LedgerError> {
        let _ = (by, new);
        todo!()
    }

    /// One operation, judged at the record's clock; `None` if there is none with this id.
    pub async fn operation(&self, by: &Actor, id: &OperationId) -> Result<Option<Examined>, LedgerError> {
        let _ = (by, id);
        todo!()
    }

    /// The arguments of an operation exactly as received.
    pub async fn operation_arguments(&self, by: &Actor, id: &OperationId) -> Result<Option<Vec<u8>>, LedgerError> {
        let _ = (by, id);
        todo!()
    }

    /// A page of operations, newest first.
    pub async fn operations(&self, by: &Actor, query: &OperationQuery) -> Result<Page<Listed>, LedgerError> {
        let _ = (by, query);
        todo!()
    }

    /// A page of what waits for a person, most urgent first.
    pub async fn queue(&self, by: &Actor, query: &QueueQuery) -> Result<QueuePage, LedgerError> {
        let _ = (by, query);
        todo!()
    }

    /// Rows again, for a live view that heard of a change.
    pub async fn operations_by_id(&self, by: &Actor, ids: &[OperationId]) -> Result<Vec<Listed>, LedgerError> {
        let _ = (by, ids);
        todo!()
    }

    /// Tools and destinations that occur, for filters (at most 200 each).
    pub async fn filter_values(&self, by: &Actor) -> Result<(Vec<ToolName>, Vec<DestinationName>), LedgerError> {
        let _ = by;
        todo!()
    }
}

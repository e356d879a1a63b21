//! What the API answers: flat documents with their own names, independent of how pages show things. Times are RFC 3339 in
//! UTC; whole numbers that may exceed 2^53 are strings; texts that came as bytes are given exactly.

mod action;
mod bulk;
mod judged;
mod operation;
mod summary;

use serde::Serialize;
use tallystick_domain::operation::State;
use tallystick_domain::time::Timestamp;
use tallystick_ledger::operations::Page;
use utoipa::ToSchema;

pub use action::{ActionDocument, ActorDocument};
pub use bulk::{BulkDocument, BulkPageDocument};
pub use judged::{ActionRulingDocument, AttemptDocument, DecisionDocument, EffectDocument, GroundDocument};
pub use operation::{AliasDocument, ConflictDocument, Counts, JournalDocument, OperationDocument, RelativeDocument};
pub use summary::{AttentionDocument, FindingDocument, ImpactDocument, KeyWindowDocument, OperationSummary};

/// A page of a list. `Link: rel="next"` holds the address of the next one.
#[derive(Debug, Serialize, ToSchema)]
pub struct PageDocument<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Where the next page starts.
    pub next: Option<String>,
    /// The record's clock when it was read.
    pub as_of: String,
    /// The newest change that this shows.
    pub sequence: i64,
}

impl<T> PageDocument<T> {
    /// A page with its rows turned into documents.
    pub fn of<R>(page: Page<R>, document: impl FnMut(R) -> T) -> Self {
        Self {
            rows: page.rows.into_iter().map(document).collect(),
            next: page.next,
            as_of: page.as_of.to_string(),
            sequence: page.sequence,
        }
    }
}

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

fn state(state: Option<State>) -> Option<String> {
    state.map(|state| state.to_string())
}

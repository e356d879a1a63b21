//! A bulk action as a document: what was frozen, and where each item stands.

use serde::Serialize;
use tallystick_domain::bulk::{Bulk, Counts, Life, Origin, Skip, Standing};
use tallystick_domain::refusal::Refusal;
use tallystick_ledger::bulk::{BulkItem, BulkPage};
use utoipa::ToSchema;

use super::{ActorDocument, time};

/// A bulk action, without its list.
#[derive(Debug, Serialize, ToSchema)]
pub struct BulkDocument {
    /// Its id.
    pub id: String,
    /// What is asked of each operation.
    pub action: &'static str,
    /// Its input.
    #[schema(value_type = Object)]
    pub input: serde_json::Value,
    /// `previewed`, `running`, `done` or `aborted`.
    pub state: &'static str,
    /// Where the frozen list came from: `chosen` one by one, or all that matched a filter. Nothing is selected by it again.
    #[schema(value_type = Object)]
    pub origin: Origin,
    /// How many operations the list names.
    pub item_count: u32,
    /// How many of them are to be done.
    pub eligible_count: u32,
    /// Of the action and the whole list; starting confirms it.
    pub hash: String,
    /// Who made the preview; only they may start it.
    pub made_by: ActorDocument,
    /// When.
    pub made_at: String,
    /// Until when it may be started.
    pub startable_until: String,
    /// Why it was started.
    pub reason: Option<String>,
    /// When it was started.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Why it was stopped before its end.
    pub stopped_because: Option<String>,
}

impl From<&Bulk> for BulkDocument {
    fn from(bulk: &Bulk) -> Self {
        let started = bulk.life.started();
        Self {
            id: bulk.id.to_string(),
            action: bulk.input.action().name(),
            input: serde_json::to_value(&bulk.input).unwrap_or_default(),
            state: bulk.life.name(),
            origin: bulk.origin.clone(),
            item_count: bulk.items,
            eligible_count: bulk.eligible,
            hash: bulk.hash.to_string(),
            made_by: (&bulk.by).into(),
            made_at: bulk.made_at.to_string(),
            startable_until: bulk.expires_at().to_string(),
            reason: started.map(|started| started.reason.clone()),
            started_at: started.map(|started| started.at.to_string()),
            ended_at: time(bulk.life.ended_at()),
            stopped_because: match &bulk.life {
                Life::Aborted { why, .. } => Some(why.phrase()),
                Life::Previewed | Life::Running(_) | Life::Done { .. } => None,
            },
        }
    }
}

/// How many items stand where. *Accepted* is on record; *attempted* and *confirmed* are those of them after which something
/// was sent or asked, and of which there is evidence.
#[derive(Debug, Serialize, ToSchema)]
pub struct BulkCounts {
    /// To be done, and not begun yet.
    pub waiting: u32,
    /// On record.
    pub accepted: u32,
    /// Of the accepted: something was sent or asked after it.
    pub attempted: u32,
    /// Of the accepted: there is evidence of an effect.
    pub confirmed: u32,
    /// Left out: the operation changed after the preview.
    pub changed: u32,
    /// Refused; nothing was done.
    pub refused: u32,
    /// Left out at the preview.
    pub skipped: u32,
    /// Not begun before the stop.
    pub not_begun: u32,
}

impl From<Counts> for BulkCounts {
    fn from(counts: Counts) -> Self {
        let Counts { waiting, accepted, attempted, confirmed, changed, refused, skipped, not_begun } = counts;
        Self { waiting, accepted, attempted, confirmed, changed, refused, skipped, not_begun }
    }
}

/// One item.
#[derive(Debug, Serialize, ToSchema)]
pub struct BulkItemDocument {
    /// Which operation.
    pub operation_id: String,
    /// Its key.
    pub operation_key: String,
    /// The version that the preview judged; another one is left alone.
    pub seen_version: u64,
    /// `waiting`, `accepted`, `changed`, `refused`, `skipped` or `not_begun`.
    pub standing: &'static str,
    /// Why it was left out or refused.
    pub why: Option<String>,
    /// The key of its action, once there is one.
    pub action_key: Option<String>,
    /// Whether something was sent or asked after it.
    pub is_attempted: bool,
    /// Whether there is evidence of an effect.
    pub is_confirmed: bool,
    /// The operation's state now.
    pub state: String,
}

/// A bulk action with its whole list.
#[derive(Debug, Serialize, ToSchema)]
pub struct BulkPageDocument {
    /// The bulk action.
    #[serde(flatten)]
    pub bulk: BulkDocument,
    /// How many items stand where.
    pub counts: BulkCounts,
    /// The list, in the order in which it was frozen.
    pub items: Vec<BulkItemDocument>,
    /// The record's clock when it was read.
    pub as_of: String,
    /// The newest change that this shows.
    pub sequence: i64,
}

impl From<&BulkPage> for BulkPageDocument {
    fn from(page: &BulkPage) -> Self {
        let life = &page.bulk.life;
        let stands = page.items.iter().map(|item| (item.standing(life), item.reached));
        Self {
            bulk: (&page.bulk).into(),
            counts: Counts::of(stands).into(),
            items: page.items.iter().map(|one| item(one, one.standing(life))).collect(),
            as_of: page.as_of.to_string(),
            sequence: page.sequence,
        }
    }
}

fn item(one: &BulkItem, standing: Standing) -> BulkItemDocument {
    let refusal = one.answer.as_ref().and_then(|answer| answer.refusal.as_ref()).map(Refusal::to_string);
    BulkItemDocument {
        operation_id: one.item.operation.to_string(),
        operation_key: one.operation.head.key.to_string(),
        seen_version: one.item.seen_version,
        standing: standing.name(),
        why: refusal.or_else(|| one.item.skip.as_ref().map(Skip::phrase)),
        action_key: one.answer.as_ref().map(|answer| answer.key.to_string()),
        is_attempted: one.reached.is_attempted,
        is_confirmed: one.reached.is_confirmed,
        state: one.operation.row.state.to_string(),
    }
}

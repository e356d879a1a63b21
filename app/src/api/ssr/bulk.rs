//! Bulk actions, read and written in the pages' words.

use tallystick_domain::action::Action;
use tallystick_domain::bulk::{Filter, ITEM_LIMIT, Selection, Standing, input_for_many};
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::{ActionKey, BulkId, OperationId, PrincipalId};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::view::bulk::{
    BulkLine, BulkView, Choice, ChoosingView, ItemParts, Shown, actions_for_many, bulk_line, bulk_view, filter_words,
};
use tallystick_domain::view::{Lens, encoded};
use tallystick_ledger::LedgerError;
use tallystick_ledger::bulk::{BulkItem, BulkOfOperation};

use super::reading::{bad_query, borrowed, value};
use super::{Reader, bad_name, not_found, refused, set_status, told};
use crate::api::{ApiError, Pairs};

/// How many bulk actions the audit log names.
const NEWEST: u32 = 10;

/// What the form above a list sends.
pub struct Chosen {
    /// `queue` or `operations`.
    pub list: String,
    /// The list's filter: name and value pairs as JSON.
    pub filter: String,
    /// `rows` or `matching`.
    pub scope: String,
    /// Which action.
    pub action: String,
    /// Whom to assign to; empty gives back.
    pub to: String,
    /// The rows, by id.
    pub ids: Vec<String>,
}

impl Reader {
    /// What stands above a list for acting on many of its rows; nothing for those who only read.
    pub(super) async fn choosing(
        &self,
        list: &str,
        pairs: &Pairs,
        lens: &Lens<'_>,
    ) -> Result<Option<ChoosingView>, ApiError> {
        let actions = actions_for_many(&self.actor);
        if actions.is_empty() {
            return Ok(None);
        }
        let filter = Filter::from_pairs(list, borrowed(pairs), &self.actor).map_err(|error| bad_query(&error))?;
        let is_filtered = filter.check_names_something().is_ok();
        let choice = match value(pairs, "choose") {
            Some("matching") if is_filtered => {
                let count = self.ledger.count_matching(&self.actor, &filter).await.map_err(told)?;
                Choice::Matching { count: u32::try_from(count).ok().filter(|_| count <= ITEM_LIMIT) }
            }
            choose => Choice::Rows { all: choose == Some("page") },
        };
        Ok(Some(ChoosingView {
            list: list.to_owned(),
            filter: serde_json::to_string(&filter.to_pairs()).unwrap_or_default(),
            filter_words: filter_words(&filter, lens),
            actions,
            people: lens.names.iter().map(|(id, name)| (id.clone(), name.clone())).collect(),
            own_id: self.actor.id.to_string(),
            choice,
        }))
    }

    /// The newest bulk actions that were started.
    pub(super) async fn newest_bulks(&self, lens: &Lens<'_>) -> Result<Vec<BulkLine>, ApiError> {
        let bulks = self.ledger.bulks(&self.actor, NEWEST).await.map_err(told)?;
        Ok(bulks.iter().filter_map(|bulk| bulk_line(bulk, lens)).collect())
    }

    /// One bulk action with a page of its list.
    pub async fn bulk(&self, id: &str, pairs: &Pairs) -> Result<BulkView, ApiError> {
        let id = BulkId::parse(id).map_err(|_| not_found("bulk action"))?;
        let found = self.ledger.bulk(&self.actor, &id).await.map_err(told)?;
        let page = found.ok_or_else(|| not_found("bulk action"))?;
        let names = self.names().await;
        let lens = self.lens(page.as_of, &names);
        let life = &page.bulk.life;
        let items: Vec<ItemParts<'_>> = page.items.iter().map(|item| parts(item, item.standing(life))).collect();
        let shown = Shown {
            only: value(pairs, "only").and_then(Standing::parse),
            after: value(pairs, "after").and_then(|after| after.parse().ok()).unwrap_or(0),
        };
        Ok(bulk_view(&page.bulk, &items, shown, &self.actor, page.sequence, &lens))
    }

    /// Freezes what was chosen and leads to its page; back to the list where there is nothing that could be frozen.
    pub async fn preview_bulk(&self, chosen: Chosen) -> Result<(), ApiError> {
        let action = Action::parse(&chosen.action).ok_or_else(|| not_found("action"))?;
        let to = Some(chosen.to).filter(|to| action == Action::Assign && !to.is_empty());
        let to = to.map(PrincipalId::parse).transpose().map_err(|error| bad_name(&error))?;
        let input = input_for_many(action, to).map_err(|refusal| said(&refusal))?;
        let pairs: Pairs = serde_json::from_str(&chosen.filter).unwrap_or_default();
        let filter =
            Filter::from_pairs(&chosen.list, borrowed(&pairs), &self.actor).map_err(|error| bad_query(&error))?;
        let list = list_address(&chosen.list, &pairs);
        let selection = if chosen.scope == "matching" {
            Selection::Matching(filter)
        } else {
            let operations = chosen.ids.into_iter().map(OperationId::parse).collect::<Result<Vec<_>, _>>();
            Selection::Chosen { operations: operations.map_err(|error| bad_name(&error))?, from: Some(filter) }
        };
        match self.ledger.preview_bulk(&self.actor, input, selection).await {
            // Nothing, too much, or a filter that would mean everything: the list says it in place.
            Err(LedgerError::Refused(Refusal::BadField { .. })) => leptos_axum::redirect(&list),
            answer => leptos_axum::redirect(&format!("/bulk/{}", encoded(answer.map_err(told)?.id.as_str()))),
        }
        Ok(())
    }

    /// Starts what was previewed, and leads to its page whatever the answer is.
    pub async fn start_bulk(&self, id: &str, hash: &str, reason: &str) -> Result<(), ApiError> {
        let id = BulkId::parse(id).map_err(|_| not_found("bulk action"))?;
        // What is no hash at all is not the hash of this list either.
        let hash = Hash::parse_hex(hash).unwrap_or(Hash::of(b""));
        // Browsers send line ends as CR LF; the record keeps one kind.
        let reason = reason.replace("\r\n", "\n");
        let place = match self.ledger.start_bulk(&self.actor, &id, hash, reason.trim()).await {
            Err(LedgerError::Refused(Refusal::BulkNotStartable { .. })) => "?refused=start",
            Err(LedgerError::Refused(Refusal::BulkOfAnother { .. })) => "?refused=another",
            Err(LedgerError::Refused(Refusal::ReasonMissing {} | Refusal::BadField { .. })) => "?refused=reason",
            answer => {
                let is_repeat = answer.map_err(told)?.already_recorded;
                if is_repeat { "?again=1" } else { "" }
            }
        };
        leptos_axum::redirect(&format!("/bulk/{}{place}", encoded(id.as_str())));
        Ok(())
    }

    /// Stops a bulk action and leads to its page.
    pub async fn abort_bulk(&self, id: &str) -> Result<(), ApiError> {
        let id = BulkId::parse(id).map_err(|_| not_found("bulk action"))?;
        self.ledger.abort_bulk(&self.actor, &id).await.map_err(told)?;
        leptos_axum::redirect(&format!("/bulk/{}", encoded(id.as_str())));
        Ok(())
    }
}

fn said(refusal: &Refusal) -> ApiError {
    let answer = refused(refusal);
    set_status(&answer);
    answer
}

/// The list again, which says that nothing could be frozen.
fn list_address(list: &str, pairs: &Pairs) -> String {
    let path = if list == "queue" { "/" } else { "/operations" };
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}&", encoded(name), encoded(value)));
    format!("{path}?{}choose=nothing", pairs.collect::<String>())
}

fn parts(one: &BulkItem, standing: Standing) -> ItemParts<'_> {
    ItemParts {
        item: &one.item,
        head: &one.operation.head,
        row: &one.operation.row,
        standing,
        refusal: one.answer.as_ref().and_then(|answer| answer.refusal.as_ref()),
        action_key: one.answer.as_ref().map(|answer| ActionKey::as_str(&answer.key)),
        reached: one.reached,
    }
}

/// Bulk actions that an operation was part of: id, and what was asked when.
pub(super) fn bulks_of(bulks: &[BulkOfOperation], lens: &Lens<'_>) -> Vec<(String, String)> {
    let words = |bulk: &BulkOfOperation| {
        let asked = format!("{}, {}", bulk.input.action().label(), lens.moment(bulk.made_at).short);
        (bulk.id.to_string(), asked)
    };
    bulks.iter().map(words).collect()
}

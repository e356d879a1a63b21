//! From what a person chose to the operations that are meant, and from these to what the decision says about each.

use std::collections::HashSet;
use std::sync::Arc;

use tallystick_domain::action::Action;
use tallystick_domain::bulk::{Filter, ITEM_LIMIT, Item, skip_of};
use tallystick_domain::decision;
use tallystick_domain::name::OperationId;
use tallystick_domain::outcome;
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::query::{OperationQuery, PAGE_LIMIT, QueueQuery};
use tallystick_domain::refusal::Refusal;

use super::CHUNK;
use crate::desk::Desk;
use crate::operations::Listed;
use crate::people::unknown;
use crate::store::Tx;
use crate::store::list::page_cursor;
use crate::{Ledger, LedgerError};

/// Operations that were chosen one by one, each once.
pub(super) fn chosen(operations: Vec<OperationId>) -> Result<Vec<OperationId>, Refusal> {
    let mut seen = HashSet::new();
    let operations: Vec<OperationId> = operations.into_iter().filter(|id| seen.insert(id.clone())).collect();
    check_count("operations", operations.len())?;
    Ok(operations)
}

fn check_count(field: &str, count: usize) -> Result<(), Refusal> {
    let problem = match count {
        0 if field == "filter" => "matches no operation; nothing was frozen".to_owned(),
        0 => "name no operation; choose at least one".to_owned(),
        count if count > ITEM_LIMIT => format!("mean more than {ITEM_LIMIT} operations, the limit; narrow them"),
        _ => return Ok(()),
    };
    Err(Refusal::BadField { field: field.into(), problem })
}

impl Ledger {
    /// How many operations a filter finds now: exact up to [`ITEM_LIMIT`]; one more stands for more.
    pub async fn count_matching(&self, by: &Actor, filter: &Filter) -> Result<usize, LedgerError> {
        self.permit(by, Permission::Read, "operations").await?;
        filter.check_names_something()?;
        Ok(self.found_by(filter).await?.len())
    }

    /// All that a filter finds now, in the order of its list.
    pub(super) async fn matching(&self, filter: &Filter) -> Result<Vec<OperationId>, LedgerError> {
        filter.check_names_something()?;
        let found = self.found_by(filter).await?;
        check_count("filter", found.len())?;
        Ok(found)
    }

    async fn found_by(&self, filter: &Filter) -> Result<Vec<OperationId>, LedgerError> {
        let filter = Arc::new(filter.clone());
        self.store()
            .read(move |tx| {
                let filter = Arc::clone(&filter);
                Box::pin(async move { found_by(tx, &filter).await })
            })
            .await
    }

    /// What the decision says about each, with the version that it was said about.
    pub(super) async fn judge(
        &self,
        by: &Actor,
        action: Action,
        operations: &[OperationId],
    ) -> Result<Vec<Item>, LedgerError> {
        let mut items = Vec::with_capacity(operations.len());
        for chunk in operations.chunks(CHUNK) {
            let asked = Arc::new((by.clone(), chunk.to_vec()));
            let judged = self.store().read(move |tx| {
                let asked = Arc::clone(&asked);
                Box::pin(async move { judge(tx, &asked.0, action, &asked.1).await })
            });
            items.extend(judged.await?);
        }
        Ok(items)
    }
}

/// One more than the limit, where there are more.
async fn found_by(tx: &mut Tx, filter: &Filter) -> Result<Vec<OperationId>, LedgerError> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let (rows, next) = match filter {
            Filter::Queue(query) => queue_rows(tx, query, after.as_deref()).await?,
            Filter::Operations(query) => operation_rows(tx, query, after).await?,
        };
        // Between two pages a row may have moved; it is meant once.
        let ids = rows.into_iter().map(|row| row.head.id).filter(|id| seen.insert(id.clone()));
        found.extend(ids.take(ITEM_LIMIT + 1 - found.len()));
        after = next;
        if after.is_none() || found.len() > ITEM_LIMIT {
            return Ok(found);
        }
    }
}

type Rows = (Vec<Listed>, Option<String>);

async fn queue_rows(tx: &mut Tx, query: &QueueQuery, after: Option<&str>) -> Result<Rows, LedgerError> {
    let page = QueueQuery { limit: Some(PAGE_LIMIT), ..query.clone() };
    let place = after.map(crate::operations::read_queue_cursor).transpose()?;
    let mut rows = tx.queue_page(&page, query.assignee.as_deref(), place).await?;
    Ok(cut(&mut rows, |row| crate::operations::queue_cursor(row, page.order)))
}

async fn operation_rows(tx: &mut Tx, query: &OperationQuery, after: Option<String>) -> Result<Rows, LedgerError> {
    let page = OperationQuery { limit: Some(PAGE_LIMIT), after, ..query.clone() };
    let Some(text) = &page.search else {
        let mut rows = tx.operations_page(&page).await?;
        return Ok(cut(&mut rows, |row| page_cursor(&page, row)));
    };
    let (mut rows, searched_to) = tx.operations_search(&page, text).await?;
    let (rows, next) = cut(&mut rows, |row| row.head.key.to_string());
    Ok((rows, next.or(searched_to)))
}

/// A page holds one row more than it shows, if there are more.
fn cut(rows: &mut Vec<Listed>, cursor: impl Fn(&Listed) -> String) -> Rows {
    let has_more = rows.len() > PAGE_LIMIT as usize;
    rows.truncate(PAGE_LIMIT as usize);
    let next = rows.last().filter(|_| has_more).map(cursor);
    (std::mem::take(rows), next)
}

async fn judge(tx: &mut Tx, by: &Actor, action: Action, ids: &[OperationId]) -> Result<Vec<Item>, LedgerError> {
    let now = tx.now().await?;
    let mut desk = Desk::open(tx, now, by).await?;
    desk.lay(ids).await?;
    desk.lay_sharers(ids).await?;
    let mut items = Vec::with_capacity(ids.len());
    for id in ids {
        if !desk.has(id) {
            return Err(unknown("operation", id.as_str()));
        }
        let around = desk.around(id).await?;
        let record = &desk.sheet(id)?.record;
        let outcome = outcome::fold(record, &around, now);
        let ruling = decision::rule(record, &around, &outcome, Some(by), now);
        let skip = skip_of(&ruling, action);
        items.push(Item { operation: id.clone(), seen_version: record.version, skip });
    }
    Ok(items)
}

//! Budgets in the pages' words.

use tallystick_domain::name::DestinationName;
use tallystick_domain::permission::Permission;
use tallystick_domain::view::Lens;
use tallystick_domain::view::budgets::{
    BudgetsView, DestinationView, HeldView, RefusedLine, RefusedView, RetriesView, budget_view, executor_view,
    retries_lines, scope_in_words, shortage_view, tool_limits, tools_by_destination,
};
use tallystick_domain::view::list::capped;
use tallystick_domain::view::outcomes::{Window, span};
use tallystick_ledger::destinations::{Destination, RefusedDispatch, Withheld};
use tallystick_ledger::executing::SeenWorker;
use tallystick_ledger::restoring::Restore;

use super::outcomes::standing_view;
use super::reading::{bad_query, borrowed};
use super::{Reader, told};
use crate::api::{ApiError, Pairs};

impl Reader {
    /// Destinations with their budgets, retries in the window that the address asks for, what limits tools, the processes that
    /// took work, and a restore that holds everything back.
    pub async fn budgets(&self, pairs: &Pairs) -> Result<BudgetsView, ApiError> {
        let window = Window::from_pairs(borrowed(pairs)).map_err(|error| bad_query(&error))?;
        let now = self.ledger.now().await.map_err(told)?;
        let ends = self.zone.bar_ends(window, now);
        let whole = (ends.first().copied().unwrap_or(now), ends.last().copied().unwrap_or(now));
        let destinations = self.ledger.destinations(&self.actor).await.map_err(told)?;
        let mut withheld = self.ledger.withheld(&self.actor, whole.0).await.map_err(told)?;
        let sums = self.ledger.destination_sums(&self.actor, whole.0, whole.1).await.map_err(told)?;
        let tools = self.ledger.tools(&self.actor).await.map_err(told)?;
        let workers = self.ledger.workers(&self.actor).await.map_err(told)?;
        let held = self.ledger.restore(&self.actor).await.map_err(told)?.filter(Restore::is_unread);
        let names = std::collections::BTreeMap::new();
        let lens = self.lens(sums.now, &names);
        let named =
            tools.iter().map(|tool| (tool.name.as_str(), tool.destination.as_ref().map(DestinationName::as_str)));
        let mut tools_of = tools_by_destination(named);
        let destinations = destinations.iter().map(|one| {
            let tools = tools_of.remove(one.name.as_str()).unwrap_or_default();
            let withheld = withheld.remove(&one.name).unwrap_or_default();
            destination_view(one, tools, withheld, &lens)
        });
        let executor = |worker: &SeenWorker| {
            executor_view(&worker.name, &worker.incarnation, worker.seen_at, worker.offset_micros, &lens)
        };
        let (rows, left_out) = retries_lines(&sums.by_destination, whole);
        Ok(BudgetsView {
            destinations: destinations.collect(),
            retries: RetriesView {
                window,
                span: span(window, whole, &lens),
                zone: self.zone.name().into(),
                standing: standing_view(sums.standing, &lens),
                rows,
                left_out,
            },
            limits: tool_limits(&tools),
            executors: workers.iter().map(executor).collect(),
            held: held.map(|held| HeldView {
                backup_at: lens.moment(held.backup_at),
                declared_at: lens.moment(held.declared_at),
            }),
            may_administer: self.actor.role.allows(Permission::Administer),
        })
    }
}

fn destination_view(one: &Destination, tools: Vec<String>, withheld: Withheld, lens: &Lens<'_>) -> DestinationView {
    let is_short = one.budget.as_ref().is_some_and(|budget| !budget.pays_retry(lens.now));
    let line = |refused: RefusedDispatch| RefusedLine {
        href: format!("/operations/{}", refused.operation_id),
        key: refused.operation_key.to_string(),
        at: lens.moment(refused.at),
        why: refused.why,
    };
    DestinationView {
        tools,
        name: one.name.to_string(),
        scope: scope_in_words(&one.scope),
        is_paused: one.is_paused,
        budget: one.budget.as_ref().map(|budget| budget_view(budget, lens.now)),
        shortage: shortage_view(one.shortage, lens),
        waiting: is_short.then(|| capped(withheld.due)),
        refused: RefusedView {
            count: capped(withheld.refused),
            newest: withheld.newest.into_iter().map(line).collect(),
        },
    }
}

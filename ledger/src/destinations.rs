//! Destinations as the record knows them: their scope, whether they are paused, and what retries they bear. Where they are
//! and which credential they take is configuration and never comes here.

use std::collections::BTreeMap;
use std::sync::Arc;

use tallystick_domain::budget::{Budget, BudgetKind, RetryNumbers, Shortage};
use tallystick_domain::lease::Scope;
use tallystick_domain::name::{DestinationName, OperationId, OperationKey};
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::time::Timestamp;

use crate::audit::{Note, audit};
use crate::people::{system_actor, unknown};
use crate::store::Tx;
use crate::{Ledger, LedgerError};

/// A destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Its name in configuration.
    pub name: DestinationName,
    /// Counts changes of its scope.
    pub version: u64,
    /// The account, region, endpoint and credential in which keys are unique there.
    pub scope: Scope,
    /// Whether nothing is sent to it for now.
    pub is_paused: bool,
    /// What retries it bears; none until something was sent.
    pub budget: Option<Budget>,
    /// When that last paid for no retry; none if it always did since this is kept.
    pub shortage: Option<Shortage>,
}

/// A destination as a process is configured with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// Its name.
    pub name: DestinationName,
    /// In what keys are unique there.
    pub scope: Scope,
    /// What retries it bears are paid from; what the first tool that retries there declares, if nothing is said.
    pub budget_kind: Option<BudgetKind>,
}

/// What a destination's budget keeps from being sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Withheld {
    /// Retries that are due, whether the budget pays them now or not; up to [`Withheld::COUNTED`].
    pub due: u32,
    /// Dispatches that it refused since the time that was asked for; up to [`Withheld::COUNTED`].
    pub refused: u32,
    /// The newest dispatches that it refused, whenever that was.
    pub newest: Vec<RefusedDispatch>,
}

impl Withheld {
    /// Counts stop here; the last one stands for more.
    pub const COUNTED: u32 = 1_000;
    /// How many refused dispatches are told.
    pub const NEWEST: u32 = 5;
}

/// A dispatch that a destination's budget refused; nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedDispatch {
    /// Of which operation.
    pub operation_id: OperationId,
    /// Its key.
    pub operation_key: OperationKey,
    /// When.
    pub at: Timestamp,
    /// What the budget held, and what it would have cost.
    pub why: String,
}

impl Ledger {
    /// Tells the record which destinations this process was configured with. A scope that changed makes permits from
    /// before it useless (4.6), and the operations of its tools are folded again.
    pub async fn configure_destinations(&self, configured: &[Configured]) -> Result<(), LedgerError> {
        let (ids, configured) = (self.ids(), Arc::new(configured.to_vec()));
        self.store()
            .write(move |tx| {
                let (ids, configured) = (Arc::clone(&ids), Arc::clone(&configured));
                Box::pin(async move {
                    tx.lock_names(configured.iter().map(|one| one.name.as_str())).await?;
                    let now = tx.now().await?;
                    for Configured { name, scope, budget_kind } in configured.iter() {
                        let before = tx.destination(name.as_str(), true).await?;
                        let paid_from = before.as_ref().and_then(|before| before.budget.as_ref()).map(Budget::kind);
                        let new_budget = budget_kind.filter(|kind| paid_from != Some(*kind));
                        if let (Some(kind), true) = (new_budget, before.is_some()) {
                            let last = before.as_ref().and_then(|before| before.shortage);
                            tx.budget_save(name.as_str(), &Budget::new(kind, &RetryNumbers::default()), last).await?;
                        }
                        if before.as_ref().is_some_and(|before| before.scope == *scope) {
                            continue;
                        }
                        let version = before.as_ref().map_or(0, |before| before.version) + 1;
                        let is_paused = before.as_ref().is_some_and(|before| before.is_paused);
                        let one = Destination {
                            name: name.clone(),
                            version,
                            scope: scope.clone(),
                            is_paused,
                            budget: None,
                            shortage: None,
                        };
                        tx.destination_save(&one, now).await?;
                        if let (Some(kind), None) = (new_budget, &before) {
                            tx.budget_save(name.as_str(), &Budget::new(kind, &RetryNumbers::default()), None).await?;
                        }
                        if before.is_some() {
                            for tool in tx.tools().await? {
                                if tool.destination.as_ref() == Some(name) {
                                    tx.refold_insert(&ids.new_id(now), "tool", tool.name.as_str(), now).await?;
                                }
                            }
                        }
                        let detail = serde_json::json!({ "version": version });
                        let note =
                            Note { verb: "configure_destination", subject: name.as_str(), status: "done", detail };
                        audit(tx, ids.as_ref(), now, &system_actor(), note).await?;
                    }
                    Ok(())
                })
            })
            .await?;
        self.finish_refolds().await?;
        Ok(())
    }

    /// Stops sending to a destination, or goes on. What is on its way is not stopped.
    pub async fn pause_destination(
        &self,
        by: &Actor,
        name: &DestinationName,
        is_paused: bool,
    ) -> Result<Destination, LedgerError> {
        self.permit(by, Permission::Administer, name.as_str()).await?;
        let (ids, by, name) = (self.ids(), by.clone(), name.clone());
        let paused = self.store().write(move |tx| {
            let (ids, by, name) = (Arc::clone(&ids), by.clone(), name.clone());
            Box::pin(async move {
                tx.lock_names([name.as_str()].into_iter()).await?;
                let now = tx.now().await?;
                let Some(before) = tx.destination(name.as_str(), true).await? else {
                    return Err(unknown("destination", name.as_str()));
                };
                let one = Destination { is_paused, ..before };
                tx.destination_save(&one, now).await?;
                let verb = if is_paused { "pause_destination" } else { "resume_destination" };
                let detail = serde_json::json!({});
                audit(tx, ids.as_ref(), now, &by, Note { verb, subject: name.as_str(), status: "done", detail })
                    .await?;
                Ok(one)
            })
        });
        let paused = paused.await?;
        self.note_change();
        Ok(paused)
    }

    /// What the budget of each destination keeps from being sent; refusals are counted since a time.
    pub async fn withheld(
        &self,
        by: &Actor,
        since: Timestamp,
    ) -> Result<BTreeMap<DestinationName, Withheld>, LedgerError> {
        self.permit(by, Permission::Read, "destinations").await?;
        self.store().read(move |tx| Box::pin(withheld(tx, since))).await
    }

    /// Every destination that a process was configured with, by name.
    pub async fn destinations(&self, by: &Actor) -> Result<Vec<Destination>, LedgerError> {
        self.permit(by, Permission::Read, "destinations").await?;
        self.store().read(|tx| Box::pin(tx.destinations())).await
    }
}

async fn withheld(tx: &mut Tx, since: Timestamp) -> Result<BTreeMap<DestinationName, Withheld>, LedgerError> {
    let now = tx.now().await?;
    let tools = tx.tools().await?;
    let mut all = BTreeMap::new();
    for Destination { name, .. } in tx.destinations().await? {
        let mut due = 0;
        for tool in tools.iter().filter(|tool| tool.destination.as_ref() == Some(&name)) {
            due += tx.retries_due(tool.name.as_str(), now, Withheld::COUNTED).await?;
        }
        let refused = tx.budget_refusals(name.as_str(), since, Withheld::COUNTED).await?;
        let newest = tx.budget_refusals_newest(name.as_str(), Withheld::NEWEST).await?;
        all.insert(name, Withheld { due: due.min(Withheld::COUNTED), refused, newest });
    }
    Ok(all)
}

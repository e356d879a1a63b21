//! What waits for an authorization, in the pages' words.

use tallystick_domain::view::approvals::{ApprovalsView, Waiting, approvals_view};
use tallystick_ledger::approvals::{Awaiting, REASONS};

use super::{Reader, told};
use crate::api::ApiError;

impl Reader {
    /// What waits for an authorization.
    pub async fn approvals(&self) -> Result<ApprovalsView, ApiError> {
        let approvals = self.ledger.approvals(&self.actor).await.map_err(told)?;
        let names = self.names().await;
        let lens = self.lens(approvals.now, &names);
        let waiting: Vec<Waiting<'_>> = approvals.rows.iter().map(waiting).collect();
        let count = |reason| approvals.counts.get(&reason).copied().unwrap_or(0);
        Ok(approvals_view(&waiting, count, &REASONS, approvals.sequence.to_string(), &lens))
    }
}

fn waiting(one: &Awaiting) -> Waiting<'_> {
    Waiting {
        reason: one.reason,
        record: &one.record,
        tool: one.tool.as_ref(),
        earlier: one.earlier.as_ref().map(|before| (before.key.as_str(), before.changes.as_deref())),
    }
}

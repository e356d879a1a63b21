//! One look-up: a read at the destination, and what it found.

use std::time::Duration;

use tallystick_domain::evidence::Claim;
use tallystick_domain::json::Json;
use tallystick_domain::look_up::{Answer, searched_by};
use tallystick_domain::request::Names;
use tallystick_ledger::LedgerError;
use tallystick_ledger::looking::ToLookUp;

use super::Shared;
use crate::destination::{Reply, send};

/// How long an answer is waited for.
const WITHIN: Duration = Duration::from_secs(10);

/// Takes look-ups that are due for tools that can be looked up from here.
pub(super) async fn take(shared: &Shared, room: u32) -> Result<Vec<ToLookUp>, LedgerError> {
    let tools = shared.tools(|tool| tool.look_up.is_some()).await?;
    if tools.is_empty() {
        return Ok(Vec::new());
    }
    shared.ledger.take_look_ups(&shared.actor, &tools, room).await
}

/// Asks, and records what was found.
pub(super) async fn carry_out(shared: &Shared, one: ToLookUp) {
    let id = one.operation.head.id.clone();
    let claims = find_out(shared, &one).await;
    if let Err(error) = shared.ledger.record_look_up(&shared.actor, &id, one.sent_at, claims).await {
        // It is due again when its minute is over.
        tracing::warn!(operation = %id, %error, "A look-up could not be recorded: {error}");
    }
}

async fn find_out(shared: &Shared, one: &ToLookUp) -> Vec<Claim> {
    let unavailable = || vec![Claim::Unavailable];
    let (Some(target), Some(template)) = (shared.target_of(&one.tool), &one.tool.look_up) else { return unavailable() };
    let Ok(arguments) = Json::parse(&one.arguments) else { return unavailable() };
    let names = Names {
        key: one.destination_key.as_ref(),
        operation_key: &one.operation.head.key,
        operation_id: &one.operation.head.id,
        receipt: one.receipt.as_ref(),
        arguments: &arguments,
        argument_bytes: &one.arguments,
    };
    let Ok(wire) = template.render(&names, &target.face) else { return unavailable() };
    match send(target, &wire, WITHIN).await {
        Reply::Answer { status, body, .. } => {
            let answer = Answer { status, body: &body };
            template.read(answer, &names, &one.tool.stake, searched_by(&one.tool.contract))
        }
        Reply::Failed { .. } => unavailable(),
    }
}

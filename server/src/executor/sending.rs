//! One operation from its claim to its outcome.

use std::time::Duration;

use tallystick_domain::attempt::{End, Phase, ReportedOutcome};
use tallystick_domain::json::Json;
use tallystick_domain::name::{LayerName, OperationId, SourceName};
use tallystick_domain::request::{Names, Wire};
use tallystick_domain::tool::Tool;
use tallystick_ledger::executing::{ClaimRequest, Claimed, DispatchRequest};
use tallystick_ledger::{LedgerError, failpoint};

use super::Shared;
use crate::destination::{Reading, Target, end_of, send};

/// How long an outcome that cannot be saved is tried to be saved again. Afterwards the operation is uncertain, as it is for
/// a process that died.
const SAVE_FOR: Duration = Duration::from_mins(10);
const SAVE_AGAIN: Duration = Duration::from_millis(500);

/// Claims what is due for the tools whose requests can be made and sent here.
pub(super) async fn take(shared: &Shared, room: u32) -> Result<Vec<Claimed>, LedgerError> {
    let tools = shared.tools(|tool| tool.request.is_some()).await?;
    if tools.is_empty() || !shared.ledger.has_claimable(&tools).await? {
        return Ok(Vec::new());
    }
    let worker = shared.worker.clone();
    let request = ClaimRequest { worker, tools, limit: room, lease: None, clock: None };
    shared.ledger.claim(&shared.actor, request).await
}

/// Dispatches, sends, and reports.
pub(super) async fn carry_out(shared: &Shared, claimed: Claimed) {
    let id = claimed.operation.head.id.clone();
    if let Err(error) = try_carry_out(shared, claimed).await {
        // Whatever was not done is found again by its lease's end; nothing is sent without a committed dispatch.
        tracing::warn!(operation = %id, %error, "An operation could not be carried on: {error}");
    }
}

async fn try_carry_out(shared: &Shared, claimed: Claimed) -> Result<(), LedgerError> {
    let id = &claimed.operation.head.id;
    let Some(target) = shared.target_of(&claimed.tool) else {
        let reason = "its destination is not configured here";
        shared.ledger.release_claim(&shared.actor, id, claimed.epoch, reason).await?;
        return Ok(());
    };
    let made = make_request(target, &claimed);
    failpoint::hit("before_dispatch").await;
    let request = DispatchRequest {
        epoch: claimed.epoch,
        worker: shared.worker.clone(),
        source: SourceName::own_executor(),
        layer: LayerName::parse("executor").ok(),
        wire: made.as_ref().ok().map(Wire::to_bytes),
        wire_hash: None,
    };
    let dispatched = match shared.ledger.dispatch(&shared.actor, id, request).await {
        Ok(dispatched) => dispatched,
        Err(LedgerError::Refused(refusal)) => {
            tracing::info!(operation = %id, "Not sent: {refusal}");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    failpoint::hit("after_dispatch").await;
    // The kept bytes go out, whatever the template would make today (J7).
    let kept = dispatched.wire.as_deref().map(Wire::from_bytes).transpose();
    let wire = match (kept, made) {
        (Ok(Some(wire)), _) => Ok(wire),
        (Err(error), _) => Err(error.to_string()),
        (Ok(None), Err(problem)) => Err(problem),
        (Ok(None), Ok(_)) => Err("the request was not kept".to_owned()),
    };
    let end = match wire {
        Err(problem) => not_made(&problem),
        Ok(wire) => {
            let within = Duration::from_micros(
                u64::try_from(dispatched.deadline.as_micros() - dispatched.now.as_micros()).unwrap_or(0),
            );
            let reply = send(target, &wire, within).await;
            failpoint::hit("after_response").await;
            let arguments = Json::parse(&claimed.arguments).unwrap_or(Json::Null);
            let Tool { contract, request, stake, .. } = &claimed.tool;
            end_of(&reply, &Reading { contract, template: request.as_ref(), arguments: &arguments, stake })
        }
    };
    save(shared, id, claimed.epoch, end).await?;
    failpoint::hit("after_save").await;
    Ok(())
}

/// E2: nothing was sent, because no request could be made.
fn not_made(problem: &str) -> End {
    End {
        phase: Some(Phase::Prepare),
        error: Some(problem.chars().take(200).collect()),
        bytes_sent: Some(0),
        ..End::new(ReportedOutcome::Error)
    }
}

fn make_request(target: &Target, claimed: &Claimed) -> Result<Wire, String> {
    let template = claimed.tool.request.as_ref().ok_or("the tool has no request")?;
    let arguments = Json::parse(&claimed.arguments).map_err(|error| error.to_string())?;
    let names = Names {
        key: claimed.destination_key.as_ref(),
        operation_key: &claimed.operation.head.key,
        operation_id: &claimed.operation.head.id,
        receipt: None,
        arguments: &arguments,
        argument_bytes: &claimed.arguments,
    };
    template.render(&claimed.tool.contract, &names, &target.face).map_err(|error| error.to_string())
}

/// The result must not be lost because the store is away for a moment.
async fn save(shared: &Shared, id: &OperationId, epoch: u64, end: End) -> Result<(), LedgerError> {
    let until = tokio::time::Instant::now() + SAVE_FOR;
    loop {
        let source = SourceName::own_executor();
        match shared.ledger.report_outcome(&shared.actor, id, epoch, &source, end.clone()).await {
            Ok(_) => return Ok(()),
            Err(LedgerError::StoreUnavailable { .. } | LedgerError::Contended)
                if tokio::time::Instant::now() < until =>
            {
                tokio::time::sleep(SAVE_AGAIN).await;
            }
            Err(error) => return Err(error),
        }
    }
}

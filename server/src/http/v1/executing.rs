//! Work for executors outside: claim, renew, release, dispatch, outcome, and evidence (semantics 4.6). The order of calls is
//! the whole of it: nothing is sent before `dispatches` has said so, and whatever came of it is said to `outcomes`.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tallystick_domain::attempt::End;
use tallystick_domain::evidence::{Claim, Evidence, LinkedBy};
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::{DestinationKey, LayerName, OperationId, SourceName, ToolName};
use tallystick_domain::permission::Actor;
use tallystick_domain::time::Timestamp;
use tallystick_domain::transition::Worker;
use tallystick_domain::verdict::Verdict;
use tallystick_ledger::executing::{ClaimRequest, Claimed, DispatchRequest, OutcomeAnswer};
use utoipa::ToSchema;

use super::document::OperationSummary;
use crate::auth::SignedIn;
use crate::http::body::read_json;
use crate::http::problem::{Answer, BAD_FIELD, INTERNAL, Problem};
use crate::state::AppState;

/// The longest that a claim waits for work.
const WAIT_LIMIT: Duration = Duration::from_secs(25);
/// How often a waiting claim looks though nobody said that something changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What `POST /claims` takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimBody {
    /// The worker's name, for people.
    worker: String,
    /// The process: a restart is another one.
    incarnation: String,
    /// For which tools.
    tools: Vec<String>,
    /// At most how many operations; 1 if nothing is said, 32 at most.
    #[serde(default)]
    limit: Option<u32>,
    /// For how long, in seconds; what the tool declares, if nothing is said.
    #[serde(default)]
    lease_s: Option<u64>,
    /// How long to wait for work, in seconds, 25 at most.
    #[serde(default)]
    wait_s: Option<u64>,
    /// The worker's own clock, RFC 3339; shown beside the record's and used for nothing.
    #[serde(default)]
    clock: Option<String>,
}

/// What `POST /claims` answers with.
#[derive(Serialize, ToSchema)]
pub struct ClaimsDocument {
    /// What the worker holds now; empty where there is no work.
    claims: Vec<ClaimDocument>,
    /// The record's clock.
    as_of: String,
}

/// One operation that a worker holds.
#[derive(Serialize, ToSchema)]
pub struct ClaimDocument {
    /// The operation.
    operation: OperationSummary,
    /// The lease; every later call names it.
    epoch: u64,
    /// Until when.
    lease_until: String,
    /// Which version of the arguments.
    args_version: u32,
    /// The arguments exactly as proposed.
    #[schema(value_type = Object)]
    arguments: Box<RawValue>,
    /// The key to send.
    destination_key: Option<String>,
    /// How long to wait for an answer, in seconds.
    client_deadline_s: u64,
}

/// Takes leases on operations that are due. Nothing is sent by this, and nothing may be sent under it alone.
#[utoipa::path(post, path = "/api/v1/claims", request_body = ClaimBody,
    responses((status = 200, body = ClaimsDocument), (status = 403, description = "The role does not admit it")))]
pub async fn claim(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<ClaimsDocument>> {
    let asked: ClaimBody = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let wait = Duration::from_secs(asked.wait_s.unwrap_or(0)).min(WAIT_LIMIT);
    let until = tokio::time::Instant::now() + wait;
    let tools = asked.tools.into_iter().map(ToolName::parse).collect::<Result<Vec<_>, _>>()?;
    let clock = asked.clock.map(|text| time(&text, "clock")).transpose()?;
    let request = ClaimRequest {
        worker: worker(asked.worker, asked.incarnation)?,
        tools,
        limit: asked.limit.unwrap_or(1),
        lease: asked.lease_s.map(Duration::from_secs),
        clock,
    };
    let (mut wake, mut ending) = (state.ledger.wake(), state.ending.clone());
    loop {
        wake.mark_unchanged();
        let claimed = state.ledger.claim(&actor, request.clone()).await?;
        if !claimed.is_empty() || tokio::time::Instant::now() >= until || *ending.borrow() {
            let claims = claimed.into_iter().map(claim_document).collect::<Answer<Vec<_>>>()?;
            return Ok(Json(ClaimsDocument { claims, as_of: state.ledger.now().await?.to_string() }));
        }
        // Looking is a read; only who finds something asks for the writer.
        loop {
            tokio::select! {
                _ = ending.changed() => break,
                () = tokio::time::sleep_until(until) => break,
                _ = tokio::time::timeout(LOOK_EVERY, wake.changed()) => {}
            }
            if state.ledger.has_claimable(&request.tools).await? {
                break;
            }
        }
    }
}

fn claim_document(claimed: Claimed) -> Answer<ClaimDocument> {
    let arguments = String::from_utf8(claimed.arguments).ok().and_then(|text| RawValue::from_string(text).ok());
    Ok(ClaimDocument {
        operation: OperationSummary::of_listed(&claimed.operation),
        epoch: claimed.epoch,
        lease_until: claimed.until.to_string(),
        args_version: claimed.args_version,
        arguments: arguments.ok_or_else(|| Problem::new(INTERNAL, "The kept arguments do not read as JSON."))?,
        destination_key: claimed.destination_key.map(|key| key.to_string()),
        client_deadline_s: claimed.tool.contract.client_deadline().as_secs(),
    })
}

/// What `POST /operations/{id}/lease` takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseBody {
    /// Which lease.
    epoch: u64,
    /// For how long from now, in seconds; what the tool declares, if nothing is said.
    #[serde(default)]
    lease_s: Option<u64>,
    /// Give it back instead, for this reason; only where nothing was sent under it.
    #[serde(default)]
    release: Option<String>,
}

/// A lease as it is now.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeaseDocument {
    /// Until when; nothing, if it was given back.
    lease_until: Option<String>,
}

/// Makes a lease longer, or gives it back with nothing sent.
#[utoipa::path(post, path = "/api/v1/operations/{id}/lease", request_body = LeaseBody,
    params(("id" = String, Path, description = "The operation's id")),
    responses((status = 200, body = LeaseDocument), (status = 409, description = "The lease is not in force")))]
pub async fn lease(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<LeaseDocument>> {
    let asked: LeaseBody = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let id = OperationId::parse(id)?;
    if let Some(reason) = asked.release {
        state.ledger.release_claim(&actor, &id, asked.epoch, &reason).await?;
        return Ok(Json(LeaseDocument { lease_until: None }));
    }
    let lease = asked.lease_s.map(Duration::from_secs);
    let until = state.ledger.renew_lease(&actor, &id, asked.epoch, lease).await?;
    Ok(Json(LeaseDocument { lease_until: Some(until.to_string()) }))
}

/// What `POST /operations/{id}/dispatches` takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DispatchBody {
    /// The lease.
    epoch: u64,
    /// The worker's name.
    worker: String,
    /// The process.
    incarnation: String,
    /// SHA-256 of the exact bytes that go out, in hex. Without it a repeat cannot be known to be the same request.
    #[serde(default)]
    wire_hash: Option<String>,
}

/// The answer "send, once".
#[derive(Debug, Serialize, ToSchema)]
pub struct DispatchDocument {
    /// Always true; where it may not be sent the answer is a problem that names the guards.
    send: bool,
    /// Which attempt this is.
    attempt: u32,
    /// When to stop waiting, by the record's clock.
    deadline: String,
    /// The key to send.
    destination_key: Option<String>,
    /// The record's clock.
    as_of: String,
}

/// The fenced write before the first byte. If the answer is a problem, or none arrives, nothing may be sent.
#[utoipa::path(post, path = "/api/v1/operations/{id}/dispatches", request_body = DispatchBody,
    params(("id" = String, Path, description = "The operation's id")),
    responses((status = 200, body = DispatchDocument), (status = 409, description = "It may not be sent; `failed_guards` says why")))]
pub async fn dispatch(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<DispatchDocument>> {
    let asked: DispatchBody = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let wire_hash = asked
        .wire_hash
        .map(|text| Hash::parse_hex(&text).ok_or_else(|| bad_field("wire_hash", "it is not a SHA-256 in hex")));
    let request = DispatchRequest {
        epoch: asked.epoch,
        worker: worker(asked.worker, asked.incarnation)?,
        source: source_of(&actor)?,
        layer: LayerName::parse(actor.name.as_str()).ok(),
        wire: None,
        wire_hash: wire_hash.transpose()?,
    };
    let sent = state.ledger.dispatch(&actor, &OperationId::parse(id)?, request).await?;
    Ok(Json(DispatchDocument {
        send: true,
        attempt: sent.attempt,
        deadline: sent.deadline.to_string(),
        destination_key: sent.destination_key.map(|key| key.to_string()),
        as_of: sent.now.to_string(),
    }))
}

/// What `POST /operations/{id}/outcomes` takes; beside the lease, what came of the send, in the words of `attempt.ended`.
#[derive(Debug, Deserialize, ToSchema)]
pub struct OutcomeBody {
    /// The lease.
    epoch: u64,
    /// `outcome`, and whatever is known: `http`, `error`, `receipt`, `phase`, `headers`, `bytes_sent` …
    #[serde(flatten)]
    #[schema(value_type = Object)]
    end: End,
}

/// What the record makes of an outcome.
#[derive(Debug, Serialize, ToSchema)]
pub struct OutcomeDocument {
    /// The state now.
    status: String,
    /// What this answer proves.
    verdict: Option<&'static str>,
    /// Whether the same operation may be claimed again by itself. Never a reason to send by oneself.
    retryable: bool,
    /// The operation's key.
    operation_key: String,
    /// What is recommended first.
    next_action: &'static str,
    /// How long until it may be claimed again, in milliseconds.
    retry_after_ms: Option<i64>,
}

/// Says what came of a send. The same again changes nothing; late is as good as in time.
#[utoipa::path(post, path = "/api/v1/operations/{id}/outcomes", request_body = OutcomeBody,
    params(("id" = String, Path, description = "The operation's id")),
    responses((status = 200, body = OutcomeDocument), (status = 422, description = "Nothing was dispatched under this lease")))]
pub async fn outcome(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<OutcomeDocument>> {
    let asked: OutcomeBody = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let (id, source) = (OperationId::parse(id)?, source_of(&actor)?);
    let answer = state.ledger.report_outcome(&actor, &id, asked.epoch, &source, asked.end).await?;
    Ok(Json(OutcomeDocument::from(answer)))
}

impl From<OutcomeAnswer> for OutcomeDocument {
    fn from(answer: OutcomeAnswer) -> Self {
        let wait = answer.retry_at.map(|at| (at.as_micros() - answer.now.as_micros()).max(0) / 1_000);
        Self {
            status: answer.operation.row.state.to_string(),
            verdict: answer.verdict.map(Verdict::word),
            retryable: wait.is_some(),
            operation_key: answer.operation.head.key.to_string(),
            next_action: answer.next_action.name(),
            retry_after_ms: wait,
        }
    }
}

/// What `POST /operations/{id}/evidence` takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceBody {
    /// Its identity: equal ids are one fact however often they arrive.
    id: String,
    /// `executed`, `reversed`, `absent`, `likely`, `unavailable` or `ambiguous`.
    claim: String,
    /// The destination's name for the object, for `executed` and `reversed`.
    #[serde(default)]
    receipt: Option<String>,
    /// `key`, `receipt`, `metadata` or `natural_key`.
    linked_by: LinkedByName,
    /// The key by which it was linked.
    #[serde(default)]
    key: Option<String>,
    /// When it happened by the destination's clock, RFC 3339.
    #[serde(default)]
    provider_time: Option<String>,
    /// When the look-up was sent, RFC 3339. Absence is judged at this time.
    #[serde(default)]
    sent_at: Option<String>,
}

/// How a fact was linked.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkedByName {
    /// By the key that was sent.
    Key,
    /// By the receipt.
    Receipt,
    /// By our id in the destination's metadata.
    Metadata,
    /// By business fields.
    NaturalKey,
}

/// Adds something that was found out elsewhere. How far it counts is the trust of its source, `executor/ID`.
#[utoipa::path(post, path = "/api/v1/operations/{id}/evidence", request_body = EvidenceBody,
    params(("id" = String, Path, description = "The operation's id")), responses((status = 200, body = OperationSummary)))]
pub async fn evidence(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<OperationSummary>> {
    let asked: EvidenceBody = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let receipt = asked.receipt.map(tallystick_domain::name::Receipt::parse).transpose()?;
    let named = |receipt: Option<_>| receipt.ok_or_else(|| bad_field("receipt", "this claim names an object"));
    let claim = match asked.claim.as_str() {
        "executed" => Claim::Executed { receipt: named(receipt)? },
        "reversed" => Claim::Reversed { receipt: named(receipt)? },
        "absent" => Claim::Absent,
        "likely" => Claim::Likely,
        "unavailable" => Claim::Unavailable,
        "ambiguous" => Claim::Ambiguous,
        _ => return Err(bad_field("claim", "it is none of those that can be told here")),
    };
    let now = state.ledger.now().await?;
    let evidence = Evidence {
        id: asked.id,
        source: source_of(&actor)?,
        claim,
        object: None,
        linked_by: match asked.linked_by {
            LinkedByName::Key => LinkedBy::Key,
            LinkedByName::Receipt => LinkedBy::Receipt,
            LinkedByName::Metadata => LinkedBy::Metadata,
            LinkedByName::NaturalKey => LinkedBy::NaturalKey,
        },
        key: asked.key.map(DestinationKey::parse).transpose()?,
        at: now,
        provider_time: asked.provider_time.map(|text| time(&text, "provider_time")).transpose()?,
        sent_at: asked.sent_at.map(|text| time(&text, "sent_at")).transpose()?,
    };
    let listed = state.ledger.add_evidence(&actor, &OperationId::parse(id)?, evidence).await?;
    Ok(Json(OperationSummary::of_listed(&listed)))
}

/// An executor outside is a source like any other: an administrator says how far it is believed.
fn source_of(actor: &Actor) -> Answer<SourceName> {
    Ok(SourceName::parse(format!("executor/{}", actor.id))?)
}

fn worker(name: String, incarnation: String) -> Answer<Worker> {
    for (field, text) in [("worker", &name), ("incarnation", &incarnation)] {
        tallystick_domain::name::check_name(field, text, 120)?;
    }
    Ok(Worker { name, incarnation })
}

fn time(text: &str, field: &'static str) -> Answer<Timestamp> {
    Timestamp::parse_rfc3339(text)
        .ok_or_else(|| bad_field(field, "it is not an RFC 3339 time such as 2026-10-05T09:00:00Z"))
}

fn bad_field(field: &str, problem: &str) -> Problem {
    Problem::new(BAD_FIELD, format!("{field}: {problem}. Nothing was done.")).with("field", field)
}

//! Work for executors, our own and others': claim, dispatch, outcome (semantics 4.6). Each is one commit; a stale epoch
//! changes nothing but evidence (I10). Nothing is sent here, and nothing is sent before the dispatch is committed.

use std::sync::Arc;
use std::time::Duration;

use tallystick_domain::action::Action;
use tallystick_domain::attempt::{AttemptRef, End, Report, ReportKind};
use tallystick_domain::budget::{Budget, BudgetKind, RetryNumbers, SendKind, Settled, Token};
use tallystick_domain::evidence::Evidence;
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::guard::{Guard, GuardResult};
use tallystick_domain::name::{DestinationKey, LayerName, OperationId, SourceName, SourceOperation, ToolName};
use tallystick_domain::operation::{Fact, Record};
use tallystick_domain::outcome::{self, Outcome, Surroundings};
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;
use tallystick_domain::transition::{Command, Sending, Worker, permit};
use tallystick_domain::verdict::Verdict;

use crate::desk::Desk;
use crate::failpoint;
use crate::operations::Listed;
use crate::people::unknown;
use crate::store::Tx;
use crate::store::line::KeyUse;
use crate::{Ledger, LedgerError};

/// The most operations that one claim takes.
pub const CLAIM_LIMIT: u32 = 32;
/// The longest lease that is given, and the shortest.
const LEASES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(10));

/// What a lease leaves beyond the deadline of the send, to save its outcome.
const TO_SAVE: Duration = Duration::from_secs(10);

/// What an executor asks for.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// Who asks.
    pub worker: Worker,
    /// For which tools.
    pub tools: Vec<ToolName>,
    /// At most how many operations; never more than [`CLAIM_LIMIT`].
    pub limit: u32,
    /// For how long; what the tool declares, where nothing is said.
    pub lease: Option<Duration>,
    /// The worker's own clock, to be shown beside the record's. It decides nothing (4.7).
    pub clock: Option<Timestamp>,
}

/// An operation that an executor holds.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The operation.
    pub operation: Listed,
    /// Its tool.
    pub tool: Tool,
    /// The lease; every later call names it.
    pub epoch: u64,
    /// Until when, unless renewed; exclusive.
    pub until: Timestamp,
    /// Which version of the arguments.
    pub args_version: u32,
    /// The arguments exactly as proposed.
    pub arguments: Vec<u8>,
    /// The key to send; none where an adopted operation had none.
    pub destination_key: Option<DestinationKey>,
}

/// What an executor brings to the moment before it sends.
#[derive(Debug, Clone)]
pub struct DispatchRequest {
    /// Its lease.
    pub epoch: u64,
    /// Who sends.
    pub worker: Worker,
    /// Who reports, as a source.
    pub source: SourceName,
    /// The layer that sends.
    pub layer: Option<LayerName>,
    /// The request, from our own executor. If one is kept already, that one goes out.
    pub wire: Option<Vec<u8>>,
    /// The hash of the request, from an executor that builds its own.
    pub wire_hash: Option<Hash>,
}

/// It may be sent now, once.
#[derive(Debug, Clone)]
pub struct Dispatched {
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// When the sender stops waiting.
    pub deadline: Timestamp,
    /// The record's clock at the commit.
    pub now: Timestamp,
    /// The key to send.
    pub destination_key: Option<DestinationKey>,
    /// The bytes to send, where they are kept here.
    pub wire: Option<Vec<u8>>,
}

/// What the record makes of an outcome.
#[derive(Debug, Clone)]
pub struct OutcomeAnswer {
    /// The operation as it is now.
    pub operation: Listed,
    /// What this attempt's answer proves.
    pub verdict: Option<Verdict>,
    /// What is recommended first.
    pub next_action: Action,
    /// From when on it may be claimed again, if time alone stands against it.
    pub retry_at: Option<Timestamp>,
    /// The record's clock.
    pub now: Timestamp,
}

/// A process that took work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenWorker {
    /// Its name.
    pub name: String,
    /// Which process it is.
    pub incarnation: String,
    /// When it last spoke, by the record's clock.
    pub seen_at: Timestamp,
    /// How far its own clock was ahead, where it told it.
    pub offset_micros: Option<i64>,
}

impl Ledger {
    /// Takes leases on operations that are due (T8, T17), what waits longest first. Spends nothing, sends nothing.
    pub async fn claim(&self, by: &Actor, request: ClaimRequest) -> Result<Vec<Claimed>, LedgerError> {
        self.permit(by, Permission::Execute, "claims").await?;
        let (by, request) = (by.clone(), Arc::new(request));
        let claimed = self.store().write(move |tx| {
            let (by, request) = (by.clone(), Arc::clone(&request));
            Box::pin(async move { claim(tx, &by, &request).await })
        });
        let claimed = claimed.await?;
        if !claimed.is_empty() {
            self.note_change();
        }
        Ok(claimed)
    }

    /// Whether anything could be claimed for these tools now: a read, for those who wait.
    pub async fn has_claimable(&self, tools: &[ToolName]) -> Result<bool, LedgerError> {
        let tools = Arc::new(tools.to_vec());
        self.store()
            .read(move |tx| {
                let tools = Arc::clone(&tools);
                Box::pin(async move {
                    let now = tx.now().await?;
                    Ok(!candidates(tx, &tools, 1, now).await?.is_empty())
                })
            })
            .await
    }

    /// Makes a lease longer, from now on for as long as it was first asked for. Answers with its new end.
    pub async fn renew_lease(
        &self,
        by: &Actor,
        id: &OperationId,
        epoch: u64,
        lease: Option<Duration>,
    ) -> Result<Timestamp, LedgerError> {
        self.permit(by, Permission::Execute, id.as_str()).await?;
        let (by, id) = (by.clone(), id.clone());
        let renewed = self.store().write(move |tx| {
            let (by, id) = (by.clone(), id.clone());
            Box::pin(async move {
                let mut desk = lay(tx, &by, &id).await?;
                let until = desk.now.plus(lease_of(lease, &desk.tool_of(&id).await?));
                let command = Command::Renew { epoch, until };
                desk.decide(&id, &command, "renew").await?.map_err(LedgerError::from)?;
                desk.save().await?;
                Ok(until)
            })
        });
        let until = renewed.await?;
        self.note_change();
        Ok(until)
    }

    /// Gives a lease back under which nothing was sent (T9).
    pub async fn release_claim(
        &self,
        by: &Actor,
        id: &OperationId,
        epoch: u64,
        reason: &str,
    ) -> Result<Listed, LedgerError> {
        self.permit(by, Permission::Execute, id.as_str()).await?;
        let (by, id, reason) = (by.clone(), id.clone(), reason.to_owned());
        let released = self.store().write(move |tx| {
            let (by, id, reason) = (by.clone(), id.clone(), reason.clone());
            Box::pin(async move {
                let mut desk = lay(tx, &by, &id).await?;
                release(&mut desk, &id, epoch, &reason).await??;
                let listed = desk.listed(&id)?;
                desk.save().await?;
                Ok(listed)
            })
        });
        let listed = released.await?;
        self.note_change();
        Ok(listed)
    }

    /// The fenced write before the first byte (T10): the rules are asked, the attempt is recorded, its token spent, in one
    /// commit. Refused, the lease is given back (T11) and nothing may be sent.
    pub async fn dispatch(
        &self,
        by: &Actor,
        id: &OperationId,
        request: DispatchRequest,
    ) -> Result<Dispatched, LedgerError> {
        self.permit(by, Permission::Execute, id.as_str()).await?;
        let (by, id, request) = (by.clone(), id.clone(), Arc::new(request));
        let answer = self.store().write(move |tx| {
            let (by, id, request) = (by.clone(), id.clone(), Arc::clone(&request));
            Box::pin(async move { dispatch(tx, &by, &id, &request).await })
        });
        let answer = answer.await?;
        self.note_change();
        answer.map_err(LedgerError::from)
    }

    /// What came of a send. Reported again it changes nothing; after the lease it is late evidence, and as true (E18).
    pub async fn report_outcome(
        &self,
        by: &Actor,
        id: &OperationId,
        epoch: u64,
        source: &SourceName,
        end: End,
    ) -> Result<OutcomeAnswer, LedgerError> {
        self.permit(by, Permission::Execute, id.as_str()).await?;
        let told = Arc::new((by.clone(), id.clone(), source.clone(), end));
        let answer = self.store().write(move |tx| {
            let told = Arc::clone(&told);
            Box::pin(async move {
                let (by, id, source, end) = told.as_ref();
                report_outcome(tx, by, id, epoch, source, end).await
            })
        });
        let answer = answer.await?;
        self.note_change();
        Ok(answer)
    }

    /// Something that was found out about an operation elsewhere: a receipt, a look-up of somebody else's.
    pub async fn add_evidence(&self, by: &Actor, id: &OperationId, evidence: Evidence) -> Result<Listed, LedgerError> {
        self.permit(by, Permission::Report, id.as_str()).await?;
        crate::tools::refuse_own(&evidence.source)?;
        let told = Arc::new((by.clone(), id.clone(), evidence));
        let answer = self.store().write(move |tx| {
            let told = Arc::clone(&told);
            Box::pin(async move {
                let (by, id, evidence) = told.as_ref();
                let now = tx.now().await?;
                tx.source_note(&evidence.source, by, now).await?;
                let mut desk = lay(tx, by, id).await?;
                desk.add_fact(id, Fact::Evidence(Evidence { at: now, ..evidence.clone() }))?;
                let decision = desk.decide_added(id, "evidence").await?;
                desk.refold(decision.refold).await?;
                desk.link_deliveries().await?;
                let listed = desk.listed(id)?;
                let tx = desk.save().await?;
                tx.sources_insert([(evidence.source.clone(), id.clone())].into_iter()).await?;
                Ok(listed)
            })
        });
        let listed = answer.await?;
        self.note_change();
        Ok(listed)
    }

    /// Processes that have sends without an end on record.
    pub async fn senders(&self) -> Result<Vec<String>, LedgerError> {
        self.store().read(|tx| Box::pin(tx.senders())).await
    }

    /// A process is proved to have ended, by something outside it (K6): its sends without an end cannot come any more.
    /// How many operations learnt of it.
    pub async fn sender_gone(&self, by: &Actor, incarnation: &str, proof: &str) -> Result<u32, LedgerError> {
        self.permit(by, Permission::Execute, incarnation).await?;
        let mut told = 0;
        loop {
            let (by, incarnation, proof) = (by.clone(), incarnation.to_owned(), proof.to_owned());
            let batch = self.store().write(move |tx| {
                let (by, incarnation, proof) = (by.clone(), incarnation.clone(), proof.clone());
                Box::pin(async move { gone_batch(tx, &by, &incarnation, &proof).await })
            });
            match batch.await? {
                0 => break,
                count => told += count,
            }
        }
        if told > 0 {
            self.note_change();
        }
        Ok(told)
    }

    /// Processes that took work, the last that spoke first.
    pub async fn workers(&self, by: &Actor) -> Result<Vec<SeenWorker>, LedgerError> {
        self.permit(by, Permission::Read, "workers").await?;
        self.store().read(|tx| Box::pin(tx.workers())).await
    }
}

async fn candidates(
    tx: &mut Tx,
    tools: &[ToolName],
    limit: u32,
    now: Timestamp,
) -> Result<Vec<OperationId>, LedgerError> {
    let mut found = Vec::new();
    for name in tools {
        let Some(tool) = tx.tool_find(name.as_str()).await? else { continue };
        let destination = match &tool.destination {
            Some(destination) => tx.destination(destination.as_str(), false).await?,
            None => None,
        };
        if !tool.executable || destination.as_ref().is_some_and(|destination| destination.is_paused) {
            continue;
        }
        let budget = destination.and_then(|destination| destination.budget);
        let may_repeat = budget.is_none_or(|budget| budget.pays_retry(now));
        found.extend(tx.claimable(name.as_str(), now, may_repeat, limit).await?);
        if found.len() >= limit as usize {
            break;
        }
    }
    found.truncate(limit as usize);
    Ok(found)
}

async fn claim(tx: &mut Tx, by: &Actor, request: &ClaimRequest) -> Result<Vec<Claimed>, LedgerError> {
    let now = tx.now().await?;
    let limit = request.limit.clamp(1, CLAIM_LIMIT);
    let found = candidates(tx, &request.tools, limit, now).await?;
    let Worker { name, incarnation } = request.worker.clone();
    let offset_micros = request.clock.map(|clock| clock.as_micros() - now.as_micros());
    if !found.is_empty() || offset_micros.is_some() {
        tx.worker_see(&SeenWorker { name, incarnation, seen_at: now, offset_micros }).await?;
    }
    let mut desk = Desk::open(tx, now, by).await?;
    desk.lay(&found).await?;
    desk.lay_sharers(&found).await?;
    let (mut held, mut touched) = (Vec::new(), Vec::new());
    for id in found {
        let tool = desk.tool_of(&id).await?;
        let lease = lease_of(request.lease, &tool);
        let command = Command::Claim { worker: request.worker.clone(), lease };
        match desk.decide(&id, &command, "claim").await? {
            Ok(decision) => {
                touched.extend(decision.refold);
                held.push((id, tool));
            }
            // The row said otherwise; what it says is made again.
            Err(_) => touched.push(id),
        }
    }
    desk.refold(touched).await?;
    let mut claimed = Vec::with_capacity(held.len());
    for (id, tool) in held {
        claimed.extend(claimed_one(&mut desk, id, tool).await?);
    }
    desk.save().await?;
    Ok(claimed)
}

async fn claimed_one(desk: &mut Desk<'_>, id: OperationId, tool: Tool) -> Result<Option<Claimed>, LedgerError> {
    let relatives = desk.around(&id).await?.relatives;
    let arguments = desk.arguments_in_force(&id, i64::MAX).await?.unwrap_or_default();
    let record = &desk.sheet(&id)?.record;
    let Some(lease) = record.live_lease(desk.now) else { return Ok(None) };
    Ok(Some(Claimed {
        epoch: lease.claim.epoch,
        until: lease.until,
        args_version: record.args_version(),
        destination_key: record.destination_key(&relatives),
        operation: desk.listed(&id)?,
        tool,
        arguments,
    }))
}

/// The answer inside is committed (a refusal gives the lease back), and only then returned.
async fn dispatch(
    tx: &mut Tx,
    by: &Actor,
    id: &OperationId,
    request: &DispatchRequest,
) -> Result<Result<Dispatched, Refusal>, LedgerError> {
    let mut desk = lay(tx, by, id).await?;
    let now = desk.now;
    let around = desk.around(id).await?;
    let record = desk.sheet(id)?.record.clone();
    let folded = outcome::fold(&record, &around, now);
    let allowed = match permit(&record, &around, &folded, request.epoch, now) {
        Ok(allowed) => allowed,
        Err(checked) => return refused(desk, id, request.epoch, checked.failed()).await,
    };
    let args_version = record.args_version();
    // A request is kept by the dispatch that first sends it, so before that there is none.
    let was_sent = record.reports().any(|report| matches!(report.kind, ReportKind::Dispatched(_)));
    let kept = if was_sent { desk.tx.wire(id.as_str(), args_version).await? } else { None };
    let wire = kept.as_ref().map(|(bytes, _)| bytes.clone()).or_else(|| request.wire.clone());
    let wire_hash = match (&kept, &request.wire) {
        (Some((_, hash)), _) => Some(*hash),
        (None, Some(bytes)) => Some(Hash::of(bytes)),
        (None, None) => request.wire_hash,
    };
    let kind = send_kind(&folded);
    let paid = match pay(&mut desk, &around, &folded, kind).await? {
        Ok(paid) => paid,
        Err(guard) => {
            if let Some(name) = &around.tool.destination {
                desk.tx.budget_refusal_insert(name.as_str(), id, request.epoch, &guard.because).await?;
            }
            return refused(desk, id, request.epoch, vec![guard]).await;
        }
    };
    let destination_key = record.destination_key(&around.relatives);
    let sending = Sending {
        permit: allowed,
        worker: request.worker.clone(),
        source: request.source.clone(),
        layer: request.layer.clone(),
        wire_hash,
        scope: around.scope.clone(),
    };
    let decision = match desk.decide(id, &Command::Dispatch(Box::new(sending)), "dispatch").await? {
        Ok(decision) => decision,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let Some((attempt, deadline)) = decision.facts.iter().find_map(dispatched) else {
        return Err(LedgerError::Corrupt { what: format!("the dispatch of {id} made no attempt") });
    };
    desk.refold(decision.refold).await?;
    let destination = around.tool.destination.as_ref().or(record.head.destination.as_ref());
    let destination = destination.map(|name| name.as_str().to_owned());
    let tx = desk.save().await?;
    if let (None, Some(bytes), Some(hash)) = (&kept, &wire, wire_hash) {
        tx.wire_insert(id.as_str(), args_version, bytes.clone(), hash, now).await?;
    }
    let incarnation = &request.worker.incarnation;
    tx.sending_insert(id.as_str(), request.epoch, incarnation, destination.as_deref(), paid.as_ref(), now).await?;
    if let Some(key) = &destination_key {
        let destination = destination.unwrap_or_default();
        let key_use = KeyUse { key: key.as_str().to_owned(), op_id: id.clone(), destination };
        tx.key_uses_insert(&[key_use], now).await?;
    }
    tx.sources_insert([(request.source.clone(), id.clone())].into_iter()).await?;
    Ok(Ok(Dispatched { attempt, deadline, now, destination_key, wire }))
}

fn dispatched(fact: &Fact) -> Option<(u32, Timestamp)> {
    match fact {
        Fact::Report(Report { number, kind: ReportKind::Dispatched(sent), .. }) => {
            Some((number.unwrap_or(1), sent.deadline))
        }
        _ => None,
    }
}

/// What this send is to the budget.
fn send_kind(folded: &Outcome) -> SendKind {
    match folded.attempts.iter().rev().find(|attempt| attempt.sent.is_some()) {
        None => SendKind::First,
        Some(last) if last.judgement.rule == "E32" => SendKind::RetryAfterThrottling,
        Some(_) => SendKind::Retry,
    }
}

/// Spends a token of the destination's budget, in this commit (I37). A first send costs a bucket nothing, so that first
/// sends to one destination need not wait for one another.
async fn pay(
    desk: &mut Desk<'_>,
    around: &Surroundings,
    folded: &Outcome,
    kind: SendKind,
) -> Result<Result<Option<Token>, GuardResult>, LedgerError> {
    let Some(name) = &around.tool.destination else { return Ok(Ok(None)) };
    let Some(seen) = desk.tx.destination(name.as_str(), false).await? else { return Ok(Ok(None)) };
    // One kind a destination: once there is a budget, no tool changes what it is.
    let kind_of_budget = seen.budget.as_ref().map_or_else(|| folded.contract.budget_kind(), Budget::kind);
    let is_free = kind.is_first() && kind_of_budget == BudgetKind::Bucket;
    // Read again under a lock where it is to be written.
    let found = if is_free { Some(seen) } else { desk.tx.destination(name.as_str(), true).await? };
    let (budget, shortage) = found.map_or((None, None), |found| (found.budget, found.shortage));
    let mut budget = budget.unwrap_or_else(|| Budget::new(kind_of_budget, &RetryNumbers::default()));
    let spent = budget.spend(kind, desk.now);
    // Also where nothing was spent: that it paid for nothing is noted now at the latest.
    if !is_free {
        desk.tx.budget_save(name.as_str(), &budget, shortage).await?;
    }
    Ok(spent.map(Some).map_err(|exhausted| GuardResult {
        guard: Guard::TokensLeft,
        holds: false,
        because: exhausted.to_string(),
    }))
}

/// T11: the lease is given back with the guards that refused, unless it was not this worker's any more.
async fn refused(
    mut desk: Desk<'_>,
    id: &OperationId,
    epoch: u64,
    failed: Vec<GuardResult>,
) -> Result<Result<Dispatched, Refusal>, LedgerError> {
    let refusal = Refusal::GuardsFailed { transition: "T10".into(), failed };
    if release(&mut desk, id, epoch, &refusal.to_string()).await?.is_ok() {
        desk.save().await?;
    }
    Ok(Err(refusal))
}

async fn release(
    desk: &mut Desk<'_>,
    id: &OperationId,
    epoch: u64,
    reason: &str,
) -> Result<Result<(), Refusal>, LedgerError> {
    let reason: String = reason.chars().take(1_000).collect();
    match desk.decide(id, &Command::Release { epoch, reason }, "release").await? {
        Ok(decision) => {
            desk.refold(decision.refold).await?;
            Ok(Ok(()))
        }
        Err(refusal) => Ok(Err(refusal)),
    }
}

async fn report_outcome(
    tx: &mut Tx,
    by: &Actor,
    id: &OperationId,
    epoch: u64,
    source: &SourceName,
    end: &End,
) -> Result<OutcomeAnswer, LedgerError> {
    let mut desk = lay(tx, by, id).await?;
    let now = desk.now;
    let attempt = AttemptRef::guarded(SourceOperation::from(id.clone()), epoch);
    let record = &desk.sheet(id)?.record;
    let Some(sent) =
        record.reports().find(|report| report.attempt == attempt && matches!(report.kind, ReportKind::Dispatched(_)))
    else {
        // I10. Whoever sent all the same knows something true, and has a way to say it.
        let problem = format!(
            "nothing was dispatched under lease {epoch}; an outcome belongs to a send. If something was sent without it, report the receipt as evidence of the operation"
        );
        return Err(Refusal::BadField { field: "epoch".into(), problem }.into());
    };
    let told = record.reports().any(|report| {
        report.attempt == attempt && report.source == *source && report.kind == ReportKind::Ended(end.clone())
    });
    if !told {
        let report = Report { at: now, source: source.clone(), kind: ReportKind::Ended(end.clone()), ..sent.clone() };
        desk.add_fact(id, Fact::Report(report))?;
        let decision = desk.decide_added(id, "outcome").await?;
        desk.refold(decision.refold).await?;
    }
    // Before it is answered what is to be done next.
    desk.link_deliveries().await?;
    let around = desk.around(id).await?;
    let folded = outcome::fold(&desk.sheet(id)?.record, &around, now);
    let judged = folded.attempts.iter().find(|judged| judged.id == attempt);
    let verdict = judged.map(|judged| judged.judgement.verdict);
    let operation = desk.listed(id)?;
    let tx = desk.save().await?;
    settle(tx, id, epoch, verdict).await?;
    if failpoint::IS_BUILT {
        // The point stands between a write and the commit.
        tx.send_waiting().await?;
    }
    failpoint::hit("during_save").await;
    let (next_action, retry_at) = (operation.row.recommended, operation.row.claim_at);
    Ok(OutcomeAnswer { operation, verdict, next_action, retry_at, now })
}

/// Gives the token back, or keeps it, once (I37).
async fn settle(tx: &mut Tx, id: &OperationId, epoch: u64, verdict: Option<Verdict>) -> Result<(), LedgerError> {
    let Some(unended) = tx.sending_end(id.as_str(), epoch).await? else { return Ok(()) };
    let (Some(name), Some(token), Some(verdict)) = (unended.destination, unended.token, verdict) else { return Ok(()) };
    let settled = Settled::from(verdict);
    if settled == Settled::Kept {
        return Ok(());
    }
    let Some(destination) = tx.destination(&name, true).await? else { return Ok(()) };
    let Some(before) = destination.budget else { return Ok(()) };
    let mut budget = before.clone();
    budget.give_back(token, settled);
    // A full bucket stays as it is: nothing to write, and nobody to wait for.
    if budget == before { Ok(()) } else { tx.budget_save(&name, &budget, destination.shortage).await }
}

async fn gone_batch(tx: &mut Tx, by: &Actor, incarnation: &str, proof: &str) -> Result<u32, LedgerError> {
    let ids = tx.sent_by(incarnation, 50).await?;
    let now = tx.now().await?;
    let mut desk = Desk::open(tx, now, by).await?;
    desk.lay(&ids).await?;
    desk.lay_sharers(&ids).await?;
    let mut touched = Vec::new();
    for id in &ids {
        if desk.has(id) && !desk.sheet(id)?.record.is_gone(incarnation) {
            let fact = Fact::SenderGone { incarnation: incarnation.into(), at: now, proof: proof.into() };
            desk.add_fact(id, fact)?;
            touched.extend(desk.decide_added(id, "sender_gone").await?.refold);
        }
    }
    desk.refold(touched).await?;
    let tx = desk.save().await?;
    for id in &ids {
        tx.sent_by_end(incarnation, id.as_str()).await?;
    }
    Ok(u32::try_from(ids.len()).unwrap_or(u32::MAX))
}

/// One operation with all that decides upon it.
pub(crate) async fn lay<'t>(tx: &'t mut Tx, by: &'t Actor, id: &OperationId) -> Result<Desk<'t>, LedgerError> {
    let now = tx.now().await?;
    let mut desk = Desk::open(tx, now, by).await?;
    desk.lay(std::slice::from_ref(id)).await?;
    if !desk.has(id) {
        return Err(unknown("operation", id.as_str()));
    }
    desk.lay_sharers(std::slice::from_ref(id)).await?;
    Ok(desk)
}

/// As asked; else as the tool declares, and long enough to send and to save what came of it.
fn lease_of(asked: Option<Duration>, tool: &Tool) -> Duration {
    let declared = || tool.contract.lease().max(tool.contract.client_deadline().saturating_add(TO_SAVE));
    asked.unwrap_or_else(declared).clamp(LEASES.0, LEASES.1)
}

impl Desk<'_> {
    async fn tool_of(&mut self, id: &OperationId) -> Result<Tool, LedgerError> {
        let name = self.sheet(id)?.record.head.tool.clone();
        self.tool(name.as_ref()).await
    }

    pub(crate) fn listed(&self, id: &OperationId) -> Result<Listed, LedgerError> {
        let Record { head, version, row, .. } = &self.sheet(id)?.record;
        let row = row.clone().ok_or_else(|| LedgerError::Corrupt { what: format!("operation {id} has no row") })?;
        Ok(Listed { head: head.clone(), version: *version, row })
    }
}

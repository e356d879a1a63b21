//! Proposing guarded operations (T1): one operation key, one operation.

use std::sync::Arc;

use tallystick_domain::evidence::Evidence;
use tallystick_domain::fingerprint::Json;
use tallystick_domain::intake::{Line, Proposed, Says, intent_hash, proposal_fact, same_intent_question};
use tallystick_domain::name::{
    DestinationName, IntentId, OperationId, OperationKey, SourceName, SourceOperation, WorkflowName,
};
use tallystick_domain::operation::{Fact, Head, Mode, Proposal};
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::sums::Repeat;
use tallystick_domain::tool::Tool;
use tallystick_domain::workflow::Place;

use crate::desk::Desk;
use crate::operations::{NewProposal, NewStep, ProposalAnswer};
use crate::people::unknown;
use crate::port::Ids;
use crate::store::Tx;
use crate::store::line::{KeptArguments, Standing};
use crate::{Ledger, LedgerError};

/// The most bytes that arguments may have.
pub(crate) const ARGUMENTS_LIMIT_BYTES: usize = 8 * 1024 * 1024;
/// The most steps of one workflow.
const STEPS_LIMIT: usize = 100;
/// How many operations of equal intent fields are looked at at a time, until one is found that was not stopped.
const INTENT_CANDIDATES: i64 = 8;
/// What our own API is called where facts name their source.
const API: &str = "api";

impl Ledger {
    /// Proposes a guarded operation (T1). Same key and arguments: the operation that is there. Same key,
    /// other arguments: [`Refusal::OperationKeyConflict`], and the conflicting proposal is kept.
    pub async fn propose_operation(&self, by: &Actor, new: NewProposal) -> Result<ProposalAnswer, LedgerError> {
        self.permit(by, Permission::Propose, new.key.as_str()).await?;
        let arguments = read_arguments(&new.arguments)?;
        let asked = Arc::new(Asked { by: by.clone(), arguments, new });
        let ids = self.ids();
        let answer = self.store().write(move |tx| {
            let (ids, asked) = (Arc::clone(&ids), Arc::clone(&asked));
            Box::pin(async move { propose(tx, ids.as_ref(), &asked).await })
        });
        let answer = answer.await?;
        self.note_change();
        answer.map_err(LedgerError::from)
    }
}

struct Asked {
    by: Actor,
    arguments: Json,
    new: NewProposal,
}

fn read_arguments(bytes: &[u8]) -> Result<Json, Refusal> {
    let bad = |problem: String| Refusal::BadField { field: "arguments".into(), problem };
    if bytes.len() > ARGUMENTS_LIMIT_BYTES {
        return Err(bad(format!("have {} bytes; the limit is {ARGUMENTS_LIMIT_BYTES}", bytes.len())));
    }
    match Json::parse(bytes) {
        Ok(json @ Json::Object(_)) => Ok(json),
        Ok(other) => Err(bad(format!("must be an object, not {}", other.kind()))),
        Err(error) => Err(bad(error.to_string())),
    }
}

/// The inner error is committed with what it leaves (a kept conflict), and only then returned.
async fn propose(tx: &mut Tx, ids: &dyn Ids, asked: &Asked) -> Result<Result<ProposalAnswer, Refusal>, LedgerError> {
    let key = asked.new.key.as_str();
    let Some(tool) = tx.tool_find(asked.new.tool.as_str()).await? else {
        return Err(unknown("tool", asked.new.tool.as_str()));
    };
    // With the key, so that of two keys for one intent the second proposal finds the first (4.4.3).
    let intent = intent_hash(tool.class, &tool.contract, &asked.arguments).map(|hash| format!("intent {hash}"));
    tx.lock_names([key].into_iter().chain(intent.as_deref())).await?;
    let now = tx.now().await?;
    let known = tx.operation_ids_by_key(&[key]).await?.remove(key);
    let mut desk = Desk::open(tx, now, &asked.by).await?;
    if let Some(id) = known {
        let answer = propose_again(desk, id, &tool, asked).await?;
        if answer.as_ref().is_ok_and(|answer| answer.replayed) {
            tx.note_repeat(&ids.new_id(now), Repeat::Proposal, now).await?;
        }
        return Ok(answer);
    }
    let id = OperationId::parse(ids.new_id(now)).map_err(corrupt)?;
    desk.put_new(head(&id, &tool, asked, now));
    if let Some(NewStep { workflow, place }) = &asked.new.step
        && let Some(refusal) = misplaced(&mut desk, workflow, place).await?
    {
        return Ok(Err(refusal));
    }
    propose_first(desk, id, &tool, asked).await.map(Ok)
}

/// Why a step cannot have this place: its workflow would not be one.
async fn misplaced(
    desk: &mut Desk<'_>,
    workflow: &WorkflowName,
    place: &Place,
) -> Result<Option<Refusal>, LedgerError> {
    let bad = |problem: String| Some(Refusal::BadField { field: "step".into(), problem });
    if place.number == 0 {
        return Ok(bad("steps are numbered from 1".into()));
    }
    let gathered = desk.workflow(workflow.as_str()).await?;
    Ok(match gathered {
        Err(misbuilt) => bad(misbuilt.to_string()),
        Ok(gathered) if gathered.steps().len() > STEPS_LIMIT => {
            bad(format!("{workflow} has {STEPS_LIMIT} steps; that is the limit"))
        }
        Ok(_) => None,
    })
}

async fn propose_first(
    mut desk: Desk<'_>,
    id: OperationId,
    tool: &Tool,
    asked: &Asked,
) -> Result<ProposalAnswer, LedgerError> {
    let fact = fact(&desk, &id, None, tool, asked)?;
    let kept = match &fact {
        Fact::Proposed(Proposal { arguments: Some(hashes), .. }) => Some(KeptArguments {
            op_id: id.clone(),
            version: 1,
            standing: Standing::Recorded,
            bytes: asked.new.arguments.clone(),
            hashes: hashes.clone(),
        }),
        _ => None,
    };
    desk.add_fact(&id, fact)?;
    ask_same_intent(&mut desk, &id).await?;
    let source = api_source()?;
    for (source, evidence) in waiting_evidence(&mut desk, &asked.new.key).await? {
        desk.add_fact(&id, Fact::Evidence(evidence))?;
        desk.tx.sources_insert([(source, id.clone())].into_iter()).await?;
    }
    let decision = desk.decide_added(&id, "propose").await?;
    desk.refold(decision.refold).await?;
    let operation = desk.listed(&id)?;
    let now = desk.now;
    let tx = desk.save().await?;
    tx.arguments_insert(kept.into_iter().collect(), now).await?;
    tx.sources_insert([(source, id)].into_iter()).await?;
    Ok(ProposalAnswer { operation, replayed: false })
}

/// 4.4.3: asks about another operation with equal intent fields under another key.
async fn ask_same_intent(desk: &mut Desk<'_>, id: &OperationId) -> Result<(), LedgerError> {
    let arguments = desk.sheet(id)?.record.arguments();
    let Some(hash) = arguments.and_then(|arguments| arguments.intent_hash) else { return Ok(()) };
    let mut before = id.clone();
    loop {
        let candidates = desk.tx.operation_ids_by_intent_hash(hash, &before, INTENT_CANDIDATES).await?;
        let Some(last) = candidates.last() else { return Ok(()) };
        before = last.clone();
        desk.lay_alone(&candidates).await?;
        let others = candidates.iter().filter_map(|other| desk.sheet(other).ok()).map(|sheet| &sheet.record);
        if let Some(question) = same_intent_question(&desk.sheet(id)?.record, others, desk.now) {
            desk.add_fact(id, question)?;
            return Ok(());
        }
    }
}

async fn propose_again(
    mut desk: Desk<'_>,
    id: OperationId,
    tool: &Tool,
    asked: &Asked,
) -> Result<Result<ProposalAnswer, Refusal>, LedgerError> {
    desk.lay(std::slice::from_ref(&id)).await?;
    let operation = desk.listed(&id)?;
    if operation.head.mode == Mode::Observed {
        return Ok(Err(Refusal::ObservedOperation { operation_id: id.to_string() }));
    }
    let place = asked.new.step.as_ref().map(|step| (Some(step.workflow.as_str()), Some(&step.place)));
    if place.is_some_and(|told| told != (operation.head.workflow.as_deref(), operation.head.step.as_ref())) {
        let problem = "the operation is there with another place; a place does not change".into();
        return Ok(Err(Refusal::BadField { field: "step".into(), problem }));
    }
    let stored = desk.arguments_in_force(&id, i64::MAX).await?;
    let stored = stored.and_then(|bytes| Json::parse(&bytes).ok());
    let fact = fact(&desk, &id, stored.as_ref(), tool, asked)?;
    // T1: another tool or destination under the same key is another operation, whatever the arguments say.
    let is_other_tool = operation.head.tool.as_ref() != Some(&asked.new.tool);
    let (proposal, changes) = match fact {
        Fact::Conflict { proposal, changes } => (proposal, changes),
        Fact::Proposed(proposal) if is_other_tool => (proposal, Vec::new()),
        _ => return Ok(Ok(ProposalAnswer { operation, replayed: true })),
    };
    let hashes = proposal.arguments.clone();
    let refusal = Refusal::OperationKeyConflict { operation_id: id.to_string(), changes: changes.clone() };
    let facts = &desk.sheet(&id)?.record.facts;
    let mut conflicts =
        facts.iter().filter_map(|fact| if let Fact::Conflict { proposal, .. } = fact { Some(proposal) } else { None });
    if conflicts.any(|other| other.arguments == hashes && other.by == proposal.by) {
        return Ok(Err(refusal));
    }
    let version = desk.tx.arguments_next_version(id.as_str()).await?;
    desk.lay_sharers(std::slice::from_ref(&id)).await?;
    desk.add_fact(&id, Fact::Conflict { proposal, changes })?;
    let decision = desk.decide_added(&id, "propose").await?;
    desk.refold(decision.refold).await?;
    let now = desk.now;
    let tx = desk.save().await?;
    let bytes = asked.new.arguments.clone();
    let kept = hashes.map(|hashes| KeptArguments { op_id: id, version, standing: Standing::Conflict, bytes, hashes });
    tx.arguments_insert(kept.into_iter().collect(), now).await?;
    Ok(Err(refusal))
}

fn head(id: &OperationId, tool: &Tool, asked: &Asked, now: tallystick_domain::time::Timestamp) -> Head {
    let destination: Option<DestinationName> = tool.destination.clone();
    Head {
        id: id.clone(),
        mode: Mode::Guarded,
        intent_id: IntentId::from(id.clone()),
        key: asked.new.key.clone(),
        key_given: true,
        tool: Some(asked.new.tool.clone()),
        destination,
        adopts: None,
        retries_of: None,
        supersedes: None,
        compensates: None,
        workflow: asked.new.step.as_ref().map(|step| step.workflow.to_string()),
        step: asked.new.step.as_ref().map(|step| step.place.clone()),
        recorded_at: now,
    }
}

/// What the proposal is on this operation, with who proposed it.
fn fact(
    desk: &Desk<'_>,
    id: &OperationId,
    stored: Option<&Json>,
    tool: &Tool,
    asked: &Asked,
) -> Result<Fact, LedgerError> {
    let proposed = Proposed {
        arguments: Some((asked.new.arguments.clone(), asked.arguments.clone())),
        contract: None,
        deadline: asked.new.deadline,
        tool_call_id: asked.new.tool_call_id.clone(),
    };
    let name = SourceOperation::parse(asked.new.key.as_str()).map_err(corrupt)?;
    let record = &desk.sheet(id)?.record;
    let mut fact = proposal_fact(record, stored, tool, &proposed, desk.now, &api_source()?, &name);
    if let Fact::Proposed(proposal) | Fact::Conflict { proposal, .. } = &mut fact {
        proposal.by = Some(asked.by.id.clone());
    }
    Ok(fact)
}

/// Deliveries that came before the operation they name.
async fn waiting_evidence(desk: &mut Desk<'_>, key: &OperationKey) -> Result<Vec<(SourceName, Evidence)>, LedgerError> {
    let lines = desk.tx.lines_by_link_key(&[key.as_str()]).await?;
    let evidence = lines.into_iter().filter_map(|line| match Line::parse(&line.bytes, &line.source) {
        Ok(Line { says: Says::Delivery { evidence: Some(evidence), .. }, .. }) => Some((line.source, evidence)),
        _ => None,
    });
    Ok(evidence.collect())
}

fn api_source() -> Result<SourceName, LedgerError> {
    SourceName::parse(API).map_err(corrupt)
}

fn corrupt(what: impl std::fmt::Display) -> LedgerError {
    LedgerError::Corrupt { what: what.to_string() }
}

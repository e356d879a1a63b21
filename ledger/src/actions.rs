//! Operator actions: keyed, versioned, answered once.

use std::sync::Arc;

use tallystick_domain::action::{Act, Action};
use tallystick_domain::bulk::KEY_PREFIX;
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::{ActionKey, OperationId};
use tallystick_domain::operation::State;
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;
use tallystick_domain::transition::{ActOutcome, Command, Decision};

use crate::audit::{Note, audit};
use crate::desk::Desk;
use crate::operations::Page;
use crate::people::unknown;
use crate::port::Ids;
use crate::store::Tx;
use crate::store::action::StoredAction;
use crate::store::line::{KeptArguments, Standing};
use crate::store::list::page_size;
use crate::store::value::to_json;
use crate::{Ledger, LedgerError};

/// How far an action has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionStatus {
    /// Refused; nothing was done.
    Refused,
    /// Recorded; a second person must complete it.
    AwaitsSecondPerson,
    /// A second person declined it.
    Declined,
    /// Done.
    Done,
}

impl ActionStatus {
    const ALL: [Self; 4] = [Self::Refused, Self::AwaitsSecondPerson, Self::Declined, Self::Done];

    /// Its name in bodies and the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::AwaitsSecondPerson => "awaits_second_person",
            Self::Declined => "declined",
            Self::Done => "done",
        }
    }

    /// The status with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

impl From<ActOutcome> for ActionStatus {
    fn from(outcome: ActOutcome) -> Self {
        match outcome {
            ActOutcome::Done => Self::Done,
            ActOutcome::AwaitsSecondPerson => Self::AwaitsSecondPerson,
            ActOutcome::Declined => Self::Declined,
        }
    }
}

/// One row of the audit log.
#[derive(Debug, Clone)]
pub struct ActionRecord {
    /// The action's key.
    pub key: ActionKey,
    /// On which operation.
    pub operation_id: OperationId,
    /// That operation's key, for reading.
    pub operation_key: String,
    /// What was asked, with its input.
    pub act: Act,
    /// How far it has come.
    pub status: ActionStatus,
    /// Who completed or declined it, under dual control.
    pub second: Option<Actor>,
    /// Why it was refused.
    pub refusal: Option<Refusal>,
    /// When it was asked.
    pub at: Timestamp,
    /// When it was settled.
    pub settled_at: Option<Timestamp>,
    /// The state before and after.
    pub from: Option<State>,
    /// The state after.
    pub to: Option<State>,
    /// The version that it made.
    pub made_version: Option<u64>,
    /// The operation that it made (adopting).
    pub created: Option<OperationId>,
}

/// The answer to a press.
#[derive(Debug, Clone)]
pub struct ActionAnswer {
    /// The row as stored.
    pub record: ActionRecord,
    /// Whether it was there already: same key, same content.
    pub already_recorded: bool,
}

impl Ledger {
    /// Makes an action. The same key with the same content gives the stored answer; with other content
    /// [`Refusal::ActionKeyReused`]. A refusal is recorded too (with the reason typed) and returned as an
    /// answer whose status is `Refused`; `Err` is for failures of the store and for unknown operations.
    pub async fn act(&self, id: &OperationId, act: Act) -> Result<ActionAnswer, LedgerError> {
        self.press(press_of(id, act)?).await
    }

    /// Completes a dual action as the second person. `key` is this press's own key.
    pub async fn complete_action(
        &self,
        second: &Actor,
        awaited: &ActionKey,
        key: &ActionKey,
        seen_version: u64,
        confirmation: Option<String>,
    ) -> Result<ActionAnswer, LedgerError> {
        let content = (second, seen_version, &confirmation);
        let press = Press {
            key: key.clone(),
            fingerprint: fingerprint("complete", awaited.as_str(), &content)?,
            by: second.clone(),
            kind: PressKind::Complete { awaited: awaited.clone(), seen_version, confirmation },
        };
        self.press(press).await
    }

    /// Declines a dual action as the second person (or takes it back as the first).
    pub async fn decline_action(
        &self,
        by: &Actor,
        awaited: &ActionKey,
        key: &ActionKey,
        seen_version: u64,
        reason: String,
    ) -> Result<ActionAnswer, LedgerError> {
        let content = (by, seen_version, &reason);
        let press = Press {
            key: key.clone(),
            fingerprint: fingerprint("decline", awaited.as_str(), &content)?,
            by: by.clone(),
            kind: PressKind::Decline { awaited: awaited.clone(), seen_version, reason },
        };
        self.press(press).await
    }

    /// One action.
    pub async fn action(&self, by: &Actor, key: &ActionKey) -> Result<Option<ActionRecord>, LedgerError> {
        self.permit(by, Permission::Read, key.as_str()).await?;
        let key = key.clone();
        let found = self.store().read(move |tx| {
            let key = key.clone();
            Box::pin(async move { tx.action_find(key.as_str()).await })
        });
        Ok(found.await?.map(|stored| stored.record))
    }

    /// A page of the audit log, newest first; of one operation, or of one action kind, where asked.
    pub async fn actions(
        &self,
        by: &Actor,
        operation: Option<&OperationId>,
        action: Option<Action>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<ActionRecord>, LedgerError> {
        self.permit(by, Permission::Read, "actions").await?;
        let (operation, after, limit) = (operation.cloned(), after.map(ToOwned::to_owned), page_size(Some(limit)));
        self.store()
            .read(move |tx| {
                let (operation, after) = (operation.clone(), after.clone());
                Box::pin(async move {
                    let (as_of, sequence) = (tx.now().await?, tx.newest_sequence().await?);
                    let rows = tx.actions_page(operation.as_ref(), action, after.as_deref(), limit + 1).await?;
                    let page =
                        Page::cut(rows, limit, as_of, sequence, |stored: &StoredAction| stored.action_id.clone());
                    Ok(page.map(|stored| stored.record))
                })
            })
            .await
    }

    async fn press(&self, press: Press) -> Result<ActionAnswer, LedgerError> {
        // Items of bulk actions are known by their keys: nobody else may have written one.
        if press.key.as_str().starts_with(KEY_PREFIX) {
            let problem = format!("begins with {KEY_PREFIX}, which is kept for bulk actions; use another key");
            return Err(Refusal::BadField { field: "action_key".into(), problem }.into());
        }
        let (ids, press) = (self.ids(), Arc::new(press));
        let answer = self.store().write(move |tx| {
            let (ids, press) = (Arc::clone(&ids), Arc::clone(&press));
            Box::pin(async move { take_press(tx, ids.as_ref(), &press).await })
        });
        let answer = answer.await?;
        self.note_change();
        answer.map_err(LedgerError::from)
    }
}

/// One press of a button.
struct Press {
    key: ActionKey,
    /// Of everything that was sent; an equal one is the same press again.
    fingerprint: Hash,
    by: Actor,
    kind: PressKind,
}

enum PressKind {
    Act { id: OperationId, act: Act },
    Complete { awaited: ActionKey, seen_version: u64, confirmation: Option<String> },
    Decline { awaited: ActionKey, seen_version: u64, reason: String },
}

fn press_of(id: &OperationId, act: Act) -> Result<Press, LedgerError> {
    Ok(Press {
        key: act.key.clone(),
        fingerprint: fingerprint("act", id.as_str(), &act)?,
        by: act.actor.clone(),
        kind: PressKind::Act { id: id.clone(), act },
    })
}

/// One item of a bulk action, pressed like any other act. An item that has its answer keeps it, whatever role its actor had.
pub(crate) async fn take_item_press(tx: &mut Tx, ids: &dyn Ids, id: &OperationId, act: Act) -> Result<(), LedgerError> {
    if tx.action_find(act.key.as_str()).await?.is_some() {
        return Ok(());
    }
    take_press(tx, ids, &press_of(id, act)?).await?.map(|_| ()).map_err(LedgerError::from)
}

fn fingerprint(kind: &str, subject: &str, content: &impl serde::Serialize) -> Result<Hash, LedgerError> {
    Ok(Hash::of_parts(&[kind.as_bytes(), subject.as_bytes(), to_json(content)?.as_bytes()]))
}

/// The inner error is an answer that leaves a trace: it is committed, and only then returned as an error.
type Answered = Result<ActionAnswer, Refusal>;

async fn take_press(tx: &mut Tx, ids: &dyn Ids, press: &Press) -> Result<Answered, LedgerError> {
    tx.lock_names([press.key.as_str()].into_iter()).await?;
    let now = tx.now().await?;
    if let Some(stored) = tx.action_find(press.key.as_str()).await? {
        if stored.fingerprint == press.fingerprint {
            return stored_answer(tx, stored).await.map(Ok);
        }
        // H10: nothing of the other press is told.
        let detail = serde_json::json!({});
        let note = Note { verb: "refused", subject: press.key.as_str(), status: "action_key_reused", detail };
        audit(tx, ids, now, &press.by, note).await?;
        return Ok(Err(Refusal::ActionKeyReused {}));
    }
    match &press.kind {
        PressKind::Act { id, act } => first_press(tx, ids, press, id, act, now).await.map(Ok),
        PressKind::Complete { awaited, .. } | PressKind::Decline { awaited, .. } => {
            second_press(tx, ids, press, awaited, now).await.map(Ok)
        }
    }
}

/// The answer of a press that came before: for a second person's, the act that it settled.
async fn stored_answer(tx: &mut Tx, stored: StoredAction) -> Result<ActionAnswer, LedgerError> {
    let settled = match &stored.completes {
        Some(first) if stored.record.status != ActionStatus::Refused => tx.action_find(first).await?,
        _ => None,
    };
    Ok(ActionAnswer { record: settled.unwrap_or(stored).record, already_recorded: true })
}

async fn first_press(
    tx: &mut Tx,
    ids: &dyn Ids,
    press: &Press,
    id: &OperationId,
    act: &Act,
    now: Timestamp,
) -> Result<ActionAnswer, LedgerError> {
    let mut desk = Desk::open(tx, now, &act.actor).await?;
    desk.lay(std::slice::from_ref(id)).await?;
    desk.lay_sharers(std::slice::from_ref(id)).await?;
    if !desk.has(id) {
        return Err(unknown("operation", id.as_str()));
    }
    let mut record = blank(press, act.clone(), &desk, id)?;
    let command = Command::Act { act: act.clone(), new_id: new_id(ids, now)? };
    let ruled = permitted(&act.actor, act.input.action(), false);
    let decided = match ruled {
        Ok(()) => desk.decide(id, &command, &format!("act {}", act.input.action())).await?,
        Err(refusal) => Err(refusal),
    };
    let kept = arguments_to_keep(&mut desk, id, &decided).await?;
    let refold = fill(&mut record, decided, &desk, id)?;
    desk.refold(refold).await?;
    let tx = desk.save().await?;
    tx.arguments_insert(kept, now).await?;
    let stored = StoredAction {
        action_id: ids.new_id(now),
        record: record.clone(),
        fingerprint: press.fingerprint,
        completes: None,
    };
    tx.action_insert(&stored).await?;
    Ok(ActionAnswer { record, already_recorded: false })
}

async fn second_press(
    tx: &mut Tx,
    ids: &dyn Ids,
    press: &Press,
    awaited: &ActionKey,
    now: Timestamp,
) -> Result<ActionAnswer, LedgerError> {
    let Some(mut first) = tx.action_find(awaited.as_str()).await? else {
        return Err(unknown("action", awaited.as_str()));
    };
    let id = first.record.operation_id.clone();
    let mut desk = Desk::open(tx, now, &press.by).await?;
    desk.lay(std::slice::from_ref(&id)).await?;
    desk.lay_sharers(std::slice::from_ref(&id)).await?;
    let (command, act, name) = second_command(press, &first.record.act, new_id(ids, now)?);
    let mut record = blank(press, act, &desk, &id)?;
    let action = first.record.act.input.action();
    let takes_back = name == "decline" && press.by.id == first.record.act.actor.id;
    let decided = match permitted(&press.by, action, takes_back) {
        Ok(()) => desk.decide(&id, &command, name).await?,
        Err(refusal) => Err(refusal),
    };
    let is_settled = decided.is_ok();
    let kept = arguments_to_keep(&mut desk, &id, &decided).await?;
    let refold = fill(&mut record, decided, &desk, &id)?;
    desk.refold(refold).await?;
    let tx = desk.save().await?;
    tx.arguments_insert(kept, now).await?;
    let stored = StoredAction {
        action_id: ids.new_id(now),
        record: record.clone(),
        fingerprint: press.fingerprint,
        completes: Some(awaited.as_str().to_owned()),
    };
    tx.action_insert(&stored).await?;
    if !is_settled {
        return Ok(ActionAnswer { record, already_recorded: false });
    }
    first.record = ActionRecord {
        status: record.status,
        second: Some(press.by.clone()),
        settled_at: Some(now),
        from: record.from,
        to: record.to,
        made_version: record.made_version,
        created: record.created,
        ..first.record
    };
    tx.action_settle(&first.record).await?;
    Ok(ActionAnswer { record: first.record, already_recorded: false })
}

/// What the second person's press asks of the rules, how its row shows it, and what the journal calls it.
fn second_command(press: &Press, asked: &Act, new_id: OperationId) -> (Command, Act, &'static str) {
    let mut act = Act { key: press.key.clone(), actor: press.by.clone(), ..asked.clone() };
    match &press.kind {
        PressKind::Complete { awaited, seen_version, confirmation } => {
            (act.seen_version, act.confirmation) = (*seen_version, confirmation.clone());
            let command = Command::Complete {
                awaited: awaited.clone(),
                second: press.by.clone(),
                seen_version: *seen_version,
                confirmation: confirmation.clone(),
                new_id,
            };
            (command, act, "complete")
        }
        PressKind::Decline { awaited, seen_version, reason } => {
            (act.seen_version, act.reason) = (*seen_version, reason.clone());
            let command = Command::Decline {
                act: awaited.clone(),
                by: press.by.clone(),
                seen_version: *seen_version,
                reason: reason.clone(),
            };
            (command, act, "decline")
        }
        PressKind::Act { .. } => (Command::Refold, act, "act"),
    }
}

fn permitted(actor: &Actor, action: Action, takes_back: bool) -> Result<(), Refusal> {
    let permission = Permission::Act(action);
    if takes_back || actor.role.allows(permission) {
        return Ok(());
    }
    Err(Refusal::NotPermitted { role: actor.role, permission })
}

/// A row before it is known what comes of the press.
fn blank(press: &Press, act: Act, desk: &Desk<'_>, id: &OperationId) -> Result<ActionRecord, LedgerError> {
    let record = &desk.sheet(id)?.record;
    Ok(ActionRecord {
        key: press.key.clone(),
        operation_id: id.clone(),
        operation_key: record.head.key.to_string(),
        act,
        status: ActionStatus::Refused,
        second: None,
        refusal: None,
        at: desk.now,
        settled_at: None,
        from: record.row.as_ref().map(|row| row.state),
        to: None,
        made_version: None,
        created: None,
    })
}

/// The arguments that an act brings, or that an operation it makes takes over.
pub(crate) async fn arguments_to_keep(
    desk: &mut Desk<'_>,
    id: &OperationId,
    decided: &Result<Decision, Refusal>,
) -> Result<Vec<KeptArguments>, LedgerError> {
    let Ok(decision) = decided else { return Ok(Vec::new()) };
    let created = decision.creates.as_ref().map(|created| created.head.id.clone());
    let (of, bytes) = match (&decision.arguments, &created) {
        (Some(new), _) => (new.operation.clone(), new.bytes.clone()),
        (None, Some(created)) => match desk.arguments_in_force(id, i64::MAX).await? {
            Some(bytes) => (created.clone(), bytes),
            None => return Ok(Vec::new()),
        },
        (None, None) => return Ok(Vec::new()),
    };
    let Some(hashes) = desk.sheet(&of)?.record.arguments().cloned() else { return Ok(Vec::new()) };
    let (version, standing) = if created.as_ref() == Some(&of) {
        (1, Standing::Recorded)
    } else {
        (desk.tx.arguments_next_version(of.as_str()).await?, Standing::Changed)
    };
    Ok(vec![KeptArguments { op_id: of, version, standing, bytes, hashes }])
}

/// Writes into the row what came of the press; which operations must be folded again.
fn fill(
    record: &mut ActionRecord,
    decided: Result<Decision, Refusal>,
    desk: &Desk<'_>,
    id: &OperationId,
) -> Result<Vec<OperationId>, LedgerError> {
    let decision = match decided {
        Ok(decision) => decision,
        Err(refusal) => {
            record.refusal = Some(refusal);
            record.settled_at = Some(desk.now);
            return Ok(Vec::new());
        }
    };
    record.status = decision.outcome.into();
    if record.status != ActionStatus::AwaitsSecondPerson {
        record.settled_at = Some(desk.now);
    }
    record.to = Some(decision.row.state);
    record.made_version = Some(desk.sheet(id)?.record.version);
    record.created = decision.creates.as_ref().map(|created| created.head.id.clone());
    Ok(decision.refold)
}

fn new_id(ids: &dyn Ids, now: Timestamp) -> Result<OperationId, LedgerError> {
    OperationId::parse(ids.new_id(now)).map_err(|error| LedgerError::Corrupt { what: error.to_string() })
}

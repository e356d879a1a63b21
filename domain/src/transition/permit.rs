//! The permit (semantics 4.6): the rules decide once, here; the dispatch write compares, and compares nothing else.
//!
//! Everything that could change the answer of a guard either raises a version that the permit names, or ends it in time:
//!
//! | input of T10 | in the permit as |
//! |---|---|
//! | lease held by this worker | `epoch`, and its end in `not_after` |
//! | back-off, `Retry-After` | `not_before` |
//! | approval, deadline, age of the key | `not_after`, the earliest of their ends |
//! | budget of the destination | `tokens` |
//! | revocation, arguments, evidence, resolution, attempts used, accepted risk | `version` |
//! | correction of the contract, scope, credential, restore | `guard_epoch` |

use serde::{Deserialize, Serialize};

use crate::contract::RetryOwner;
use crate::guard::{Checked, Guard};
use crate::name::ActionKey;
use crate::operation::{Doubt, Fact, Mode, Record, State};
use crate::outcome::{self, Outcome, Surroundings};
use crate::policy::{Policy, SafetyRule};
use crate::time::Timestamp;
use crate::tool::Class;
use crate::workflow::StepWait;

/// What the dispatch write compares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    /// The version of the operation it was made for.
    pub version: u64,
    /// The guard epoch of tool and destination it was made for.
    pub guard_epoch: u64,
    /// The epoch of the lease.
    pub epoch: u64,
    /// The first moment at which it may be used.
    pub not_before: Timestamp,
    /// The first moment at which it may not be used any more.
    pub not_after: Timestamp,
    /// Whether a token of the destination's budget is spent with it: a first send is free.
    pub spends_token: bool,
    /// The approval it stands on; none for the classes whose policy approves.
    pub approval: Option<ActionKey>,
}

/// What the dispatch write finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The operation's version.
    pub version: u64,
    /// The guard epoch of tool and destination.
    pub guard_epoch: u64,
    /// The newest epoch of a lease.
    pub epoch: u64,
    /// The clock of that write.
    pub now: Timestamp,
}

impl Permit {
    /// What the dispatch write compares: the reference for the statement that does it in the store.
    pub fn check(&self, found: Found, policy: Policy) -> Checked {
        let mut checked = Checked::default();
        let same_lease = self.epoch == found.epoch || !policy.keeps(SafetyRule::FencedDispatch);
        checked.ask(Guard::LeaseHeld, same_lease, format!("lease {} against {}", self.epoch, found.epoch));
        let current = self.version == found.version && self.guard_epoch == found.guard_epoch;
        checked.ask(
            Guard::PermitCurrent,
            current || !policy.keeps(SafetyRule::FencedDispatch),
            format!(
                "made for version {}.{}, found {}.{}",
                self.version, self.guard_epoch, found.version, found.guard_epoch
            ),
        );
        let in_time = self.not_before <= found.now
            && (found.now < self.not_after || !policy.keeps(SafetyRule::RecheckAtDispatch));
        checked.ask(
            Guard::PermitInTime,
            in_time,
            format!("from {} until {}, used at {}", self.not_before, self.not_after, found.now),
        );
        checked
    }
}

/// The guards of T8 and T17: who may be claimed.
pub(super) fn claim_guards(record: &Record, around: &Surroundings, outcome: &Outcome, now: Timestamp) -> Checked {
    let mut checked = Checked::default();
    let policy = around.policy;
    let guarded = record.head.mode == Mode::Guarded || !policy.keeps(SafetyRule::ObservedNeverDispatched);
    checked.ask(Guard::ModeGuarded, guarded, record.head.mode.name());
    checked.ask(Guard::StateAdmits, admits_claim(outcome.state), outcome.state.to_string());
    checked.ask(Guard::LeaseFree, outcome.lease_until.is_none(), lease_words(outcome));
    let (is_due, because) = is_due(record, outcome, now);
    checked.ask(Guard::NotBefore, is_due, because);
    standing_guards(&mut checked, record, around, outcome, now);
    repeat_guards(&mut checked, record, around, outcome, outcome.key_protects);
    checked
}

const fn admits_claim(state: State) -> bool {
    match state {
        State::Authorized | State::RetryWait(_) | State::Uncertain(_) => true,
        State::Proposed
        | State::Claimed
        | State::Executing
        | State::Succeeded(_)
        | State::Failed(_)
        | State::Contradicted(_)
        | State::Denied
        | State::ApprovalExpired
        | State::Cancelled
        | State::Superseded => false,
    }
}

/// From when on it may be claimed: none while something other than time stands against it.
pub(super) fn claimable_at(
    record: &Record,
    around: &Surroundings,
    outcome: &Outcome,
    now: Timestamp,
) -> Option<Timestamp> {
    let guarded = record.head.mode == Mode::Guarded || !around.policy.keeps(SafetyRule::ObservedNeverDispatched);
    if !guarded || !around.tool.executable || !admits_claim(outcome.state) {
        return None;
    }
    let waits_for_a_person =
        outcome.due.as_ref().is_some_and(|due| due.queued.is_some()) && !is_ordered(record, outcome);
    let checked = claim_guards(record, around, outcome, now);
    let only_time = checked.failed().iter().all(|failed| failed.guard == Guard::NotBefore);
    (only_time && !waits_for_a_person).then(|| not_before(record, outcome))
}

/// The guards of T10, and the permit they give. `epoch` is the lease of the worker that asks.
pub fn permit(
    record: &Record,
    around: &Surroundings,
    outcome: &Outcome,
    epoch: u64,
    now: Timestamp,
) -> Result<Permit, Checked> {
    let mut checked = Checked::default();
    let guarded = record.head.mode == Mode::Guarded || !around.policy.keeps(SafetyRule::ObservedNeverDispatched);
    checked.ask(Guard::ModeGuarded, guarded, record.head.mode.name());
    let lease = record.live_lease(now).filter(|lease| lease.claim.epoch == epoch);
    let fenced = around.policy.keeps(SafetyRule::FencedDispatch);
    checked.ask(Guard::LeaseHeld, lease.is_some() || !fenced, lease_words(outcome));
    let sent = outcome.attempts.iter().any(|attempt| attempt.sent.as_ref().is_some_and(|sent| sent.epoch == epoch));
    checked.ask(Guard::NothingSentUnderLease, !sent, format!("lease {epoch}"));
    standing_guards(&mut checked, record, around, outcome, now);
    let key_protects = outcome.key_protects || protected_at_claim(record, around, epoch);
    repeat_guards(&mut checked, record, around, outcome, key_protects);
    if !checked.all_hold() {
        return Err(checked);
    }
    let approval = record.live_approval(&around.tool, now).ok();
    let approval_ends = approval.map(|approval| approval.expires_at);
    let key_ends = outcome.key_protects_until.filter(|_| is_unsafe(around.tool.class));
    let ends = [lease.map(|lease| lease.until), approval_ends, outcome.deadline, key_ends];
    Ok(Permit {
        version: record.version,
        guard_epoch: around.tool.version,
        epoch,
        not_before: not_before(record, outcome),
        not_after: ends.into_iter().flatten().min().unwrap_or(now),
        spends_token: outcome.attempts.iter().any(|attempt| attempt.sent.is_some()),
        approval: approval.map(|approval| approval.id.clone()),
    })
}

/// The age of the key as it was when it was claimed: what counts where a test leaves the second look at it out.
fn protected_at_claim(record: &Record, around: &Surroundings, epoch: u64) -> bool {
    !around.policy.keeps(SafetyRule::RecheckAtDispatch)
        && record
            .claims()
            .find(|claim| claim.epoch == epoch)
            .is_some_and(|claim| outcome::fold(record, around, claim.at).key_protects)
}

/// What T8, T10 and T17 ask alike: approval, time, attempts, restore, the intent.
fn standing_guards(checked: &mut Checked, record: &Record, around: &Surroundings, outcome: &Outcome, now: Timestamp) {
    let policy = around.policy;
    // What an import says of approvals is history, whatever else it says (4.0).
    let by_history = !policy.keeps(SafetyRule::ObservedNeverDispatched) && outcome.state == State::Authorized;
    match record.live_approval(&around.tool, now) {
        Err(_) if by_history => {}
        Ok(live) => checked.ask(Guard::ApprovalLive, true, format!("until {}", live.expires_at)),
        Err(lack) => checked.ask(Guard::ApprovalLive, false, lack.text(now)),
    }
    let deadline = outcome.deadline.is_none_or(|deadline| now < deadline);
    checked.ask(Guard::DeadlineLeft, deadline, outcome.deadline.map_or_else(String::new, |at| format!("until {at}")));
    let left = outcome.attempts_left.unwrap_or(1);
    checked.ask(Guard::AttemptsLeft, left > 0, format!("{left} left"));
    let acknowledged = !around.restore_pending || !policy.keeps(SafetyRule::RestoreHoldsDispatch);
    checked.ask(Guard::RestoreAcknowledged, acknowledged, "a restored record waits for a person");
    let wait = around.steps.wait.as_ref();
    checked.ask(Guard::StepMayBegin, wait.is_none(), wait.map_or_else(String::new, StepWait::words));
    let newest = !crate::decision::has_newer_guarded(record, around) || !policy.keeps(SafetyRule::NewestOfIntentOnly);
    checked.ask(Guard::NewestOfIntent, newest, "a newer operation of the intent decides");
    let effects = outcome.effects.len();
    checked.ask(Guard::NoSuccessOfIntent, effects == 0, format!("{effects} effects of the intent on record"));
}

/// What a send beside open attempts asks (T10, T17, rows 8, 9, 9a).
fn repeat_guards(checked: &mut Checked, record: &Record, around: &Surroundings, outcome: &Outcome, key_protects: bool) {
    checked.ask(Guard::ScopeUnchanged, !outcome.scope_changed, "the destination’s scope changed since an open attempt");
    let class = around.tool.class;
    let nothing_open = outcome.open.is_empty();
    let by_class = !is_unsafe(class) && outcome.state != State::Uncertain(Doubt::KeyMismatch);
    let because = outcome.key_protects_not.clone().unwrap_or_else(|| "nothing is open, or the key protects".into());
    checked.ask(Guard::NothingOpenOrProtected, nothing_open || key_protects || by_class, because);
    let beneath = record.newest_lease().map_or(outcome.state, |lease| match outcome.state {
        State::Claimed | State::Executing => lease.claim.from,
        state => state,
    });
    let hopeless = matches!(beneath, State::Uncertain(Doubt::KeyMismatch | Doubt::ReplayedError | Doubt::Partial));
    checked.ask(Guard::DoubtAdmitsRepeat, !hopeless || class == Class::Read, beneath.to_string());
    let needs_order = !nothing_open
        && match class {
            Class::Read | Class::Reversible => false,
            Class::Idempotent => outcome.contract.sole_writer != Some(true),
            Class::Irreversible => true,
        };
    let ours = is_our_retry(record, outcome);
    checked.ask(Guard::RetryOwnerIsUs, ours, "another layer is declared to own its retries; a person may order one");
    checked.ask(Guard::RepeatOrdered, !needs_order || is_ordered(record, outcome), "a person orders this repeat");
}

const fn is_unsafe(class: Class) -> bool {
    matches!(class, Class::Reversible | Class::Irreversible)
}

/// I19: a send after the first is ours to make if this layer, adapter and workflow in one, is the declared owner, or none
/// is; what a person orders is no automatic retry.
fn is_our_retry(record: &Record, outcome: &Outcome) -> bool {
    let is_first = outcome.attempts.iter().all(|attempt| attempt.sent.is_none()) && outcome.open.is_empty();
    let by_others = matches!(outcome.contract.retry_owner, Some(RetryOwner::Transport | RetryOwner::Agent));
    is_first || !by_others || is_ordered(record, outcome)
}

/// Whether a person ordered a repeat after the last send.
fn is_ordered(record: &Record, outcome: &Outcome) -> bool {
    let last_sent = outcome.attempts.iter().chain(&outcome.inherited).map(|attempt| attempt.dispatched_at).max();
    record.facts.acts().any(|fact| match fact {
        Fact::RepeatOrdered { at, .. } => last_sent.is_none_or(|sent| *at >= sent),
        _ => false,
    })
}

/// When the next send is due. A person's order does not wait for the back-off, but for what the destination asked.
fn not_before(record: &Record, outcome: &Outcome) -> Timestamp {
    let Some(due) = &outcome.due else { return record.head.recorded_at };
    if is_ordered(record, outcome) { due.asked.unwrap_or(record.head.recorded_at) } else { due.not_before }
}

/// Whether a timer may decide, or a person did.
fn is_due(record: &Record, outcome: &Outcome, now: Timestamp) -> (bool, String) {
    let queued = outcome.due.as_ref().and_then(|due| due.queued.as_ref()).filter(|_| !is_ordered(record, outcome));
    if let Some(why) = queued {
        return (false, why.words());
    }
    let due = not_before(record, outcome);
    (due <= now, format!("not before {due}"))
}

fn lease_words(outcome: &Outcome) -> String {
    outcome.lease_until.map_or_else(|| "no lease is live".into(), |until| format!("a lease is live until {until}"))
}

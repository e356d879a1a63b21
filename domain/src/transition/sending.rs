//! Claims and dispatches of guarded operations (T8–T11, T16, T17) and restores (T45).

use std::time::Duration;

use crate::attempt::{AttemptRef, Dispatch, Report, ReportKind};
use crate::fingerprint::Hash;
use crate::guard::{Checked, Guard};
use crate::lease::{Claim, Scope};
use crate::name::{LayerName, SourceName, SourceOperation};
use crate::operation::{Fact, Mode, Record, State};
use crate::outcome::{self, Surroundings};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::transition::permit::{Found, Permit, claim_guards};
use crate::transition::{Command, Decision, conclude};

/// Who asks for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Its name, for people.
    pub name: String,
    /// The process: a restart is another one.
    pub incarnation: String,
}

/// What goes out under a permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// What was permitted.
    pub permit: Permit,
    /// Who sends.
    pub worker: Worker,
    /// Who says so, as a source.
    pub source: SourceName,
    /// The retry layer; ours.
    pub layer: Option<LayerName>,
    /// Hash of the exact bytes.
    pub wire_hash: Option<Hash>,
    /// Where it goes.
    pub scope: Option<Scope>,
}

/// T8 and T17: takes a lease. Spends nothing.
pub(super) fn claim(
    record: &Record,
    around: &Surroundings,
    worker: &Worker,
    lease: Duration,
    command: &Command,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let outcome = outcome::fold(record, around, now);
    let checked = claim_guards(record, around, &outcome, now);
    let rule = if matches!(outcome.state, State::Uncertain(_)) { "T17" } else { "T8" };
    let guards = refuse_unless_all_hold(rule, checked)?;
    let fact = Fact::Claimed(Claim {
        epoch: record.epoch() + 1,
        worker: worker.name.clone(),
        incarnation: worker.incarnation.clone(),
        at: now,
        until: now.plus(lease),
        from: outcome.state,
    });
    Ok(conclude(record, around, vec![fact], command, now).by(rule).with_guards(guards))
}

/// Makes a lease longer. A stale epoch changes nothing (I10).
pub(super) fn renew(
    record: &Record,
    around: &Surroundings,
    epoch: u64,
    until: Timestamp,
    command: &Command,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let mut checked = Checked::default();
    ask_lease(&mut checked, record, epoch, now);
    let guards = refuse_unless_all_hold("T8", checked)?;
    let fact = Fact::LeaseRenewed { epoch, until, at: now };
    Ok(conclude(record, around, vec![fact], command, now).with_guards(guards))
}

/// T9: gives a lease back under which nothing was sent.
pub(super) fn release(
    record: &Record,
    around: &Surroundings,
    epoch: u64,
    reason: &str,
    command: &Command,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let mut checked = Checked::default();
    ask_lease(&mut checked, record, epoch, now);
    let sent = record.reports().any(|report| report.attempt.epoch() == Some(epoch));
    checked.ask(Guard::NothingSentUnderLease, !sent, format!("lease {epoch}"));
    let guards = refuse_unless_all_hold("T9", checked)?;
    let fact = Fact::Released { epoch, at: now, reason: reason.into() };
    Ok(conclude(record, around, vec![fact], command, now).by("T9").with_guards(guards))
}

/// T10: the write that stands before the first byte. It compares the permit and nothing else.
pub(super) fn dispatch(
    record: &Record,
    around: &Surroundings,
    sending: &Sending,
    command: &Command,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let permit = &sending.permit;
    let found = Found { version: record.version, guard_epoch: around.tool.version, epoch: record.epoch(), now };
    let guards = refuse_unless_all_hold("T10", permit.check(found, around.policy))?;
    let name = SourceOperation::from(record.head.id.clone());
    let sends = record.reports().filter(|report| matches!(report.kind, ReportKind::Dispatched(_))).count();
    let fact = Fact::Report(Report {
        attempt: AttemptRef::guarded(name, permit.epoch),
        at: now,
        provider_time: None,
        source: sending.source.clone(),
        number: u32::try_from(sends + 1).ok(),
        owner: sending.layer.clone(),
        worker: Some(sending.worker.name.as_str().into()),
        dest_key: record.destination_key(&around.relatives),
        budget: None,
        kind: ReportKind::Dispatched(Dispatch {
            epoch: permit.epoch,
            incarnation: sending.worker.incarnation.clone(),
            deadline: now.plus(outcome::contract_in_force(record, &around.tool).client_deadline()),
            wire_hash: sending.wire_hash,
            scope: sending.scope.clone(),
            approval: permit.approval.clone(),
            args_version: record.args_version(),
        }),
    });
    Ok(conclude(record, around, vec![fact], command, now).by("T10").with_guards(guards))
}

/// T45: the record is a copy that may have forgotten sends. Terminal and observed operations stay as they are.
pub(super) fn restore(
    record: &Record,
    around: &Surroundings,
    backup_at: Timestamp,
    command: &Command,
    now: Timestamp,
) -> Decision {
    let outcome = outcome::fold(record, around, now);
    if record.head.mode == Mode::Observed || outcome.state.is_final() {
        return conclude(record, around, Vec::new(), command, now);
    }
    // 4.8: beyond every epoch that was given after the copy and is forgotten; the next number would be one of those.
    let seconds = u64::try_from(now.as_micros() / 1_000_000).unwrap_or(0);
    let fact = Fact::Restored { backup_at, at: now, epoch: seconds.max(record.epoch() + 1) };
    conclude(record, around, vec![fact], command, now).by("T45")
}

fn ask_lease(checked: &mut Checked, record: &Record, epoch: u64, now: Timestamp) {
    let newest = record.epoch();
    let is_held = newest == epoch && record.live_lease(now).is_some();
    checked.ask(Guard::LeaseHeld, is_held, format!("asked for lease {epoch}, the newest is {newest}"));
}

fn refuse_unless_all_hold(
    transition: &'static str,
    checked: Checked,
) -> Result<Vec<crate::guard::GuardResult>, Refusal> {
    if checked.all_hold() {
        return Ok(checked.0);
    }
    Err(Refusal::GuardsFailed { transition: transition.into(), failed: checked.failed() })
}

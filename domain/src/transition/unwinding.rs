//! A workflow that goes back by itself: an undo is proposed (T30), and what has not begun is stopped (T6).

use crate::action::{Act, Action, ActionInput};
use crate::decision::{self, Verdict};
use crate::name::{ActionKey, OperationId, OperationKey};
use crate::operation::{Fact, Record};
use crate::outcome::{self, Surroundings};
use crate::permission::Actor;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::transition::carry::Accepted;
use crate::transition::{Command, Decision, Unwind};

/// Who goes back, and because of what.
pub(super) struct Unwinder<'a> {
    pub(super) how: Unwind,
    pub(super) because: &'a OperationKey,
    pub(super) by: &'a Actor,
    pub(super) new_id: &'a OperationId,
}

/// Nothing is decided here that a person could not decide alone: where two people are asked for, or more is missing than
/// a confirmation, it is left to them. What is proposed is sent only with an approval of its own.
pub(super) fn unwind(
    record: &Record,
    around: &Surroundings,
    unwinder: &Unwinder<'_>,
    command: &Command,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let input = match unwinder.how {
        Unwind::Undo => ActionInput::Compensate { receipt: None },
        Unwind::Cancel => ActionInput::Cancel {},
    };
    let action = input.action();
    let outcome = outcome::fold(record, around, now);
    let ruling = decision::rule(record, around, &outcome, None, now);
    let row = ruling.row.clone();
    let forbidden = |reason: String| Refusal::Forbidden { action, row: row.clone(), reason };
    let Some(on) = ruling.on(action) else { return Err(forbidden("It is not offered here.".into())) };
    if on.verdict == Verdict::Dual {
        return Err(forbidden("Two people decide this undo.".into()));
    }
    if on.verdict > Verdict::Dual {
        return Err(forbidden(on.reason.clone()));
    }
    // An undo that came to nothing is a person's (T32), however often this is asked.
    let was_undone = record.facts.acts().any(|fact| matches!(fact, Fact::CompensationProposed { .. }));
    if action == Action::Compensate && was_undone {
        return Err(forbidden("An undo was proposed already.".into()));
    }
    let key = ActionKey::parse(format!("unwind-{}", record.head.id)).map_err(|error| forbidden(error.to_string()))?;
    let act = Act {
        key,
        input,
        actor: unwinder.by.clone(),
        reason: format!("The workflow goes back because of {}.", unwinder.because),
        confirmation: None,
        seen_version: record.version,
    };
    let actors = vec![act.actor.clone()];
    let (act, new_id, alone) = (&act, unwinder.new_id, false);
    Ok(Accepted { record, around, outcome: &outcome, act, actors, alone, new_id, command, now }.carry_out())
}

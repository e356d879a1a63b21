//! The base rows of semantics 6.1, as data. The first that holds gives row, recommendation and verdicts.

use crate::action::Action;
use crate::decision::{Child, LookUpKind, Situation, Verdict};
use crate::operation::{Contradiction, Doubt, Failure, State, SuccessBasis};
use crate::tool::Class;

use Verdict::{Confirm as C, Dual as D, Forbidden as F, Safe as S};

/// One row of 6.1.
#[derive(Debug)]
pub struct BaseRow {
    /// Its number in 6.1.
    pub id: &'static str,
    /// Whether it is the situation.
    pub holds: fn(&Situation) -> bool,
    /// Verdicts on looking up, rerunning (same key, new), marking (succeeded, failed) and compensating.
    pub verdicts: [Verdict; 6],
    /// ★: recommended first.
    pub recommended: Action,
    /// Why, in words.
    pub why: &'static str,
}

impl BaseRow {
    /// The row's verdict on an action, if it is one of its six.
    pub fn verdict(&self, action: Action) -> Option<Verdict> {
        let columns = [
            Action::LookUp,
            Action::RerunSameKey,
            Action::RerunNew,
            Action::MarkSucceeded,
            Action::MarkFailed,
            Action::Compensate,
        ];
        columns.iter().position(|column| *column == action).map(|index| self.verdicts[index])
    }
}

const fn row(
    id: &'static str,
    verdicts: [Verdict; 6],
    recommended: Action,
    why: &'static str,
    holds: fn(&Situation) -> bool,
) -> BaseRow {
    BaseRow { id, holds, verdicts, recommended, why }
}

/// What stands in for a row if none matched: nothing but calling a person.
pub(super) const NOTHING_MATCHES: BaseRow =
    row("none", [F, F, F, F, F, F], Action::Escalate, "No row of the table fits these facts.", |_| true);

fn is_duplicate(s: &Situation) -> bool {
    matches!(s.state, State::Contradicted(Contradiction::Duplicate | Contradiction::DuplicateLikely))
}

fn is_strongly_absent(s: &Situation) -> bool {
    s.look_up == LookUpKind::Strong && s.absent_after_settle
}

fn returns_same_handle(s: &Situation) -> bool {
    s.key_protects && s.same_handle
}

fn key_or_look_up_row(s: &Situation, look_up: LookUpKind) -> bool {
    s.is_uncertain() && s.is_unsafe_write() && !s.key_protects && s.look_up == look_up
}

/// The rows in the order in which they are asked (column Ord).
pub const ROWS: &[BaseRow] = &[
    row(
        "30",
        [S, F, F, C, D, F],
        Action::LookUp,
        "Keys do not cross scopes: region, account, endpoint and credential must be those of the open attempt.",
        |s| s.is_uncertain() && s.scope_changed,
    ),
    row("3", [S, F, F, F, F, D], Action::PickVerdict, "The effect is there more than once.", is_duplicate),
    row("27", [S, F, F, F, F, F], Action::PickVerdict, "The records disagree with the world.", |s| {
        matches!(s.state, State::Contradicted(_)) && !is_duplicate(s)
    }),
    row("24", [S, F, F, F, F, F], Action::LookUp, "The parent is not one effect; each item has its own row.", |s| {
        s.doubts(Doubt::Partial)
    }),
    row(
        "28",
        [S, F, F, F, F, F],
        Action::LookUp,
        "A compensation is on its way; a second one would be a new effect.",
        |s| matches!(s.state, State::Succeeded(_)) && s.child == Child::Running,
    ),
    row(
        "28a",
        [S, F, F, F, F, F],
        Action::Escalate,
        "The compensation is stuck; it is retried by its own row, or waived.",
        |s| matches!(s.state, State::Succeeded(_)) && s.child == Child::Stuck,
    ),
    row("29", [S, F, F, F, F, D], Action::Escalate, "Past the pivot: drive forward; only a person undoes.", |s| {
        s.is_proved_success() && s.child == Child::None && s.past_pivot
    }),
    row("25", [S, F, F, C, F, F], Action::LookUp, "A statement is not proof; the watch period is running.", |s| {
        s.state == State::Failed(Failure::Attested) && !s.watch_over
    }),
    row(
        "26",
        [S, F, C, F, F, F],
        Action::RerunNew,
        "The watch is over and a settled strong look-up says absent.",
        |s| s.state == State::Failed(Failure::Attested) && s.watch_over && is_strongly_absent(s),
    ),
    row(
        "26a",
        [S, F, D, C, F, F],
        Action::LookUp,
        "The watch is over without strong absence; only as an accepted risk.",
        |s| s.state == State::Failed(Failure::Attested) && s.watch_over && !is_strongly_absent(s),
    ),
    row("31", [S, F, F, F, F, F], Action::LookUp, "A statement satisfies no later guard.", |s| {
        s.state == State::Succeeded(SuccessBasis::Attested)
    }),
    row("2", [S, F, F, F, F, F], Action::LookUp, "An answer is still coming; a person's result would race it.", |s| {
        s.lease_live || matches!(s.state, State::Claimed | State::Executing)
    }),
    row("4", [S, F, F, F, F, C], Action::Comment, "Done, by proof. Nothing is left to run.", |s| {
        s.is_proved_success() && s.child == Child::None && !s.past_pivot
    }),
    row("5", [S, S, C, F, F, F], Action::RerunSameKey, "There is no effect and none can arrive.", |s| {
        matches!(s.state, State::RetryWait(_))
    }),
    row(
        "6",
        [S, F, C, F, F, F],
        Action::GrantAttempts,
        "There is no effect and none can arrive; attempts or time are used up.",
        |s| matches!(s.state, State::Failed(Failure::Budget | Failure::Deadline)),
    ),
    row(
        "6a",
        [S, F, C, F, F, F],
        Action::RerunNew,
        "The same arguments under the same key would be refused again, or the key stored the refusal.",
        |s| matches!(s.state, State::Failed(Failure::Permanent | Failure::Observed | Failure::AttestedThenProved)),
    ),
    row(
        "6b",
        [S, F, C, F, F, F],
        Action::ChangeArguments,
        "The destination ran it and declined; the key keeps the decline.",
        |s| s.state == State::Failed(Failure::Business),
    ),
    row("32", [S, F, F, F, F, F], Action::Approve, "Nothing was sent; it waits for an approval.", |s| {
        s.state == State::Proposed && s.is_guarded()
    }),
    row("32a", [S, F, F, D, D, F], Action::Adopt, "What ran is not on record.", |s| {
        matches!(s.state, State::Proposed | State::Authorized) && !s.is_guarded()
    }),
    row("33", [S, F, F, F, F, F], Action::Comment, "Its dispatch is due; to stop it, revoke or cancel.", |s| {
        s.state == State::Authorized && s.is_guarded()
    }),
    row("34", [S, F, C, F, F, F], Action::Renew, "The approval ran out with nothing open.", |s| {
        s.state == State::ApprovalExpired
    }),
    row(
        "35",
        [S, F, C, F, F, F],
        Action::Comment,
        "Stopped; doing it after all is a new operation with its own approval.",
        |s| matches!(s.state, State::Denied | State::Cancelled),
    ),
    row("35a", [S, F, F, F, F, F], Action::Comment, "Another operation took over; that one decides.", |s| {
        s.state == State::Superseded
    }),
    row("7", [S, F, D, D, D, F], Action::Renew, "A repeat is an execution, and no approval is live.", |s| {
        s.is_uncertain() && s.is_guarded() && s.class != Class::Read && !s.approval_live
    }),
    row("8", [S, S, C, C, C, F], Action::RerunSameKey, "It has no side effect.", |s| {
        s.is_uncertain() && s.class == Class::Read
    }),
    row("9", [S, S, F, C, C, F], Action::RerunSameKey, "A repeat gives the same end state.", |s| {
        s.is_uncertain() && s.class == Class::Idempotent && !s.doubts(Doubt::KeyMismatch) && s.sole_writer
    }),
    row(
        "9a",
        [S, C, F, C, C, F],
        Action::LookUp,
        "Others may have written since; a repeat may undo their write.",
        |s| s.is_uncertain() && s.class == Class::Idempotent && !s.doubts(Doubt::KeyMismatch) && !s.sole_writer,
    ),
    row("13", [S, F, F, D, D, F], Action::LookUp, "Some other request owns this key.", |s| {
        s.doubts(Doubt::KeyMismatch)
    }),
    row("10", [S, S, F, F, F, F], Action::RerunSameKey, "The destination is still at our request.", |s| {
        s.doubts(Doubt::InFlight) && s.is_unsafe_write() && s.is_fresh && s.key_protects
    }),
    row(
        "10a",
        [S, F, F, F, F, F],
        Action::LookUp,
        "The destination is still at our request, but the key may be forgotten.",
        |s| s.doubts(Doubt::InFlight) && s.is_unsafe_write() && s.is_fresh && !s.key_protects,
    ),
    row("10b", [S, S, F, D, D, F], Action::RerunSameKey, "Ask again under the same key.", |s| {
        s.doubts(Doubt::InFlight) && s.is_unsafe_write() && !s.is_fresh && s.key_protects
    }),
    row("10c", [S, F, F, D, D, F], Action::LookUp, "It was in flight long ago, and the key does not protect.", |s| {
        s.doubts(Doubt::InFlight) && s.is_unsafe_write() && !s.is_fresh && !s.key_protects
    }),
    row("11", [S, F, F, F, F, F], Action::LookUp, "Accepted: it may still run, or never run.", |s| {
        s.doubts(Doubt::Accepted) && s.is_unsafe_write() && !s.acceptance_over
    }),
    row("11a", [S, C, F, D, D, F], Action::LookUp, "Accepted long ago; a repeat returns the same handle.", |s| {
        s.doubts(Doubt::Accepted) && s.is_unsafe_write() && s.acceptance_over && returns_same_handle(s)
    }),
    row("11b", [S, F, F, D, D, F], Action::LookUp, "Accepted long ago and never decided.", |s| {
        s.doubts(Doubt::Accepted) && s.is_unsafe_write() && s.acceptance_over && !returns_same_handle(s)
    }),
    row(
        "12",
        [S, F, F, D, D, F],
        Action::LookUp,
        "The key's stored answer is an error; it will not tell more, and the effect is open.",
        |s| s.doubts(Doubt::ReplayedError) && s.is_unsafe_write(),
    ),
    row(
        "23",
        [S, S, F, C, D, F],
        Action::LookUp,
        "A strong hint of success without proof; the key returns the stored answer.",
        |s| (s.doubts(Doubt::NoReceipt) || s.doubts(Doubt::Likely)) && s.is_unsafe_write() && s.key_protects,
    ),
    row("23a", [S, F, F, C, D, F], Action::LookUp, "A strong hint of success without proof.", |s| {
        (s.doubts(Doubt::NoReceipt) || s.doubts(Doubt::Likely)) && s.is_unsafe_write() && !s.key_protects
    }),
    row("14", [S, S, F, C, D, F], Action::RerunSameKey, "The key gives the definitive answer.", |s| {
        s.is_uncertain() && s.class == Class::Reversible && s.key_protects
    }),
    row("15", [S, C, F, D, D, F], Action::LookUp, "The key gives the definitive answer, but it can do it now.", |s| {
        s.is_uncertain() && s.class == Class::Irreversible && s.key_protects
    }),
    row("16", [S, F, F, C, F, F], Action::LookUp, "Absence is not yet meaningful.", |s| {
        key_or_look_up_row(s, LookUpKind::Strong) && !s.absent_after_settle
    }),
    row(
        "17",
        [S, F, D, F, D, F],
        Action::Escalate,
        "The look-up finds nothing, but a frozen sender may still send.",
        |s| key_or_look_up_row(s, LookUpKind::Strong) && s.absent_after_settle,
    ),
    row("18", [S, F, D, C, D, F], Action::LookUp, "A miss of this look-up is only a hint.", |s| {
        key_or_look_up_row(s, LookUpKind::Weak) && s.class == Class::Reversible
    }),
    row(
        "19",
        [S, F, F, D, D, F],
        Action::LookUp,
        "A duplicate cannot be undone, and a miss of this look-up is only a hint.",
        |s| key_or_look_up_row(s, LookUpKind::Weak) && s.class == Class::Irreversible,
    ),
    row("20", [S, F, F, D, D, F], Action::Escalate, "Nothing but people can know.", |s| {
        key_or_look_up_row(s, LookUpKind::None) && s.class == Class::Reversible && !s.watch_over
    }),
    row(
        "20a",
        [S, F, D, D, D, F],
        Action::Escalate,
        "Nothing but people can know; a rerun is an accepted risk.",
        |s| key_or_look_up_row(s, LookUpKind::None) && s.class == Class::Reversible && s.watch_over,
    ),
    row(
        "21",
        [S, F, F, D, D, F],
        Action::Escalate,
        "It cannot be undone and cannot be looked up: people review it, nobody guesses.",
        |s| key_or_look_up_row(s, LookUpKind::None) && s.class == Class::Irreversible,
    ),
];

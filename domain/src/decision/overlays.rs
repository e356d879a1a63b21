//! The overlays of semantics 6.2, in their order. Each only makes stricter, but for 22a and 22b.

use crate::action::Action;
use crate::decision::{ActionRuling, LookUpKind, Situation, Verdict};
use crate::operation::{Mode, State};
use crate::policy::SafetyRule;
use crate::tool::Class;

fn stricter(actions: &mut [ActionRuling], action: Action, to: Verdict, overlay: &str) {
    for ruling in actions.iter_mut().filter(|ruling| ruling.action == action) {
        if ruling.verdict < to {
            ruling.verdict = to;
            ruling.overlays.push(overlay.into());
        }
    }
}

fn allow(actions: &mut [ActionRuling], action: Action, to: Verdict, overlay: &str) {
    for ruling in actions.iter_mut().filter(|ruling| ruling.action == action) {
        ruling.verdict = to;
        ruling.overlays.push(overlay.into());
    }
}

/// Applies all but O6 (asked with the input in hand) and O11 (asked last).
pub(super) fn apply(actions: &mut [ActionRuling], recommended: &mut Action, s: &Situation) {
    if s.args_differ {
        stricter(actions, Action::RerunSameKey, Verdict::Forbidden, "O1");
        stricter(actions, Action::RerunNew, Verdict::Forbidden, "O1");
        *recommended = Action::ChangeArguments;
    }
    cancel_by_key(actions, recommended, s);
    if s.mode == Mode::Observed {
        stricter(actions, Action::RerunSameKey, Verdict::Forbidden, "O2");
        stricter(actions, Action::RerunNew, Verdict::Forbidden, "O2");
    }
    if s.restore_pending && s.policy.keeps(SafetyRule::RestoreHoldsDispatch) {
        stricter(actions, Action::RerunSameKey, Verdict::Forbidden, "O3");
        stricter(actions, Action::RerunNew, Verdict::Forbidden, "O3");
    }
    dual_control(actions, s);
    if s.look_up == LookUpKind::None {
        stricter(actions, Action::LookUp, Verdict::NotOffered, "O7");
        if *recommended == Action::LookUp {
            *recommended = Action::Escalate;
        }
    }
    let unprotected = s.is_unsafe_write() && s.any_open && !s.key_protects;
    if (s.is_guarded() && !s.approval_live) || s.budget_spent || unprotected {
        stricter(actions, Action::RerunSameKey, Verdict::Forbidden, "O8");
    }
    if s.success_evidence {
        stricter(actions, Action::RerunNew, Verdict::Forbidden, "O9");
        stricter(actions, Action::MarkFailed, Verdict::Dual, "O9");
    }
    if s.newer_guarded || s.success_elsewhere {
        stricter(actions, Action::RerunSameKey, Verdict::Forbidden, "O9a");
        stricter(actions, Action::RerunNew, Verdict::Forbidden, "O9a");
        if s.success_elsewhere && s.is_guarded() && !s.ever_sent {
            *recommended = Action::Cancel;
        }
    }
    let declared = s.compensation_declared && !s.compensation_window_over;
    if (!declared && s.cancel_by_key.is_none()) || s.compensated {
        stricter(actions, Action::Compensate, Verdict::Forbidden, "O10");
    }
    // An effect that is there too often is undone whatever builds on the step.
    if s.dependent_stands && s.is_proved_success() {
        stricter(actions, Action::Compensate, Verdict::Forbidden, "T30");
    }
}

/// 22a and 22b: a cancel by key may be asked for while the operation is uncertain.
fn cancel_by_key(actions: &mut [ActionRuling], recommended: &mut Action, s: &Situation) {
    let Some(cancel) = s.cancel_by_key.filter(|_| s.is_uncertain()) else { return };
    if cancel.commutative {
        allow(actions, Action::Compensate, Verdict::Confirm, "22b");
        stricter(actions, Action::RerunNew, Verdict::Forbidden, "22b");
        *recommended = Action::Compensate;
    } else if cancel.noop_on_absent {
        allow(actions, Action::Compensate, Verdict::Confirm, "22a");
        stricter(actions, Action::MarkFailed, Verdict::Forbidden, "22a");
        stricter(actions, Action::RerunNew, Verdict::Forbidden, "22a");
    }
}

/// O4 and O5.
fn dual_control(actions: &mut [ActionRuling], s: &Situation) {
    let overlay = match s.class {
        Class::Irreversible => "O4",
        Class::Reversible if s.above_threshold => "O5",
        Class::Read | Class::Idempotent | Class::Reversible => return,
    };
    for action in [Action::MarkSucceeded, Action::MarkFailed, Action::RerunNew, Action::Compensate] {
        stricter(actions, action, Verdict::Dual, overlay);
    }
    if s.any_open {
        stricter(actions, Action::RerunSameKey, Verdict::Confirm, overlay);
    }
}

/// O11: a program gets nothing that asks for a person, but the rerun that T28 admits.
pub(super) fn apply_to_automations(actions: &mut [ActionRuling], s: &Situation) {
    if !s.automation {
        return;
    }
    let never_sent_or_proved = match s.state {
        State::Cancelled | State::Denied | State::ApprovalExpired => !s.any_open,
        State::Failed(failure) => !s.any_open && failure != crate::operation::Failure::Attested,
        _ => false,
    };
    for ruling in actions.iter_mut() {
        let admitted = ruling.action == Action::RerunNew && ruling.verdict == Verdict::Confirm && never_sent_or_proved;
        if matches!(ruling.verdict, Verdict::Confirm | Verdict::Dual) && !admitted {
            ruling.verdict = Verdict::Forbidden;
            ruling.overlays.push("O11".into());
        }
    }
}

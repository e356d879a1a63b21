//! The verdicts on the other actions (semantics 6.3).

use crate::action::Action;
use crate::decision::{ActionRuling, Child, Situation, Verdict};
use crate::operation::{Contradiction, Failure, State};
use crate::policy::SafetyRule;
use crate::tool::Class;

/// Sets the verdict of every action that 6.1 has no column for.
pub(super) fn apply(actions: &mut [ActionRuling], s: &Situation) {
    let rerun_new = actions.iter().find(|ruling| ruling.action == Action::RerunNew).map(|ruling| ruling.verdict);
    for ruling in actions.iter_mut() {
        let verdict = match ruling.action {
            Action::LookUp
            | Action::RerunSameKey
            | Action::RerunNew
            | Action::MarkSucceeded
            | Action::MarkFailed
            | Action::Compensate => continue,
            Action::Adopt => adopt(s),
            Action::ChangeArguments => change_arguments(s, rerun_new.unwrap_or(Verdict::Forbidden)),
            Action::Approve => approve(s, s.state == State::Proposed || awaits_renewal(s)),
            Action::Renew => approve(s, s.state == State::ApprovalExpired || awaits_renewal(s)),
            Action::Deny => deny(s),
            Action::Revoke => {
                if s.approval_live {
                    Verdict::Safe
                } else {
                    Verdict::NotOffered
                }
            }
            Action::Cancel => cancel(s),
            Action::GrantAttempts => grant_attempts(s),
            Action::PickVerdict => when(matches!(s.state, State::Contradicted(_)), Verdict::Dual),
            Action::Waive => waive(s),
            Action::AttachEvidence | Action::Escalate | Action::Assign | Action::Comment => Verdict::Safe,
            Action::DismissFinding => Verdict::Confirm,
        };
        ruling.verdict = verdict;
    }
}

fn when(holds: bool, verdict: Verdict) -> Verdict {
    if holds { verdict } else { Verdict::NotOffered }
}

fn adopt(s: &Situation) -> Verdict {
    if s.is_guarded() {
        return Verdict::NotOffered;
    }
    let may_be_adopted = match s.state {
        State::Proposed
        | State::Authorized
        | State::Uncertain(_)
        | State::Failed(_)
        | State::Denied
        | State::Cancelled => true,
        State::Claimed
        | State::Executing
        | State::RetryWait(_)
        | State::Succeeded(_)
        | State::Contradicted(_)
        | State::ApprovalExpired
        | State::Superseded => false,
    };
    let free = !s.success_evidence && !s.success_elsewhere && !s.guarded_at_work;
    if may_be_adopted && free && s.executable { Verdict::Confirm } else { Verdict::Forbidden }
}

fn change_arguments(s: &Situation, rerun_new: Verdict) -> Verdict {
    if !s.is_guarded() {
        return Verdict::Forbidden;
    }
    let nothing_sent =
        matches!(s.state, State::Proposed | State::Authorized | State::ApprovalExpired) && !s.intent_sent;
    if nothing_sent {
        return Verdict::Safe;
    }
    // T5, overlay 1 aside: that one is about this very action.
    let edits_in_place = s.is_uncertain() && !s.policy.keeps(SafetyRule::ArgsChangeIsRerunNew);
    if edits_in_place { Verdict::Safe } else { rerun_new }
}

fn awaits_renewal(s: &Situation) -> bool {
    s.is_uncertain() && !s.approval_live
}

fn approve(s: &Situation, awaits: bool) -> Verdict {
    let by_the_proposer = s.actor_proposed && !s.lone_override;
    if !s.is_guarded() || !awaits || by_the_proposer || s.automation || s.question_open {
        return Verdict::Forbidden;
    }
    if s.class == Class::Irreversible || s.actor_proposed { Verdict::Confirm } else { Verdict::Safe }
}

fn deny(s: &Situation) -> Verdict {
    match (s.is_guarded() && s.state == State::Proposed, s.conflict_open) {
        (false, _) => Verdict::Forbidden,
        (true, true) => Verdict::Confirm,
        (true, false) => Verdict::Safe,
    }
}

fn cancel(s: &Situation) -> Verdict {
    let stoppable =
        matches!(s.state, State::Proposed | State::Authorized | State::RetryWait(_) | State::ApprovalExpired);
    if s.is_guarded() && stoppable && !s.any_open { Verdict::Safe } else { Verdict::Forbidden }
}

fn grant_attempts(s: &Situation) -> Verdict {
    let used_up =
        matches!(s.state, State::Failed(Failure::Budget | Failure::Deadline)) || (s.is_uncertain() && s.budget_spent);
    match (s.is_guarded() && used_up, s.class) {
        (false, _) => Verdict::Forbidden,
        (true, Class::Irreversible) => Verdict::Dual,
        (true, Class::Read | Class::Idempotent | Class::Reversible) => Verdict::Confirm,
    }
}

fn waive(s: &Situation) -> Verdict {
    let surplus = matches!(s.state, State::Contradicted(Contradiction::Duplicate | Contradiction::DuplicateLikely));
    when(s.child == Child::Stuck || (surplus && s.surplus_standing), Verdict::Dual)
}

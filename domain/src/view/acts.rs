//! The life of a guarded operation on its timeline: approvals, leases, orders, grants, risks.

use super::arguments::difference_view;
use super::timeline::{Item, Sign};
use super::{Lens, Moment};
use crate::approval::{Approval, Approver};
use crate::operation::{Fact, Stop};
use crate::permission::Actor;

/// The item of a fact that only guarded operations have; none for the others.
pub(super) fn guarded_item(fact: &Fact, secret_fields: &[String], lens: &Lens<'_>) -> Option<Item> {
    let at = fact.at();
    let item = |sign, title: String| Item::new(lens, at, sign, title);
    let person = |by: &Actor, what: &str| item(Sign::Person, format!("{} {what}", by.name));
    let both = |actors: &[Actor], what: &str| {
        let names: Vec<&str> = actors.iter().map(|actor| actor.name.as_str()).collect();
        item(Sign::Person, format!("{} {what}", names.join(" and ")))
    };
    let short = |moment: Moment| moment.short;
    Some(match fact {
        Fact::Approved(approval) => approval_item(approval, lens),
        Fact::Revoked { by, reason, .. } => person(by, "took the approval back").quoting(reason),
        Fact::Stopped { how, successor, by, reason, .. } => {
            person(by, stop_words(*how)).noting(successor.as_ref().map(|id| format!("operation {id}"))).quoting(reason)
        }
        Fact::SuccessorMade { child, by, reason, .. } => {
            person(by, "made a new operation from it").noting([format!("operation {child}")]).quoting(reason)
        }
        Fact::ArgumentsChanged { proposal, changes, reason } => {
            let by = proposal.by.as_ref().map(|by| format!("by {}", lens.name(by)));
            let mut changed = item(Sign::Proposal, "Arguments were changed".to_owned())
                .saying("Nothing had been sent; earlier approvals no longer count")
                .noting(by)
                .quoting(reason);
            changed.difference = (!changes.is_empty()).then(|| difference_view(changes, secret_fields));
            changed
        }
        Fact::Claimed(claim) => item(Sign::History, format!("Claimed by {}", claim.worker))
            .saying("The right to send, with an end")
            .noting([format!("epoch {}", claim.epoch), format!("until {}", short(lens.moment(claim.until)))]),
        Fact::LeaseRenewed { epoch, until, .. } => item(Sign::History, "Lease renewed".to_owned())
            .noting([format!("epoch {epoch}"), format!("until {}", short(lens.moment(*until)))]),
        Fact::Released { epoch, reason, .. } => item(Sign::History, "Lease given back".to_owned())
            .saying(format!("Nothing was sent under it: {reason}"))
            .noting([format!("epoch {epoch}")]),
        Fact::SenderGone { incarnation, proof, .. } => {
            item(Sign::History, format!("Process {incarnation} has ended")).saying(format!("Proved by {proof}"))
        }
        Fact::Granted { attempts, deadline, actors, reason, .. } => both(actors, "granted more")
            .noting([format!("{attempts} attempts")])
            .noting(deadline.map(|end| format!("until {}", short(lens.moment(end)))))
            .quoting(reason),
        Fact::RepeatOrdered { by, reason, .. } => {
            person(by, "ordered a repeat under the same key").saying("It may execute now").quoting(reason)
        }
        Fact::LookUpOrdered { by, .. } => person(by, "asked for a look-up"),
        Fact::RiskAccepted { attempts, permits, actors, reason, .. } => {
            let names: Vec<String> = attempts.iter().map(ToString::to_string).collect();
            both(actors, "accepted a risk")
                .saying(format!("These may still succeed: {}", names.join(", ")))
                .noting([format!("operation {permits}")])
                .quoting(reason)
        }
        Fact::SameIntentAsked { other, .. } => item(Sign::Conflict, "Same intent?".to_owned())
            .saying("Another operation has equal intent fields; a person answers before anything is approved")
            .noting([format!("operation {other}")]),
        Fact::SameIntentAnswered { other, is_same, by, reason, .. } => {
            let what = if *is_same { "said it is the same intent" } else { "said it is a separate intent" };
            person(by, what).noting([format!("operation {other}")]).quoting(reason)
        }
        Fact::Restored { backup_at, epoch, .. } => item(Sign::History, "Restored from a copy".to_owned())
            .saying("Sends after the copy are forgotten; it may have been sent")
            .noting([format!("copy of {}", short(lens.moment(*backup_at))), format!("epoch {epoch}")]),
        Fact::Waived { receipt, actors, reason, .. } => both(actors, "left it standing")
            .noting(receipt.as_ref().map(|receipt| format!("receipt {receipt}")))
            .quoting(reason),
        Fact::FindingDismissed { code, by, reason, .. } => {
            person(by, "put a finding away").noting([code.replace('_', " ")]).quoting(reason)
        }
        Fact::Proposed(_)
        | Fact::Conflict { .. }
        | Fact::AuthorizedElsewhere { .. }
        | Fact::Report(_)
        | Fact::ClaimRefused { .. }
        | Fact::Evidence(_)
        | Fact::ActedElsewhere { .. }
        | Fact::CompensationProposed { .. }
        | Fact::Resolved(_)
        | Fact::SecondPersonAsked(_)
        | Fact::SecondPersonDeclined { .. }
        | Fact::Adopted { .. }
        | Fact::Assigned { .. }
        | Fact::Commented { .. }
        | Fact::Escalated { .. } => return None,
    })
}

const fn stop_words(how: Stop) -> &'static str {
    match how {
        Stop::Denied => "denied it",
        Stop::Cancelled => "cancelled it",
        Stop::Superseded => "replaced it by another operation",
    }
}

fn approval_item(approval: &Approval, lens: &Lens<'_>) -> Item {
    let title = match &approval.approver {
        Approver::Person(by) => format!("{} approved it", by.name),
        Approver::Policy => "Approved by the tool’s policy".to_owned(),
    };
    let alone = approval.alone.then(|| "no second person exists: the proposer approved".to_owned());
    Item::new(lens, approval.granted_at, Sign::Person, title)
        .saying("One effect with exactly these arguments")
        .noting([format!("until {}", lens.moment(approval.expires_at).short)])
        .noting([format!("arguments version {}", approval.args_version)])
        .noting(alone)
}

//! The approvals page: what waits for an authorization, in groups, each with what it counts.

use serde::{Deserialize, Serialize};

use super::arguments::{DifferenceView, difference_view};
use super::list::capped;
use super::operation::class_words;
use super::{Lens, Moment, encoded, stake_in_words, target_in_words};
use crate::name::{DestinationName, ToolName};
use crate::operation::{Fact, FieldChange, Reason, Record};
use crate::time::Timestamp;
use crate::tool::Tool;

/// The page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalsView {
    /// `7 operations wait for an authorization`
    pub words: String,
    /// The groups that hold something, in their order.
    pub groups: Vec<ApprovalGroup>,
    /// What is left out, for each reason of the queue: words, and where all of it is.
    pub left_out: Vec<(String, String)>,
    /// When it was read.
    pub as_of: Moment,
    /// The newest change that it shows.
    pub sequence: String,
}

/// Operations that wait for the same kind of look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalGroup {
    /// Its name in the page's addresses.
    pub id: String,
    /// What it counts: `2 proposals whose arguments changed`.
    pub title: String,
    /// What a person is asked.
    pub note: String,
    /// Its operations, the most urgent first.
    pub rows: Vec<ApprovalLine>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalLine {
    /// Its page.
    pub href: String,
    /// Its key.
    pub key: String,
    /// Tool → destination, and what kind of side effect that has.
    pub target: String,
    /// What is at stake.
    pub stake: Option<String>,
    /// Who asks.
    pub asker: String,
    /// How long it has waited.
    pub age: String,
    /// Since when.
    pub since: Moment,
    /// Until when it can be done.
    pub until: UntilView,
    /// The form, and what it does.
    pub form: (String, String),
    /// What else a person should know before they open it.
    pub notes: Vec<String>,
    /// How its arguments differ, each time with what from.
    pub changes: Vec<(String, DifferenceView)>,
}

/// Until when something can be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntilView {
    /// In words: `to be done by`, `ran out`, `no time limit`.
    pub words: String,
    /// When, where there is a time.
    pub at: Option<Moment>,
    /// Whether that time has passed.
    pub is_over: bool,
}

/// Which look an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    SecondPerson,
    New,
    Changed,
    Rerun,
    Undo,
    Expired,
}

impl Look {
    const ALL: [Self; 6] = [Self::SecondPerson, Self::New, Self::Changed, Self::Rerun, Self::Undo, Self::Expired];

    const fn id(self) -> &'static str {
        match self {
            Self::SecondPerson => "second-person",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Rerun => "reruns",
            Self::Undo => "undos",
            Self::Expired => "expired",
        }
    }

    /// What a heading says of one, and of several.
    const fn nouns(self) -> (&'static str, &'static str) {
        match self {
            Self::SecondPerson => ("action that waits for a second person", "actions that wait for a second person"),
            Self::New => ("new proposal", "new proposals"),
            Self::Changed => ("proposal whose arguments changed", "proposals whose arguments changed"),
            Self::Rerun => ("rerun or take-over", "reruns and take-overs"),
            Self::Undo => ("undo of another operation", "undos of other operations"),
            Self::Expired => ("approval that ran out", "approvals that ran out"),
        }
    }

    const fn note(self) -> &'static str {
        match self {
            Self::SecondPerson => {
                "One person has asked for it. Somebody else completes or declines it; until then nothing is done."
            }
            Self::New => "Nobody has approved them, and nothing of them was sent.",
            Self::Changed => {
                "Other arguments than were proposed or approved before. An approval covers exactly the arguments it was given for, so each needs one of its own."
            }
            Self::Rerun => {
                "A new operation of an intent that was attempted before. Look at what came of the earlier one."
            }
            Self::Undo => "Each undoes what another operation did, once it is approved.",
            Self::Expired => {
                "They were approved, and the time ran out before they were done. Renewing covers the same arguments."
            }
        }
    }
}

/// One operation as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// Why it waits.
    pub reason: Reason,
    /// Identity, facts and row.
    pub record: &'a Record,
    /// Its tool, where it is declared.
    pub tool: Option<&'a Tool>,
    /// The operation it comes after: its key, and how the arguments differ where that is known.
    pub earlier: Option<(&'a str, Option<&'a [FieldChange]>)>,
}

impl Waiting<'_> {
    fn look(&self) -> Look {
        let head = &self.record.head;
        match self.reason {
            Reason::AwaitsSecondPerson => Look::SecondPerson,
            Reason::ApprovalExpired => Look::Expired,
            _ if self.has_other_arguments() => Look::Changed,
            _ if head.compensates.is_some() => Look::Undo,
            _ if self.earlier.is_some() => Look::Rerun,
            _ => Look::New,
        }
    }

    fn has_other_arguments(&self) -> bool {
        let differs = self.earlier.and_then(|(_, changes)| changes).is_some_and(|changes| !changes.is_empty());
        let is_change = |fact: &Fact| matches!(fact, Fact::ArgumentsChanged { .. } | Fact::Conflict { .. });
        differs || self.record.facts.acts().any(is_change)
    }

    fn secrets(&self) -> &[String] {
        self.tool.and_then(|tool| tool.contract.secret_fields.as_deref()).unwrap_or_default()
    }

    /// Every difference that a person should see, with what it is a difference from.
    fn changes(&self) -> Vec<(String, DifferenceView)> {
        let approved = self.record.approvals().map(|approval| approval.args_version).max();
        let mut version = 1;
        let mut told = Vec::new();
        for fact in self.record.facts.acts() {
            match fact {
                Fact::ArgumentsChanged { changes, .. } => {
                    let from = if approved == Some(version) { ", which was approved" } else { "" };
                    told.push((format!("version {} from version {version}{from}", version + 1), changes.as_slice()));
                    version += 1;
                }
                Fact::Conflict { changes, .. } => {
                    told.push(("proposed under the same key, and not taken".to_owned(), changes.as_slice()));
                }
                _ => {}
            }
        }
        if let Some((key, Some(changes))) = self.earlier {
            told.push((format!("from the arguments of {key}"), changes));
        }
        let shown = told.into_iter().filter(|(_, changes)| !changes.is_empty());
        shown.map(|(from, changes)| (from, difference_view(changes, self.secrets()))).collect()
    }

    fn notes(&self, lens: &Lens<'_>) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(awaited) = self.record.awaited_act() {
            let act = &awaited.act;
            notes.push(format!(
                "{} · asked by {}: {}",
                act.input.action().label(),
                lens.name(&act.actor.id),
                act.reason
            ));
        }
        if let Some((key, changes)) = self.earlier {
            let same = match changes {
                Some([]) => ", with the same arguments",
                Some(_) => "",
                None => "; the arguments are too large to be compared here",
            };
            notes.push(format!("After {key}{same}."));
        }
        if let Some(other) = self.record.unanswered_question() {
            notes
                .push(format!("First to be answered: is it the same intent as {other}? It cannot be approved before."));
        }
        notes
    }

    fn asked_at(&self, now: Timestamp) -> Timestamp {
        let awaited = self.record.awaited_act().map(|awaited| awaited.asked_at);
        awaited.or_else(|| self.record.row.as_ref().map(|row| row.since)).unwrap_or(now)
    }

    fn asker(&self, lens: &Lens<'_>) -> String {
        if let Some(awaited) = self.record.awaited_act() {
            return lens.name(&awaited.act.actor.id);
        }
        let last = self.record.all_proposals().last();
        let by = last.and_then(|proposal| proposal.by.as_ref().map(|by| lens.name(by)));
        by.or_else(|| last.map(|proposal| proposal.source.to_string())).unwrap_or_else(|| "not told".into())
    }

    fn until(&self, lens: &Lens<'_>) -> UntilView {
        if self.reason == Reason::ApprovalExpired
            && let Some(expired) = self.record.approvals().map(|approval| approval.expires_at).max()
        {
            return UntilView { words: "ran out".into(), at: Some(lens.moment(expired)), is_over: true };
        }
        match self.record.all_proposals().filter_map(|proposal| proposal.deadline).max() {
            Some(deadline) => UntilView {
                words: "to be done by".into(),
                at: Some(lens.moment(deadline)),
                is_over: deadline <= lens.now,
            },
            None => UntilView { words: "no time limit".into(), at: None, is_over: false },
        }
    }

    fn form(&self) -> (String, String) {
        let id = encoded(self.record.head.id.as_str());
        match (self.reason, self.record.awaited_act()) {
            (_, Some(awaited)) => {
                (format!("/actions/{}", encoded(awaited.act.key.as_str())), "Complete or decline".into())
            }
            (Reason::ApprovalExpired, None) => (format!("/operations/{id}/renew"), "Renew".into()),
            _ if self.record.unanswered_question().is_some() => {
                (format!("/operations/{id}"), "Answer the question".into())
            }
            _ => (format!("/operations/{id}/approve"), "Approve".into()),
        }
    }

    fn line(&self, lens: &Lens<'_>) -> ApprovalLine {
        let head = &self.record.head;
        let target = target_in_words(
            head.tool.as_ref().map(ToolName::as_str),
            head.destination.as_ref().map(DestinationName::as_str),
        );
        let class = self.record.row.as_ref().map(|row| format!(" · {}", class_words(row.class))).unwrap_or_default();
        let since = self.asked_at(lens.now);
        ApprovalLine {
            href: format!("/operations/{}", encoded(head.id.as_str())),
            key: head.key.to_string(),
            target: format!("{target}{class}"),
            stake: stake_in_words(self.record.row.as_ref().and_then(|row| row.impact.as_ref())),
            asker: self.asker(lens),
            age: lens.age(since),
            since: lens.moment(since),
            until: self.until(lens),
            form: self.form(),
            notes: self.notes(lens),
            changes: self.changes(),
        }
    }
}

/// The page of these operations. `counts` is how many wait for each reason.
pub fn approvals_view(
    waiting: &[Waiting<'_>],
    counts: impl Fn(Reason) -> u32,
    reasons: &[Reason],
    sequence: String,
    lens: &Lens<'_>,
) -> ApprovalsView {
    let group = |look: Look| {
        let rows: Vec<ApprovalLine> =
            waiting.iter().filter(|one| one.look() == look).map(|one| one.line(lens)).collect();
        let (one, many) = look.nouns();
        (!rows.is_empty()).then(|| ApprovalGroup {
            id: look.id().into(),
            title: super::counted(rows.len(), one, many),
            note: look.note().into(),
            rows,
        })
    };
    let left_out = reasons.iter().filter_map(|reason| {
        let shown = u32::try_from(waiting.iter().filter(|one| one.reason == *reason).count()).unwrap_or(u32::MAX);
        let all = counts(*reason);
        (all > shown).then(|| {
            let words = format!("{}: the {shown} most urgent of {} are shown", reason.label(), capped(all));
            (words, format!("/?reason={}", reason.name()))
        })
    });
    let total: Vec<u32> = reasons.iter().map(|reason| counts(*reason)).collect();
    let is_one = total.iter().sum::<u32>() == 1;
    let all = super::list::capped_sum(total);
    let noun = if is_one { "operation waits" } else { "operations wait" };
    ApprovalsView {
        words: format!("{all} {noun} for an authorization"),
        groups: Look::ALL.into_iter().filter_map(group).collect(),
        left_out: left_out.collect(),
        as_of: lens.moment(lens.now),
        sequence,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::{at, lens};
    use super::*;
    use crate::action::ActionInput;
    use crate::contract::Contract;
    use crate::name::PrincipalId;
    use crate::operation::Proposal;
    use crate::rig::{Rig, keyed};
    use crate::tool::Class;

    fn waiting(record: &Record) -> Waiting<'_> {
        let reason = record.row.as_ref().unwrap().attention.unwrap().reason;
        Waiting { reason, record, tool: None, earlier: None }
    }

    fn view(waiting: &[Waiting<'_>]) -> ApprovalsView {
        let names =
            BTreeMap::from([("agent".to_owned(), "Billing agent".to_owned()), ("ana".to_owned(), "Ana".to_owned())]);
        let of = |reason| u32::try_from(waiting.iter().filter(|one| one.reason == reason).count()).unwrap();
        let reasons = [Reason::AwaitsSecondPerson, Reason::AwaitsApproval, Reason::ApprovalExpired];
        approvals_view(waiting, of, &reasons, "7".into(), &lens(&names))
    }

    #[test]
    fn a_new_proposal_says_who_asks_until_when_and_leads_to_its_form() {
        let mut rig = Rig::new(Class::Reversible, keyed());
        let head = rig.head("op", crate::operation::Mode::Guarded, "invoice:1");
        rig.propose_as(head, Some(at("2030-01-01T00:00:00Z")));
        let page = view(&[waiting(rig.record("op"))]);
        assert_eq!(page.words, "1 operation waits for an authorization");
        let [group] = page.groups.as_slice() else { panic!("{page:?}") };
        assert_eq!((group.id.as_str(), group.title.as_str()), ("new", "1 new proposal"));
        let row = &group.rows[0];
        assert_eq!((row.asker.as_str(), row.form.0.as_str()), ("Billing agent", "/operations/op/approve"));
        assert_eq!(row.until.words, "to be done by");
        assert!(row.target.ends_with("reversible"), "{}", row.target);
    }

    #[test]
    fn other_arguments_are_a_group_of_their_own_with_what_they_differ_from() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        let change =
            FieldChange { path: "/amount".into(), before: Some("100".into()), after: Some("900".into()), note: None };
        let proposal = Proposal {
            at: rig.now,
            source: crate::rig::ours(),
            name: crate::name::SourceOperation::parse("op").unwrap(),
            arguments: Some(Rig::arguments(r#"{"amount":900}"#)),
            contract: None,
            deadline: None,
            impact: None,
            tool_call_id: None,
            by: PrincipalId::parse("ana").ok(),
        };
        rig.tell("op", Fact::ArgumentsChanged { proposal, changes: vec![change], reason: "a typing error".into() });
        let page = view(&[waiting(rig.record("op"))]);
        let group = &page.groups[0];
        assert_eq!((group.id.as_str(), group.title.as_str()), ("changed", "1 proposal whose arguments changed"));
        let (from, difference) = &group.rows[0].changes[0];
        let lines = &difference.lines;
        assert_eq!(from, "version 2 from version 1, which was approved");
        assert_eq!((lines[0].before.as_deref(), lines[0].after.as_deref()), (Some("100"), Some("900")));
        assert_eq!(group.rows[0].asker, "Ana");
    }

    #[test]
    fn what_is_hidden_by_the_tool_is_hidden_in_a_difference() {
        let mut rig = Rig::new(Class::Reversible, keyed());
        rig.propose("op", "invoice:1");
        let change =
            FieldChange { path: "/card".into(), before: Some("4242".into()), after: Some("4000".into()), note: None };
        let mut tool = rig.tool.clone();
        tool.contract = Contract { secret_fields: Some(vec!["card".into()]), ..Contract::default() };
        let changes = [change];
        let one =
            Waiting { tool: Some(&tool), earlier: Some(("invoice:0", Some(&changes))), ..waiting(rig.record("op")) };
        let page = view(&[one]);
        let text = format!("{page:?}");
        assert!(text.contains("from the arguments of invoice:0") && !text.contains("4242"), "{text}");
    }

    #[test]
    fn a_second_person_an_expired_approval_and_a_rerun_each_have_their_form() {
        let mut rig = Rig::uncertain(Class::Irreversible, keyed());
        let asked = rig.press("ana", "op", ActionInput::MarkFailed {}).unwrap();
        assert_eq!(asked.outcome, crate::transition::ActOutcome::AwaitsSecondPerson);
        let second = view(&[waiting(rig.record("op"))]);
        let row = &second.groups[0].rows[0];
        assert_eq!((second.groups[0].id.as_str(), row.asker.as_str()), ("second-person", "Ana"));
        assert!(
            row.form.0.starts_with("/actions/press-") && row.notes[0].starts_with("Mark failed · asked by Ana"),
            "{row:?}"
        );

        let mut late = Rig::approved(Class::Reversible, keyed());
        late.wait(9 * 3_600);
        let expired = view(&[waiting(late.record("op"))]);
        let row = &expired.groups[0].rows[0];
        assert_eq!((expired.groups[0].title.as_str(), row.form.1.as_str()), ("1 approval that ran out", "Renew"));
        assert!(row.until.is_over && row.until.at.is_some());

        let mut again = Rig::new(Class::Reversible, keyed());
        again.propose("op", "invoice:1");
        let same = Waiting { earlier: Some(("invoice:0", Some(&[]))), ..waiting(again.record("op")) };
        let rerun = view(&[same]);
        assert_eq!(rerun.groups[0].id, "reruns");
        assert_eq!(rerun.groups[0].rows[0].notes, ["After invoice:0, with the same arguments."]);
    }

    #[test]
    fn what_is_not_shown_is_told_and_the_queue_has_it() {
        let page = approvals_view(&[], |_| 1_000, &[Reason::AwaitsApproval], "7".into(), &lens(&BTreeMap::new()));
        assert_eq!(page.words, "999+ operations wait for an authorization");
        let (words, href) = &page.left_out[0];
        assert_eq!(
            (words.as_str(), href.as_str()),
            ("Awaits approval: the 0 most urgent of 999+ are shown", "/?reason=awaits_approval")
        );
    }
}

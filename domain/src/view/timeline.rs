//! The timeline of an operation: attempts, evidence and people's acts, newest first; equal neighbours are one line.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::acts::guarded_item;
use super::arguments::{DifferenceView, difference_view};
use super::lanes::mark_of;
use super::rules::{RuleLine, rules_of_attempt};
use super::{Lens, Moment};
use crate::attempt::ReportedOutcome;
use crate::evidence::{Claim, Evidence, LinkedBy, Strength, Trust};
use crate::name::SourceName;
use crate::operation::{Fact, Mark, Proposal, Record, Resolution, ResolutionKind};
use crate::outcome::{JudgedAttempt, Outcome};
use crate::permission::Actor;
use crate::time::{Timestamp, span_in_words};

/// The most entries on one page.
const ENTRIES: usize = 50;
/// The most that one entry names of those that were the same; the record itself has them all.
const REPEATS_NAMED: usize = 50;

/// A page of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineView {
    /// Its entries, newest first.
    pub items: Vec<Item>,
    /// Which of them these are: `newest first`, `entries 51 to 100 of 312, newest first`.
    pub words: String,
    /// How many are passed over on the page with the newer ones; nothing where these are the newest.
    pub newer: Option<String>,
    /// How many are passed over on the page with the older ones; nothing where there are none.
    pub older: Option<String>,
}

/// What sign stands beside an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// A send, drawn as its notch.
    Attempt(Mark),
    /// A proposal.
    Proposal,
    /// A proposal that was not taken.
    Conflict,
    /// A delivery.
    Delivery,
    /// A look-up.
    LookUp,
    /// Somebody's act.
    Person,
    /// What a source says that somebody did.
    History,
    /// An undo.
    Undo,
}

/// One line of the timeline, or several equal ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// When; for several, the newest.
    pub at: Moment,
    /// Its sign.
    pub sign: Sign,
    /// `Attempt 2 · not sent`
    pub title: String,
    /// In words.
    pub text: String,
    /// Rule, layer, worker, key and the like, as short notes.
    pub notes: Vec<String>,
    /// The rules behind it, for an attempt.
    pub rules: Vec<RuleLine>,
    /// How strong it is, where that is known.
    pub strength: Option<Strength>,
    /// A person's words.
    pub quote: Option<String>,
    /// How other arguments differ.
    pub difference: Option<DifferenceView>,
    /// The others that were the same.
    pub repeats: Option<Repeats>,
}

/// Items that were the same as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    /// `×37 the same, since 5 Oct 09:00`
    pub label: String,
    /// Which and when, newest first, as far as they are named.
    pub lines: Vec<Repeat>,
    /// How many of them are not named.
    pub more: Option<String>,
}

/// One of several equal items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// When.
    pub at: Moment,
    /// Which one.
    pub title: String,
}

/// An item with what it is sorted and merged by.
struct Dated {
    at: Timestamp,
    /// Equal signatures of neighbours are one line; none is never merged.
    signature: Option<String>,
    item: Item,
}

impl Item {
    pub(super) fn new(lens: &Lens<'_>, at: Timestamp, sign: Sign, title: impl Into<String>) -> Self {
        Self {
            at: lens.moment(at),
            sign,
            title: title.into(),
            text: String::new(),
            notes: Vec::new(),
            rules: Vec::new(),
            strength: None,
            quote: None,
            difference: None,
            repeats: None,
        }
    }

    pub(super) fn saying(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    pub(super) fn noting(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    pub(super) fn quoting(mut self, words: &str) -> Self {
        self.quote = (!words.trim().is_empty()).then(|| words.to_owned());
        self
    }
}

/// The timeline, without its newest `passed_over` entries. `trust` says how far a source is believed.
pub fn timeline(
    record: &Record,
    outcome: &Outcome,
    secret_fields: &[String],
    trust: &dyn Fn(&SourceName) -> Option<Trust>,
    passed_over: usize,
    lens: &Lens<'_>,
) -> TimelineView {
    let own = outcome.attempts.iter().map(|attempt| attempt_item(attempt, false, lens));
    let inherited = outcome.inherited.iter().map(|attempt| attempt_item(attempt, true, lens));
    let mut first_proposal_seen = false;
    let facts = record.facts.iter().filter_map(|fact| {
        let is_first = matches!(fact, Fact::Proposed(_)) && !std::mem::replace(&mut first_proposal_seen, true);
        fact_item(fact, is_first, secret_fields, trust, lens)
    });
    let mut items: Vec<Dated> = own.chain(inherited).chain(facts).collect();
    items.sort_by_key(|item| Reverse(item.at));
    page(merge(items, lens), passed_over)
}

fn page(mut items: Vec<Item>, passed_over: usize) -> TimelineView {
    let all = items.len();
    let from = if passed_over < all { passed_over } else { 0 };
    let to = (from + ENTRIES).min(all);
    items.truncate(to);
    items.drain(..from);
    let words = if items.len() == all {
        "newest first".to_owned()
    } else {
        format!("entries {} to {to} of {all}, newest first", from + 1)
    };
    TimelineView {
        items,
        words,
        newer: (from > 0).then(|| from.saturating_sub(ENTRIES).to_string()),
        older: (to < all).then(|| to.to_string()),
    }
}

fn merge(items: Vec<Dated>, lens: &Lens<'_>) -> Vec<Item> {
    let mut merged: Vec<(Item, Vec<Dated>)> = Vec::new();
    let mut last_signature: Option<String> = None;
    for mut dated in items {
        let signature = dated.signature.take();
        match merged.last_mut() {
            Some((_, same)) if signature.is_some() && signature == last_signature => same.push(dated),
            _ => merged.push((dated.item, Vec::new())),
        }
        last_signature = signature;
    }
    merged.into_iter().map(|(item, same)| Item { repeats: repeats(&same, lens), ..item }).collect()
}

fn repeats(same: &[Dated], lens: &Lens<'_>) -> Option<Repeats> {
    let oldest = same.last()?;
    let unnamed = same.len().saturating_sub(REPEATS_NAMED);
    let named = same.iter().take(REPEATS_NAMED);
    Some(Repeats {
        label: format!("×{} the same, since {}", same.len() + 1, lens.moment(oldest.at).short),
        lines: named.map(|one| Repeat { at: one.item.at.clone(), title: one.item.title.clone() }).collect(),
        more: (unnamed > 0).then(|| format!("{unnamed} older ones are named only in the raw record.")),
    })
}

const fn mark_title(mark: Mark) -> &'static str {
    match mark {
        Mark::Running => "running",
        Mark::Unknown => "unknown",
        Mark::NotSent => "not sent",
        Mark::Refused => "refused",
        Mark::Confirmed => "confirmed",
    }
}

const fn outcome_words(outcome: ReportedOutcome) -> &'static str {
    match outcome {
        ReportedOutcome::Ok => "reported as ok",
        ReportedOutcome::Rejected => "reported as rejected",
        ReportedOutcome::Error => "reported as an error",
        ReportedOutcome::Timeout => "reported as a timeout",
        ReportedOutcome::ConnLost => "reported as a lost connection",
        ReportedOutcome::Throttled => "reported as throttled",
        ReportedOutcome::Abandoned => "reported as abandoned",
    }
}

fn attempt_item(attempt: &JudgedAttempt, is_inherited: bool, lens: &Lens<'_>) -> Dated {
    let mark = mark_of(attempt);
    let at = attempt.ended_at.unwrap_or(attempt.dispatched_at);
    let prefix = if is_inherited { "Inherited attempt" } else { "Attempt" };
    let mut notes = vec![attempt.judgement.rule.to_string()];
    notes.extend(attempt.owner.as_ref().map(|layer| format!("layer {layer}")));
    let mut told: Vec<String> = attempt.http.map(|status| format!("HTTP {status}")).into_iter().collect();
    told.extend(attempt.error.as_ref().map(|error| format!("error {error}")));
    told.extend(attempt.dest_key.as_ref().map(|key| format!("key sent {key}")));
    told.extend(attempt.closed.as_ref().map(|closure| format!("closed by {}", closure.rule)));
    told.extend(attempt.replayed.then(|| "a replayed, stored answer".to_owned()));
    told.extend(attempt.reported_by.as_ref().map(|by| format!("reported by {by}")));
    told.extend(attempt.overlaps.then(|| "began before the one before it had ended".to_owned()));
    told.extend(attempt.is_possible_send.then(|| "only a claim is known: a possible send".to_owned()));
    told.extend(attempt.reported.map(|outcome| outcome_words(outcome).to_owned()));
    let text = attempt_text(attempt);
    // How long each took, and in which process, does not make them different.
    let signature = format!("{mark:?}{prefix}{text}{notes:?}{told:?}");
    notes.extend(attempt.ended_at.map(|end| format!("took {}", span_in_words(end.since(attempt.dispatched_at)))));
    notes.extend(told);
    notes.extend(attempt.worker.as_ref().map(|worker| format!("worker {worker}")));
    let title = format!("{prefix} {} · {}", attempt.number, mark_title(mark));
    let mut item = Item::new(lens, at, Sign::Attempt(mark), title).saying(text).noting(notes);
    item.strength = Some(attempt.judgement.strength);
    item.rules = rules_of_attempt(attempt);
    Dated { at, signature: Some(signature), item }
}

/// What its own answer proves; where something else closed it, that comes first.
fn attempt_text(attempt: &JudgedAttempt) -> String {
    let own = &attempt.judgement.text;
    let Some(closure) = attempt.closed.as_ref().filter(|closure| closure.rule != "K1") else {
        return own.to_string();
    };
    match &closure.receipt {
        Some(receipt) => format!("receipt {receipt} is credited to it; by itself: {own}"),
        None => format!("settled by another fact; by itself: {own}"),
    }
}

fn fact_item(
    fact: &Fact,
    is_first: bool,
    secret_fields: &[String],
    trust: &dyn Fn(&SourceName) -> Option<Trust>,
    lens: &Lens<'_>,
) -> Option<Dated> {
    let at = fact.at();
    let item = |sign, title: String| Item::new(lens, at, sign, title);
    let person = |by: &Actor, what: &str| item(Sign::Person, format!("{} {what}", by.name));
    let made = match fact {
        // Reports are shown as the attempts that they speak of.
        Fact::Report(_) => return None,
        Fact::Proposed(proposal) => proposal_item(proposal, is_first, lens),
        Fact::Conflict { proposal, changes } => {
            let mut conflict = item(Sign::Conflict, format!("Proposed with other arguments as {}", proposal.name))
                .saying("Same key, other arguments: not taken, kept for a person to see")
                .noting([format!("source {}", proposal.source)]);
            conflict.difference = (!changes.is_empty()).then(|| difference_view(changes, secret_fields));
            conflict
        }
        Fact::AuthorizedElsewhere { by, expires_at, .. } => {
            item(Sign::History, format!("Authorized at the source by {}", by.as_deref().unwrap_or("somebody")))
                .saying("History: it is no approval here")
                .noting(expires_at.map(|end| format!("until {}", lens.moment(end).short)))
        }
        Fact::ClaimRefused { claim, reason, .. } => {
            item(Sign::History, format!("Claim {claim} was refused at the source"))
                .saying(reason.clone().unwrap_or_default())
        }
        Fact::Evidence(evidence) => evidence_item(evidence, trust(&evidence.source), lens),
        Fact::ActedElsewhere { verb, by, .. } => {
            item(Sign::History, format!("{} at the source by {}", verb, by.as_deref().unwrap_or("somebody")))
                .saying("History: it commands nothing here")
        }
        Fact::CompensationProposed { child, .. } => {
            item(Sign::Undo, "An undo was proposed".to_owned()).noting([format!("operation {child}")])
        }
        Fact::Resolved(resolution) => resolution_item(resolution, lens),
        Fact::SecondPersonAsked(awaited) => person(
            &awaited.act.actor,
            &format!("asked to {}; a second person must agree", lower_label(awaited.act.input.action().label())),
        )
        .quoting(&awaited.act.reason),
        Fact::SecondPersonDeclined { by, reason, .. } => person(by, "declined it as the second person").quoting(reason),
        Fact::Adopted { child, statement, by, reason, .. } => person(by, "took it over as a guarded operation")
            .saying(format!("Statement: {statement}"))
            .noting([format!("operation {child}")])
            .quoting(reason),
        Fact::Assigned { to, by, reason, .. } => match to {
            Some(to) if *to == by.id => person(by, "took it"),
            Some(to) => person(by, &format!("gave it to {}", lens.name(to))),
            None => person(by, "gave it back"),
        }
        .quoting(reason),
        Fact::Commented { by, text, .. } => person(by, "commented").quoting(text),
        Fact::Escalated { by, reason, .. } => person(by, "escalated it").quoting(reason),
        guarded => guarded_item(guarded, secret_fields, lens)?,
    };
    Some(Dated { at, signature: signature_of(fact), item: made })
}

/// Look-ups with the same answer from the same source in a row are one line.
fn signature_of(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Evidence(Evidence {
            claim: claim @ (Claim::Absent | Claim::Unavailable | Claim::Ambiguous | Claim::Likely),
            source,
            linked_by,
            ..
        }) => Some(format!("{claim:?}{source}{linked_by:?}")),
        _ => None,
    }
}

/// A label inside a sentence.
fn lower_label(label: &str) -> String {
    let mut letters = label.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn proposal_item(proposal: &Proposal, is_first: bool, lens: &Lens<'_>) -> Item {
    let title = if is_first { "Proposed".to_owned() } else { format!("Proposed again as {}", proposal.name) };
    let text = if is_first { "" } else { "The same operation under another name; no second one was made" };
    let by = proposal.by.as_ref().map(|by| format!("by {}", lens.name(by)));
    Item::new(lens, proposal.at, Sign::Proposal, title)
        .saying(text)
        .noting([format!("source {}", proposal.source)])
        .noting(by)
        .noting(proposal.deadline.map(|deadline| format!("deadline {}", lens.moment(deadline).short)))
        .noting(proposal.tool_call_id.as_ref().map(|id| format!("tool call {id}")))
}

/// How a fact was linked.
pub(super) const fn link_words(link: LinkedBy) -> &'static str {
    match link {
        LinkedBy::Key => "linked by key",
        LinkedBy::Receipt => "linked by receipt",
        LinkedBy::Metadata => "linked by our id in its metadata",
        LinkedBy::NaturalKey => "linked by business fields",
        LinkedBy::Manual => "linked by a person",
    }
}

fn evidence_item(evidence: &Evidence, trust: Option<Trust>, lens: &Lens<'_>) -> Item {
    let is_look_up = evidence.sent_at.is_some();
    let (title, text) = match &evidence.claim {
        Claim::Executed { receipt } if is_look_up => (format!("Look-up found {receipt}"), "The object exists"),
        Claim::Executed { receipt } => (format!("Delivery names {receipt}"), "The object exists, says the destination"),
        Claim::NotOurs { receipt, fault } => {
            let how = if is_look_up { "Look-up found" } else { "Delivery names" };
            (format!("{how} {receipt}, which is not ours: {}", fault.phrase()), "No effect of this operation")
        }
        Claim::Reversed { receipt } => {
            (format!("{receipt} failed or was reversed"), "The object is gone or failed afterwards")
        }
        Claim::Absent => {
            ("Look-up: absent".to_owned(), "Nothing was found. A hint, unless the contract makes it proof (K6)")
        }
        Claim::Likely => {
            let how = if is_look_up { "Look-up" } else { "Delivery" };
            (format!("{how}: something that may be ours"), "Likely, not proved")
        }
        Claim::Unavailable => ("Look-up could not be made".to_owned(), "It says nothing about the outcome"),
        Claim::Ambiguous => ("Look-up found several candidates".to_owned(), "It cannot be told which one is ours"),
        Claim::CancelledByKey { found: true } => {
            ("Cancelled by key".to_owned(), "Something was there; it is cancelled")
        }
        Claim::CancelledByKey { found: false } => {
            ("Cancelled by key: nothing was there".to_owned(), "It may still arrive, until a second check agrees (K7)")
        }
    };
    let sign = if is_look_up
        || !matches!(evidence.claim, Claim::Executed { .. } | Claim::Reversed { .. } | Claim::NotOurs { .. })
    {
        Sign::LookUp
    } else {
        Sign::Delivery
    };
    let mut notes = vec![
        format!("source {}{}", evidence.source, trust.map_or(String::new(), |trust| format!(" ({})", trust.name()))),
        link_words(evidence.linked_by).to_owned(),
    ];
    notes.extend(evidence.provider_time.map(|at| format!("destination's time {}", lens.moment(at).short)));
    notes.extend(evidence.sent_at.map(|at| format!("asked at {}", lens.moment(at).short)));
    let mut item = Item::new(lens, evidence.at, sign, title).saying(text).noting(notes);
    item.strength = trust.map(|trust| match evidence.claim {
        Claim::Executed { .. } | Claim::Reversed { .. } => Strength::P3.min(trust.cap()),
        Claim::CancelledByKey { .. } => Strength::P2.min(trust.cap()),
        Claim::NotOurs { .. } | Claim::Absent | Claim::Likely | Claim::Unavailable | Claim::Ambiguous => Strength::Hint,
    });
    item
}

fn resolution_item(resolution: &Resolution, lens: &Lens<'_>) -> Item {
    let what = match resolution.kind {
        ResolutionKind::Succeeded => "marked it succeeded",
        ResolutionKind::Failed => "marked it failed",
        ResolutionKind::PickSucceeded => "picked: succeeded",
        ResolutionKind::PickFailed => "picked: failed",
    };
    let names: Vec<&str> = resolution.actors.iter().map(|actor| actor.name.as_str()).collect();
    let cited = resolution.receipt.as_ref().map(|receipt| format!("cites receipt {receipt}"));
    let mut item = Item::new(lens, resolution.at, Sign::Person, format!("{} {what}", names.join(" and ")))
        .saying("A person's statement: it proves nothing to a later rule")
        .noting(cited)
        .noting(resolution.reference.as_ref().map(|reference| format!("reference {reference}")))
        .noting([format!("version {}", resolution.version)])
        .quoting(&resolution.reason);
    item.strength = Some(Strength::P0);
    item
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::attempt::AttemptRef;
    use crate::name::{LayerName, OperationId, SourceOperation};
    use crate::operation::Doubt;
    use crate::verdict::{Judgement, Verdict};
    use crate::view::tests::{at, lens};

    pub fn attempt(number: u32) -> JudgedAttempt {
        JudgedAttempt {
            id: AttemptRef::new(SourceOperation::parse("op_1").unwrap(), None, Some(number)),
            operation: OperationId::parse("0190").unwrap(),
            number,
            owner: Some(LayerName::parse("tool").unwrap()),
            worker: Some(format!("w-{number}").into()),
            dest_key: None,
            args_hash: None,
            lease_s: None,
            budget: None,
            dispatched_at: at("2026-10-05T09:00:02Z"),
            ended_at: Some(at("2026-10-05T09:00:32Z")),
            runs_until: at("2026-10-05T09:00:32Z"),
            is_running: false,
            is_possible_send: false,
            reported: Some(ReportedOutcome::Timeout),
            reported_by: None,
            http: None,
            error: None,
            receipt: None,
            object: None,
            replayed: false,
            retry_after: None,
            judgement: Judgement {
                verdict: Verdict::Unknown(Doubt::Timeout),
                rule: "E12".into(),
                strength: Strength::Hint,
                text: "no answer after the request was written".into(),
            },
            closed: None,
            overlaps: false,
            trust: Trust::Declared,
            key_from: at("2026-10-05T09:00:02Z"),
            sent: None,
            is_restored: false,
            sender_ended: true,
            is_accepted_risk: false,
        }
    }

    #[test]
    fn equal_neighbours_are_one_line_that_names_the_others() {
        let names = BTreeMap::new();
        let lens = lens(&names);
        let mut odd = attempt(3);
        odd.http = Some(500);
        odd.ended_at = Some(at("2026-10-05T09:00:40Z"));
        let items = merge([odd, attempt(2), attempt(1)].map(|one| attempt_item(&one, false, &lens)).into(), &lens);
        assert_eq!(items.len(), 2);
        assert_eq!((items[0].title.as_str(), &items[0].repeats), ("Attempt 3 · unknown", &None));
        let same = items[1].repeats.as_ref().unwrap();
        assert_eq!(same.label, "×2 the same, since 5 Oct 09:00");
        assert_eq!((same.lines[0].title.as_str(), &same.more), ("Attempt 1 · unknown", &None));
    }

    #[test]
    fn another_key_and_an_overlap_are_never_folded_away() {
        let names = BTreeMap::new();
        let lens = lens(&names);
        let mut other_key = attempt(2);
        other_key.dest_key = crate::name::DestinationKey::parse("b2").ok();
        let mut overlaps = attempt(3);
        overlaps.overlaps = true;
        let all = [overlaps, other_key, attempt(1)];
        assert_eq!(merge(all.map(|one| attempt_item(&one, false, &lens)).into(), &lens).len(), 3);
    }

    #[test]
    fn many_that_are_the_same_are_counted_and_named_up_to_a_limit() {
        let names = BTreeMap::new();
        let lens = lens(&names);
        let all = (1..=500).rev().map(|number| attempt_item(&attempt(number), false, &lens)).collect();
        let items = merge(all, &lens);
        let same = items[0].repeats.as_ref().unwrap();
        assert_eq!((items.len(), items[0].title.as_str(), same.lines.len()), (1, "Attempt 500 · unknown", 50));
        assert!(same.label.starts_with("×500 the same"), "{same:?}");
        assert_eq!(same.more.as_deref(), Some("449 older ones are named only in the raw record."));
    }

    #[test]
    fn pages_of_a_long_timeline_follow_each_other_and_show_each_entry_once() {
        let names = BTreeMap::new();
        let entry =
            |number: u32| Item::new(&lens(&names), at("2026-10-05T09:00:00Z"), Sign::Person, number.to_string());
        let all: Vec<Item> = (1..=120).map(entry).collect();
        let (mut seen, mut next, mut words) = (Vec::new(), Some("0".to_owned()), Vec::new());
        while let Some(from) = next {
            let shown = page(all.clone(), from.parse().unwrap());
            seen.extend(shown.items);
            words.push((shown.words, shown.newer));
            next = shown.older;
        }
        assert_eq!(seen, all);
        assert_eq!(words[0], ("entries 1 to 50 of 120, newest first".into(), None));
        assert_eq!(words[2], ("entries 101 to 120 of 120, newest first".into(), Some("50".into())));
        let short = page(all[..50].to_vec(), 0);
        assert_eq!((short.words.as_str(), short.older), ("newest first", None));
        assert_eq!(page(all.clone(), 9_999).items[0].title, "1", "an address of more than there is shows the newest");
    }

    #[test]
    fn an_attempt_names_its_rule_layer_and_duration() {
        let names = BTreeMap::new();
        let item = attempt_item(&attempt(1), false, &lens(&names)).item;
        assert_eq!(item.sign, Sign::Attempt(Mark::Unknown));
        assert_eq!(item.notes[..3], ["E12".to_owned(), "layer tool".into(), "took 30 s".into()]);
    }

    #[test]
    fn evidence_is_no_stronger_than_its_source() {
        let names = BTreeMap::new();
        let evidence = Evidence {
            id: "evt_a".into(),
            source: SourceName::parse("psp").unwrap(),
            claim: Claim::Executed { receipt: crate::name::Receipt::parse("pi_A").unwrap() },
            object: None,
            linked_by: LinkedBy::Key,
            key: None,
            at: at("2026-10-05T09:00:41Z"),
            provider_time: None,
            sent_at: None,
        };
        let strength = |trust| evidence_item(&evidence, trust, &lens(&names)).strength;
        assert_eq!(strength(Some(Trust::Verified)), Some(Strength::P3));
        assert_eq!(strength(Some(Trust::Declared)), Some(Strength::P2));
        assert_eq!(strength(Some(Trust::Unknown)), Some(Strength::Hint));
        assert_eq!(strength(None), None);
    }
}

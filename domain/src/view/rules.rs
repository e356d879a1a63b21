//! Every rule in one plain sentence, for whoever meets its number for the first time. The rules themselves are code
//! elsewhere; nothing is decided here.

use serde::{Deserialize, Serialize};

use super::decision::row_name;
use crate::counting::in_ranges;
use crate::decision::{ActionRuling, Ruling, Verdict};
use crate::outcome::{JudgedAttempt, Outcome};

/// A rule that spoke, with its sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleLine {
    /// Its number: `E12`.
    pub id: String,
    /// Of what it spoke, where that is not plain: `Attempts 1, 2`.
    pub about: Option<String>,
    /// What it says.
    pub sentence: String,
}

impl RuleLine {
    fn new(id: impl Into<String>, about: Option<String>) -> Self {
        let id = id.into();
        let sentence = rule_sentence(&id).unwrap_or("A rule of another edition.").to_owned();
        Self { id, about, sentence }
    }
}

/// Rules that spoke of the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleGroup {
    /// Of what.
    pub title: String,
    /// Each once.
    pub rules: Vec<RuleLine>,
}

/// Every rule behind an operation's state, its attempts and the decision.
pub fn rule_groups(outcome: &Outcome, ruling: &Ruling) -> Vec<RuleGroup> {
    let state = vec![RuleLine::new(outcome.fold_rule.as_str(), None)];
    let attempts: Vec<&JudgedAttempt> = outcome.attempts.iter().chain(&outcome.inherited).collect();
    let mut verdicts = Gathered::default();
    for attempt in attempts.iter().filter(|attempt| !attempt.is_running) {
        verdicts.note(&attempt.judgement.rule, attempt.number);
    }
    let mut closers = Gathered::default();
    for attempt in &attempts {
        if let Some(closure) = &attempt.closed {
            closers.note(&closure.rule, attempt.number);
        }
    }
    let mut decision = vec![RuleLine::new(row_name(&ruling.row), None)];
    let (mut forbidding, mut stricter) = (Gathered::default(), Gathered::default());
    for action in ruling.actions.iter().filter(|action| action.verdict != Verdict::NotOffered) {
        let label = action.action.label().to_lowercase();
        action.forbidden_by.iter().for_each(|row| forbidding.note(&row_name(row), label.clone()));
        action.overlays.iter().for_each(|overlay| stricter.note(overlay, label.clone()));
    }
    decision.extend(forbidding.lines(|labels| format!("forbids {}", labels.join(", "))));
    decision.extend(stricter.lines(|labels| format!("on {}", labels.join(", "))));
    [
        ("The state", state),
        ("What each answer proves", verdicts.lines(attempts_in_words)),
        ("Why attempts are closed", closers.lines(attempts_in_words)),
        ("What may be done", decision),
    ]
    .into_iter()
    .filter(|(_, rules)| !rules.is_empty())
    .map(|(title, rules)| RuleGroup { title: title.into(), rules })
    .collect()
}

/// The rules behind one attempt's verdict, and what closed it.
pub fn rules_of_attempt(attempt: &JudgedAttempt) -> Vec<RuleLine> {
    let judged = (!attempt.is_running).then(|| RuleLine::new(attempt.judgement.rule.as_ref(), None));
    let closed = attempt.closed.as_ref().map(|closure| RuleLine::new(closure.rule.as_ref(), Some("closes it".into())));
    judged.into_iter().chain(closed).collect()
}

/// The rules behind the verdict on one action.
pub fn rules_of_action(row: &str, one: &ActionRuling) -> Vec<RuleLine> {
    let others = one.forbidden_by.iter().filter(|other| *other != row);
    let others = others.map(|row| RuleLine::new(row_name(row), Some("forbids it".into())));
    let overlays = one.overlays.iter().map(|overlay| RuleLine::new(overlay.as_str(), None));
    [RuleLine::new(row_name(row), None)].into_iter().chain(others).chain(overlays).collect()
}

/// Rules with all of which they spoke, in the order in which they came.
#[derive(Default)]
struct Gathered<T>(Vec<(String, Vec<T>)>);

impl<T> Gathered<T> {
    fn note(&mut self, id: &str, about: T) {
        match self.0.iter_mut().find(|(known, _)| known == id) {
            Some((_, all)) => all.push(about),
            None => self.0.push((id.to_owned(), vec![about])),
        }
    }

    fn lines(self, words: impl Fn(Vec<T>) -> String) -> Vec<RuleLine> {
        self.0.into_iter().map(|(id, all)| RuleLine::new(id, Some(words(all)))).collect()
    }
}

fn attempts_in_words(numbers: Vec<u32>) -> String {
    format!("attempt {}", in_ranges(numbers))
}

/// What a rule says, by its number as pages print it: `E12`, `K1`, `F14`, `T15`, `row 21`, `O4`, `22a`.
pub fn rule_sentence(id: &str) -> Option<&'static str> {
    let families = [VERDICTS, CLOSERS, FOLD, TRANSITIONS, ROWS, OVERLAYS];
    families.into_iter().flatten().find(|(known, _)| *known == id).map(|(_, sentence)| *sentence)
}

/// What a family of rules is about, by a number of it.
pub fn rule_family(id: &str) -> &'static str {
    match id.bytes().next() {
        Some(b'E') => "what one answer proves",
        Some(b'K') => "what closes an attempt",
        Some(b'F') => "what the facts together say",
        Some(b'T') => "how a state changes",
        Some(b'r') => "what may be done",
        _ => "what makes a decision stricter",
    }
}

/// E: one answer, one verdict.
const VERDICTS: &[(&str, &str)] = &[
    ("E1", "Nothing left before the send was on record, so there is no attempt."),
    ("E2", "It failed on our side before anything was opened: not sent."),
    ("E3", "The address was not found, so nothing can have been sent."),
    ("E4", "The connection was refused, so no request can have arrived."),
    ("E5", "The encrypted connection failed before it stood, so no request can have arrived."),
    ("E6", "The proxy refused the tunnel, so nothing went through it."),
    ("E7", "The library guarantees that it wrote no byte."),
    ("E8", "The protocol guarantees that the destination did not process the request."),
    ("E9", "The stream was reset, which says nothing about what was processed before."),
    ("E10", "The connection broke after bytes had left: what arrived cannot be known."),
    ("E11", "A reused connection closed without an answer; the request may have been carried out."),
    ("E12", "The request was written and no answer came: it may have happened."),
    ("E13", "We stopped waiting; that does not stop the destination."),
    ("E14", "The answer began and was cut off before it proved anything."),
    ("E15", "The answer looks like success, but its receipt is not for our request."),
    ("E16", "A valid receipt: the destination names what it made."),
    ("E17", "The sender died or fell silent, and with it what it knew of the answer."),
    ("E18", "The answer came from a sender that had lost its claim; its content counts all the same."),
    ("E19", "It says that it worked but names no receipt, and a hop between can say so too."),
    ("E20", "Accepted for later: it may still run, or never run."),
    ("E21", "The destination or a hop before it failed, perhaps after acting."),
    ("E22", "Unavailable: proof that it did not run only where the contract says so."),
    ("E23", "Rejected before doing the work, unless a front may answer so after forwarding."),
    ("E24", "The destination ran it and declined as a matter of business."),
    ("E25", "Not found: a refusal for what creates; for what removes it may mean that it is done."),
    ("E26", "The destination says that the request took too long; it may have been complete."),
    ("E27", "An earlier request with this key is still being processed."),
    ("E28", "The object exists already; with an earlier attempt open it may be ours."),
    ("E29", "The precondition was false, so this attempt did nothing."),
    ("E30", "The key belongs to a request with other content."),
    ("E31", "An answer that says it was not carried out."),
    ("E32", "A limiter refused it before it ran."),
    ("E33", "The answer lies at another address; it points to a request that was carried out."),
    ("E34", "This hop sends elsewhere and did not carry it out; following would send a second copy."),
    ("E35", "The answer was replayed from the first execution under the key; asking again will not tell more."),
    ("E36", "Some of several items applied; each has an answer of its own."),
];

/// K: why an attempt is no longer open.
const CLOSERS: &[(&str, &str)] = &[
    ("K1", "Its own answer is proof, and closes this attempt only."),
    ("K2", "A replayed answer is the first execution's, and so the answer of every attempt under that key."),
    ("K3", "A protected repeat was refused; the key makes that the answer of the attempts before it too."),
    ("K4", "The receipt of a success closes the attempts that the key ties to it."),
    ("K5", "The key belongs to another operation that is settled, so this attempt did nothing."),
    ("K6", "A strong look-up, sent late enough, found nothing, and the sender had ended."),
    ("K7", "The key was cancelled with proof, so nothing under it can still happen."),
];

/// F: the steps of the fold, in the order in which they are asked.
const FOLD: &[(&str, &str)] = &[
    ("F1", "We hold a live lease: it is claimed, or executing once something was sent under it."),
    ("F2", "People settled a contradiction, and nothing new disagrees with what they picked."),
    ("F3", "Two or more effects of one intent are known: one is too many."),
    ("F4", "A person said that it failed; evidence says that it happened."),
    ("F5", "The destination says that the object of this success failed or was reversed later."),
    ("F6", "There is evidence of success although every attempt was proved to have done nothing."),
    ("F7", "There is evidence of success although we sent nothing."),
    ("F8", "Exactly one effect is known, by a receipt that this operation holds."),
    ("F9", "A person said that it succeeded; proof says that it did not."),
    ("F10", "A person said that it succeeded. That is a statement, not a proof."),
    ("F11", "A person said that it failed, and by now every attempt is proved to have done nothing."),
    ("F12", "A person said that it failed. That is a statement; evidence is still watched for."),
    ("F13", "It has several items, and their states together are its state."),
    ("F14", "An attempt is open: it may have happened, so the outcome is uncertain."),
    ("F15", "Somebody else's attempt is still running."),
    ("F16", "It was denied, cancelled or replaced, and nothing is open."),
    ("F17", "Nothing is open, and the destination declined it as a matter of business."),
    ("F18", "Nothing is open, and the destination refused it for good."),
    ("F19", "Nothing is open, every attempt did nothing, and attempts or time are used up."),
    ("F20", "Nothing is open and every attempt did nothing: it waits for its next try, or for an approval."),
    ("F21", "Nothing was sent, as far as the records go; approvals alone decide."),
];

/// T: the changes of state.
const TRANSITIONS: &[(&str, &str)] = &[
    ("T1", "It was recorded for the first time."),
    ("T2", "A person, or the policy for harmless tools, approved exactly these arguments."),
    ("T3", "A person refused the proposal."),
    ("T4", "The approval ran out with nothing open."),
    ("T5", "Other arguments after a send make a new operation; the old one keeps its own outcome."),
    ("T6", "It was stopped with nothing open."),
    ("T7", "An approval that had run out was renewed."),
    ("T8", "A sender took the claim. Nothing is sent yet."),
    ("T9", "The claim ended before anything was sent, and everything is as before."),
    ("T10", "The send was put on record, and only then made."),
    ("T11", "A guard refused the send at the last moment."),
    ("T12", "The answer holds a valid receipt."),
    ("T13", "The attempt did nothing and another try is allowed."),
    ("T14", "The attempt did nothing and there will be no other."),
    ("T15", "The answer leaves open whether it happened."),
    ("T16", "The sender's lease ended after a send: uncertain, never back to the queue."),
    ("T17", "It is asked again under the same key, which protects."),
    ("T18", "Proof of success came from elsewhere."),
    ("T19", "Every attempt is proved to have done nothing; it may be tried again."),
    ("T20", "Every attempt is proved to have done nothing, and none will follow."),
    ("T21", "A person stated that it succeeded."),
    ("T22", "A person stated that it failed."),
    ("T23", "Nothing automatic is left to do; it waits for a person."),
    ("T24", "Evidence of success came after it had ended without one."),
    ("T25", "Proof disagrees with a person's statement of success."),
    ("T26", "A second effect, or a reversal, came after success."),
    ("T27", "Two people settled a contradiction by citing evidence."),
    ("T28", "It is run again as a new operation, after proof that nothing happened."),
    ("T29", "It is run again after a statement of failure, after the watch or as an accepted risk."),
    ("T30", "An undo was asked for, as an operation of its own."),
    ("T31", "The undo is proved."),
    ("T32", "The undo does not get on."),
    ("T33", "A stuck undo was tried again, waived, or stated to be done."),
    ("T34", "The approval was taken back; what is open stays open."),
    ("T35", "The contract was corrected; guards use the strictest version since the first send."),
    ("T36", "Other arguments before any send make a new version, which needs its own approval."),
    ("T37", "It was adopted: from now on sent only by us, with what is open inherited."),
    ("T38", "An approval was given or renewed while the outcome is uncertain."),
    ("T39", "The deadline passed with nothing open."),
    ("T40", "Further attempts or more time were granted."),
    ("T41", "The approval is gone, so nothing more is sent."),
    ("T42", "Every attempt did nothing, and no approval is live for another."),
    ("T43", "Two people accepted the risk of a second effect and let a new operation run."),
    ("T44", "The facts came to disagree."),
    ("T45", "The record was restored from a copy and may have forgotten sends."),
    ("T46", "Proof came that agrees with a person's statement."),
    ("T47", "The destination declined it as a matter of business, and nothing is open."),
    ("T48", "A line of its source changed what is known."),
    ("T49", "All items have an outcome."),
];

/// The rows of the decision table.
const ROWS: &[(&str, &str)] = &[
    ("row 2", "A send is running or a lease is held: wait for the answer."),
    ("row 3", "There are two effects of one intent: name the one that stands, undo the other."),
    ("row 4", "It succeeded, by proof: nothing is left to run."),
    ("row 5", "Every attempt did nothing and another try is due: trying again is safe."),
    ("row 6", "Every attempt did nothing; attempts or time are used up."),
    ("row 6a", "It was refused for good: the same request would be refused again."),
    ("row 6b", "It was declined as a matter of business: other arguments are needed."),
    ("row 7", "The outcome is uncertain and no approval is live: a repeat would be an execution nobody approved."),
    ("row 8", "It only reads: repeating it changes nothing."),
    ("row 9", "A repeat gives the same end state, and nobody else writes."),
    ("row 9a", "A repeat gives the same end state, but would undo what others wrote since."),
    ("row 10", "The destination is at our request and the key protects: ask again under it."),
    ("row 10a", "The destination is at our request, but the key is not certain to be kept: look, do not send."),
    ("row 10b", "It was in flight a while ago and the key protects: ask again under it."),
    ("row 10c", "It was in flight a while ago and the key does not protect: look it up."),
    ("row 11", "It was accepted for later and may still run: look it up."),
    ("row 11a", "It was accepted long ago, and a repeat returns the same handle."),
    ("row 11b", "It was accepted long ago and never decided: people settle it."),
    ("row 12", "The key answers with a stored error for ever: only a look-up can tell more."),
    ("row 13", "The key belongs to another request: never send under it, never change it."),
    ("row 14", "The outcome is uncertain, the effect can be undone, and the key protects: ask again under it."),
    (
        "row 15",
        "The outcome is uncertain and the effect cannot be undone: the key protects, but a repeat may be the execution.",
    ),
    ("row 16", "A strong look-up exists, and it is too early for it to mean anything."),
    ("row 17", "A strong look-up finds nothing, but a frozen sender may still send."),
    ("row 18", "No key protects; a look-up exists, and when it finds nothing that is only a hint."),
    ("row 19", "No key protects and a second effect could not be undone; a look-up that finds nothing is only a hint."),
    ("row 20", "No key protects and nothing can be looked up: people find out, while late evidence is awaited."),
    (
        "row 20a",
        "No key protects, nothing can be looked up, and the wait is over: running it again is a risk to accept.",
    ),
    ("row 21", "No key protects, nothing can be looked up, and a second effect could not be undone: nobody may guess."),
    ("row 23", "It looks done but is not proved, and the key returns the stored answer."),
    ("row 23a", "It looks done but is not proved, and no key protects."),
    ("row 24", "Some items applied: each is decided by itself."),
    ("row 25", "A person said that it failed, and the watch for late evidence is running."),
    ("row 26", "A person said that it failed, the watch is over, and a strong look-up agrees."),
    ("row 26a", "A person said that it failed and the watch is over, without proof of absence."),
    ("row 27", "The facts disagree: people settle it by citing evidence."),
    ("row 28", "An undo is on its way: a second one would be an effect of its own."),
    ("row 28a", "An undo does not get on: it is retried by itself, or waived."),
    ("row 29", "The workflow is past the point of no return: go forward."),
    ("row 30", "Region, account or credential changed since the open send: the key means nothing there."),
    ("row 31", "It succeeded on a person's word: look for proof."),
    ("row 32", "It waits for an approval; nothing was sent."),
    ("row 32a", "Somebody else's operation of which no send is on record: it may have run unseen."),
    ("row 33", "It is approved and will be sent."),
    ("row 34", "Its approval ran out; nothing is open."),
    ("row 35", "It was stopped: doing it after all is a new operation."),
    ("row 35a", "Another operation took over: act on that one."),
    ("row none", "No row fits these facts: only a person may go on."),
];

/// The overlays on a row, in their order.
const OVERLAYS: &[(&str, &str)] = &[
    ("O1", "The arguments differ from those on record: propose them as a change."),
    ("22a", "The key can be cancelled, which does no harm where there is nothing to cancel; it needs a second check."),
    ("22b", "The key can be cancelled for good: a request that arrives later stays cancelled."),
    ("O2", "Somebody else's operation is never sent from here: adopt it first."),
    ("O3", "The record was restored from a copy: nothing is sent until that is acknowledged."),
    ("O4", "The effect cannot be undone: two people decide, and a repeat is confirmed."),
    ("O5", "The amount reaches the tool's threshold: two people decide."),
    ("O6", "A success without receipt or reference needs a second person."),
    ("O7", "The contract declares no look-up, so there is none to make."),
    ("O8", "A repeat lacks something: a live approval, an attempt or time left, or a key that protects."),
    ("O9", "There are signs of success already: running it again could double the effect."),
    ("O9a", "Another operation of the same intent is newer or has succeeded: act on that one."),
    ("O10", "No way to undo it is declared, or it is undone or being undone already."),
    ("O11", "A program asks for what only a person may do."),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::action::Action;
    use crate::cases;
    use crate::decision;
    use crate::evidence::Trust;
    use crate::intake::Line;
    use crate::name::SourceName;
    use crate::stream::Stream;

    #[test]
    fn every_rule_has_one_sentence() {
        let numbered = |letter: char, last: u8| (1..=last).map(move |number| format!("{letter}{number}"));
        let rules = numbered('E', 36).chain(numbered('K', 7)).chain(numbered('F', 21)).chain(numbered('T', 49));
        let rows = decision::ROWS.iter().map(|row| format!("row {}", row.id));
        let overlays = numbered('O', 11).chain(["22a".into(), "22b".into(), "O9a".into()]);
        for id in rules.chain(rows).chain(overlays) {
            let sentence = rule_sentence(&id).unwrap_or_else(|| panic!("{id} has no sentence"));
            assert!(sentence.ends_with('.') && sentence.len() <= 120, "{id}: {sentence}");
        }
        assert_eq!(rule_sentence("E99"), None);
    }

    #[test]
    fn the_rules_behind_an_operation_are_grouped_and_name_of_what_they_spoke() {
        let source = SourceName::parse("feed").unwrap();
        let mut stream = Stream::new(source.clone(), Trust::Verified);
        for line in cases::R02.lines() {
            stream.tell(&Line::parse(line.as_bytes(), &source).unwrap()).unwrap();
        }
        let id = stream.records().next().unwrap().head.id.clone();
        stream.wait_until(stream.now().plus(std::time::Duration::from_hours(1))).unwrap();
        let judged = stream.judge(&id).unwrap();
        let groups = rule_groups(&judged.outcome, &judged.ruling);
        let said: Vec<_> = groups
            .iter()
            .flat_map(|group| &group.rules)
            .map(|rule| format!("{} {}", rule.id, rule.about.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(said[..4], ["F14 ", "E12 attempt 1", "E17 attempt 2", "row 21 "]);
        assert!(said.contains(&"22a on mark failed, compensate".to_owned()), "{said:?}");
        let compensate = judged.ruling.on(Action::Compensate).unwrap();
        let ids: Vec<_> = rules_of_action("21", compensate).into_iter().map(|rule| rule.id).collect();
        assert_eq!(ids, ["row 21", "22a", "O4"]);
        let rules = rules_of_attempt(&judged.outcome.attempts[0]);
        assert_eq!(rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>(), ["E12"]);
    }

    #[test]
    fn no_two_rules_say_the_same() {
        let all = [VERDICTS, CLOSERS, FOLD, TRANSITIONS, ROWS, OVERLAYS].into_iter().flatten();
        let sentences: Vec<_> = all.clone().map(|(_, sentence)| sentence).collect();
        assert_eq!(sentences.iter().collect::<BTreeSet<_>>().len(), sentences.len());
        assert_eq!(all.map(|(id, _)| id).collect::<BTreeSet<_>>().len(), sentences.len());
    }
}

//! Arguments for reading: numbers exactly as received, secret fields redacted, versions with their approvals, and
//! differences field by field.

use serde::{Deserialize, Serialize};

use super::{Lens, Moment, with_separators};
use crate::approval::{Approval, Approver};
use crate::contract::REDACTED;
use crate::difference::{Likeness, all_they_differ_in};
use crate::fingerprint::Hash;
use crate::json::Json;
use crate::operation::{Fact, FieldChange, Mode, Proposal, Record};

/// Nested lists can make the pretty text many times as long as what was received; beyond this it goes on one line.
const PRETTY_BYTES: usize = 128 * 1024;
/// The most fields of one difference that are shown.
const FIELDS_SHOWN: usize = 40;
/// The most characters of one value of a difference that are shown, and how many of them before the place that differs.
const VALUE_SHOWN: usize = 400;
const VALUE_BEFORE: usize = 60;

/// The arguments of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentsView {
    /// Pretty, with numbers as written; or the first bytes as received; nothing where they are not shown.
    pub text: Option<String>,
    /// What of them is shown, where it is not all.
    pub note: Option<String>,
    /// The fingerprint that an approval binds to.
    pub args_hash: Option<String>,
    /// The fingerprint of sameness at intake, where it differs.
    pub identity_hash: Option<String>,
    /// How many bytes were received; nothing where no arguments are told.
    pub size: Option<String>,
    /// Whether the tool hides fields of them.
    pub hides: bool,
    /// Each version, the newest first.
    pub versions: Vec<VersionView>,
}

/// What is at hand of the arguments in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtHand<'a> {
    /// All bytes, as received.
    Whole(&'a [u8]),
    /// The first of more bytes than are read for a page.
    Start(&'a [u8]),
    /// None are on record.
    Nothing,
}

/// The arguments as a page shows them.
pub fn arguments_view(
    at_hand: AtHand<'_>,
    record: &Record,
    secret_fields: &[String],
    lens: &Lens<'_>,
) -> ArgumentsView {
    let known = record.arguments();
    let (text, note) = match (at_hand, known) {
        (AtHand::Whole(bytes), _) => match Json::parse(bytes) {
            Ok(mut json) => {
                redact(&mut json, secret_fields);
                let pretty = json.pretty();
                (Some(if pretty.len() > PRETTY_BYTES { json.compact() } else { pretty }), None)
            }
            Err(error) => (None, Some(format!("The stored bytes do not read as JSON: {error}."))),
        },
        (AtHand::Start(bytes), Some(known)) => started(bytes, known.size_bytes, !secret_fields.is_empty()),
        (AtHand::Start(_) | AtHand::Nothing, _) => {
            (None, Some("No arguments are on record: its source did not tell them.".to_owned()))
        }
    };
    let args_hash = known.map(|arguments| arguments.args_hash.to_string());
    let identity_hash =
        known.map(|arguments| arguments.identity_hash.to_string()).filter(|hash| Some(hash) != args_hash.as_ref());
    ArgumentsView {
        text,
        note,
        args_hash,
        identity_hash,
        size: known.map(|arguments| size_in_words(arguments.size_bytes)),
        hides: !secret_fields.is_empty(),
        versions: version_views(record, secret_fields, lens),
    }
}

/// A part of large arguments, as received. What a tool hides cannot be found in a part, so that then nothing is shown.
fn started(bytes: &[u8], size_bytes: u64, hides: bool) -> (Option<String>, Option<String>) {
    let all = with_separators(&size_bytes.to_string(), false);
    if hides {
        let note =
            format!("{all} bytes: too many to find in them here what the tool hides, so nothing of them is shown.");
        return (None, Some(note));
    }
    let text = whole_letters(bytes);
    let shown = with_separators(&text.len().to_string(), false);
    (Some(text.to_owned()), Some(format!("The first {shown} of {all} bytes, as received.")))
}

/// The text of some first bytes, without the letter that the cut went through.
pub(super) fn whole_letters(bytes: &[u8]) -> &str {
    let end = match std::str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    std::str::from_utf8(bytes.get(..end).unwrap_or_default()).unwrap_or_default()
}

/// One version of the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionView {
    /// Its number, from 1.
    pub number: String,
    /// Whether it is in force.
    pub is_in_force: bool,
    /// When it came.
    pub at: Moment,
    /// Who told it.
    pub by: String,
    /// How many bytes were received.
    pub size: String,
    /// Its fingerprint.
    pub args_hash: String,
    /// Which approvals cover it, each in a sentence; or that none does.
    pub approvals: Vec<String>,
    /// How it differs from the version before; nothing for the first.
    pub difference: Option<DifferenceView>,
}

fn version_views(record: &Record, secret_fields: &[String], lens: &Lens<'_>) -> Vec<VersionView> {
    let first = record.proposals().find(|proposal| proposal.arguments.is_some()).map(|proposal| (proposal, None));
    let changed = record.facts.acts().filter_map(|fact| match fact {
        Fact::ArgumentsChanged { proposal, changes, .. } => Some((proposal, Some(changes.as_slice()))),
        _ => None,
    });
    let mut before: Option<Hash> = None;
    let mut views = Vec::new();
    for (number, (proposal, changes)) in (1_u32..).zip(first.into_iter().chain(changed)) {
        let Some(arguments) = &proposal.arguments else { continue };
        views.push(VersionView {
            number: number.to_string(),
            is_in_force: number == record.args_version(),
            at: lens.moment(proposal.at),
            by: teller(proposal, lens),
            size: size_in_words(arguments.size_bytes),
            args_hash: arguments.args_hash.to_string(),
            approvals: approvals_of(record, number, lens),
            difference: changes.map(|changes| {
                let mut view = difference_view(changes, secret_fields);
                if changes.is_empty() {
                    let is_same = before == Some(arguments.args_hash);
                    let words = if is_same { "No field differs." } else { "Too large to be compared here." };
                    view.sentences.push(words.to_owned());
                }
                view
            }),
        });
        before = Some(arguments.args_hash);
    }
    views.reverse();
    views
}

fn teller(proposal: &Proposal, lens: &Lens<'_>) -> String {
    proposal.by.as_ref().map_or_else(|| proposal.source.to_string(), |by| lens.name(by))
}

/// Which approvals cover a version. What was approved elsewhere is history and covers nothing here.
fn approvals_of(record: &Record, number: u32, lens: &Lens<'_>) -> Vec<String> {
    let covering = record.approvals().filter(|approval| approval.args_version == number);
    let mut sentences: Vec<String> = covering.map(|approval| approval_sentence(record, approval, lens)).collect();
    if sentences.is_empty() && record.head.mode == Mode::Guarded {
        sentences.push("No approval covers it.".to_owned());
    }
    sentences
}

fn approval_sentence(record: &Record, approval: &Approval, lens: &Lens<'_>) -> String {
    let by = match &approval.approver {
        Approver::Person(by) => by.name.as_str(),
        Approver::Policy => "the tool’s policy",
    };
    let until = lens.moment(approval.expires_at).short;
    if record.is_revoked(approval) {
        format!("Approved by {by}; taken back.")
    } else if lens.now >= approval.expires_at {
        format!("Approved by {by}; it ran out {until}.")
    } else {
        format!("Approved by {by} until {until}: exactly these arguments.")
    }
}

/// `312 bytes`, `4.2 KiB`, `1.5 MiB`.
pub fn size_in_words(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", tenths(1_024)),
        _ => format!("{} MiB", tenths(1_048_576)),
    }
}

/// How far each rule of a tool has come on the way to a place. A rule hides every member of that very name, at any
/// depth; a JSON pointer (`/card/number`) or dotted path hides the member at that place too. Items of a list stand under
/// their list's rules.
#[derive(Clone)]
struct Way<'r> {
    rules: &'r [String],
    /// For each rule, how many of its parts may be behind us.
    come: Vec<Vec<usize>>,
}

impl<'r> Way<'r> {
    fn from_the_top(rules: &'r [String]) -> Self {
        Self { rules, come: rules.iter().map(|_| vec![0]).collect() }
    }

    /// Further into a member, and whether a rule names it.
    fn at_member(&self, name: &str) -> (Self, bool) {
        self.further(name, false)
    }

    /// Further by one part of a pointer. A number may be the place of an item or the name of a member: both count.
    fn at_part(&self, part: &str) -> (Self, bool) {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        self.further(part, is_number)
    }

    fn further(&self, name: &str, may_be_item: bool) -> (Self, bool) {
        let mut next = self.clone();
        let mut is_named = false;
        for (rule, come) in self.rules.iter().zip(&mut next.come) {
            let rule = rule.trim_start_matches('/');
            let parts: Vec<&str> = rule.split(['/', '.']).collect();
            let stayed = if may_be_item { come.clone() } else { Vec::new() };
            // A name may hold a separator itself: in doubt it is hidden.
            for part in name.split(['/', '.']) {
                come.retain(|at| parts.get(*at) == Some(&part));
                *come = come.iter().map(|at| at + 1).collect();
            }
            is_named |= name == rule || (parts.len() > 1 && come.contains(&parts.len()));
            come.extend(stayed);
            come.sort_unstable();
            come.dedup();
        }
        (next, is_named)
    }

    fn hide_in(&self, json: &mut Json) {
        match json {
            Json::Object(members) => {
                for (name, value) in members {
                    let (further, is_named) = self.at_member(name);
                    if is_named {
                        *value = Json::String(REDACTED.to_owned());
                    } else {
                        further.hide_in(value);
                    }
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
}

/// Hides secret fields by a tool's rules.
pub fn redact(json: &mut Json, secret_fields: &[String]) {
    if !secret_fields.is_empty() {
        Way::from_the_top(secret_fields).hide_in(json);
    }
}

/// How two sets of arguments differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferenceView {
    /// Field by field.
    pub lines: Vec<ChangeLine>,
    /// What holds of all of them, or of what is not shown.
    pub sentences: Vec<String>,
}

/// One difference between two sets of arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeLine {
    /// A JSON pointer.
    pub path: String,
    /// What was there.
    pub before: Option<String>,
    /// What came.
    pub after: Option<String>,
    /// What does not meet the eye.
    pub note: Option<String>,
}

/// Differences with secrets hidden on both sides.
pub fn difference_view(changes: &[FieldChange], secret_fields: &[String]) -> DifferenceView {
    let lines = changes.iter().take(FIELDS_SHOWN).map(|change| change_line(change, secret_fields)).collect();
    let mut sentences: Vec<String> = all_they_differ_in(changes).into_iter().collect();
    if changes.len() > FIELDS_SHOWN {
        let all = with_separators(&changes.len().to_string(), false);
        sentences.push(format!("The first {FIELDS_SHOWN} of {all} fields that differ."));
    }
    DifferenceView { lines, sentences }
}

fn change_line(change: &FieldChange, secret_fields: &[String]) -> ChangeLine {
    let mut way = Way::from_the_top(secret_fields);
    let mut is_hidden = false;
    for part in change.path.split('/').filter(|part| !part.is_empty()) {
        let (further, is_named) = way.at_part(&part.replace("~1", "/").replace("~0", "~"));
        (way, is_hidden) = (further, is_hidden || is_named);
    }
    let shown = |text: &Option<String>| {
        let text = text.as_ref()?;
        Some(if is_hidden { REDACTED.to_owned() } else { hidden_within(text, &way) })
    };
    let (mut before, mut after) = (shown(&change.before), shown(&change.after));
    if let (Some(one), Some(other)) = (&mut before, &mut after) {
        if change.note == Some(Likeness::Composition) {
            (*one, *other) = (spelt_out(one, other), spelt_out(other, one));
        }
        let same = alike_from_the_start(one, other);
        (*one, *other) = (cut(one, same), cut(other, same));
    } else {
        for text in before.iter_mut().chain(&mut after) {
            *text = cut(text, 0);
        }
    }
    ChangeLine {
        path: cut(&change.path, 0),
        before,
        after,
        note: change.note.map(|likeness| likeness.words().to_owned()),
    }
}

fn hidden_within(text: &str, way: &Way<'_>) -> String {
    match Json::parse(text.as_bytes()) {
        Ok(mut json) if !way.rules.is_empty() => {
            way.hide_in(&mut json);
            json.pretty()
        }
        Ok(_) | Err(_) => text.to_owned(),
    }
}

/// How many characters two texts begin with alike.
fn alike_from_the_start(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// A text with the code points written out that differ from another's: where they are composed otherwise, both look alike.
fn spelt_out(text: &str, other: &str) -> String {
    let (length, start) = (text.chars().count(), alike_from_the_start(text, other));
    let end = text.chars().rev().zip(other.chars().rev()).take_while(|(one, other)| one == other).count();
    let mut out = String::new();
    for (at, letter) in text.chars().enumerate() {
        if letter.is_ascii() || at < start || at >= length.saturating_sub(end) {
            out.push(letter);
        } else {
            let mut units = [0; 2];
            out.extend(letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}

/// A long text around the place from which on it differs, and how long it is.
fn cut(text: &str, differs_at: usize) -> String {
    let length = text.chars().count();
    if length <= VALUE_SHOWN {
        return text.to_owned();
    }
    let from = differs_at.saturating_sub(VALUE_BEFORE).min(length - VALUE_SHOWN);
    let shown: String = text.chars().skip(from).take(VALUE_SHOWN).collect();
    let of = |number: usize| with_separators(&number.to_string(), false);
    format!("…{shown}… (characters {} to {} of {})", of(from + 1), of(from + VALUE_SHOWN), of(length))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::action::ActionInput;
    use crate::difference::diff;
    use crate::rig::{Rig, keyed};
    use crate::tool::Class;
    use crate::view::tests::lens;

    fn secrets(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn shown(at_hand: AtHand<'_>, secret_fields: &[String]) -> ArgumentsView {
        let rig = Rig::approved(Class::Reversible, keyed());
        let names = BTreeMap::new();
        arguments_view(at_hand, rig.record("op"), secret_fields, &lens(&names))
    }

    fn redacted(text: &str, rules: &[&str]) -> String {
        let mut json = Json::parse(text.as_bytes()).unwrap();
        redact(&mut json, &secrets(rules));
        json.pretty()
    }

    /// The difference of two objects as it is shown.
    fn difference(before: &str, after: &str, rules: &[&str]) -> DifferenceView {
        let [before, after] = [before, after].map(|text| Json::parse(text.as_bytes()).unwrap());
        difference_view(&diff(&before, &after), &secrets(rules))
    }

    #[test]
    fn big_numbers_keep_every_digit_and_secrets_do_not_show() {
        let bytes = br#"{"ledger_row":1970670598291982290,"card":{"number":"4242"},"customer":"Eva"}"#;
        let view = shown(AtHand::Whole(bytes), &secrets(&["customer", "/card/number"]));
        let text = view.text.unwrap();
        assert!(text.contains("1970670598291982290"), "{text}");
        assert!(!text.contains("4242") && !text.contains("Eva"), "{text}");
        assert_eq!(view.note, None);
    }

    #[test]
    fn a_member_whose_name_holds_a_separator_is_hidden_by_that_name() {
        let text = r#"{"api.key":"s1","a":[{"card/number":"s2"}],"api":{"key":"s3"},"deep":{"api.key":"s4"}}"#;
        let shown = redacted(text, &["api.key", "card/number", "deep.api.key"]);
        assert!(!["s1", "s2", "s3", "s4"].iter().any(|secret| shown.contains(secret)), "{shown}");
    }

    #[test]
    fn a_dotted_rule_hides_only_its_own_member() {
        let text = redacted(r#"{"a":{"token":"x"},"b":{"token":"y"},"list":[{"pin":1}]}"#, &["a.token", "pin"]);
        assert!(!text.contains("\"x\"") && text.contains("\"y\""), "{text}");
        assert!(text.contains(&format!("\"pin\": \"{REDACTED}\"")), "{text}");
    }

    #[test]
    fn a_difference_in_a_secret_field_shows_that_it_differs_and_nothing_else() {
        let (before, after) = (r#"{"amount":124000,"customer":"Eva"}"#, r#"{"amount":142000,"customer":"Ida"}"#);
        let view = difference(before, after, &["customer"]);
        assert_eq!(view.lines[0].after.as_deref(), Some("142000"));
        assert_eq!((view.lines[1].before.as_deref(), view.lines[1].after.as_deref()), (Some(REDACTED), Some(REDACTED)));
    }

    #[test]
    fn the_place_of_an_item_is_no_way_round_a_rule() {
        for (before, after) in [
            (r#"{"cards":[{"number":"42"}]}"#, r#"{"cards":[{"number":"43"}]}"#),
            (r#"{"cards":[[{"number":"42"}]]}"#, r#"{"cards":[[{"number":"43"}]]}"#),
            // The whole item differs in kind, and the secret lies within it.
            (r#"{"cards":[{"number":"42"}]}"#, r#"{"cards":["43"]}"#),
            (r#"{"cards":[{"number":"42"}]}"#, r#"{"cards":[{"number":"43"},{"number":"43"}]}"#),
            (r#"{"cards":{"0":{"number":"42"}}}"#, r#"{"cards":{"0":{"number":"43"}}}"#),
        ] {
            let rules = ["cards.number", "cards.0.number"];
            let text = format!("{:?}", difference(before, after, &rules));
            assert!(!text.contains("42"), "{text}");
            assert!(!text.contains("43") || after.contains("[\"43\"]"), "{text}");
        }
        // A number that is a member's name is one on the way to what lies in a list below it.
        let view = difference(r#"{"a":{"0":[{"b":"42"}]}}"#, r#"{"a":{"0":[{"b":"43"}]}}"#, &["a.0.b"]);
        assert_eq!(view.lines[0].before.as_deref(), Some(REDACTED));
    }

    #[test]
    fn what_looks_alike_is_written_out_where_it_differs() {
        let view = difference(r#"{"payee":"é Caf\u00e9 é"}"#, r#"{"payee":"é Cafe\u0301 é"}"#, &[]);
        let line = &view.lines[0];
        assert_eq!(line.before.as_deref(), Some(r#""é Caf\u00e9 é""#));
        assert_eq!(line.after.as_deref(), Some(r#""é Cafe\u0301 é""#));
        assert_eq!(line.note.as_deref(), Some("differs only in Unicode composition"));
        assert!(view.sentences[0].starts_with("They differ only in Unicode composition"), "{view:?}");
        let hidden = difference(r#"{"payee":"Caf\u00e9"}"#, r#"{"payee":"Cafe\u0301"}"#, &["payee"]);
        assert_eq!(hidden.lines[0].before.as_deref(), Some(REDACTED));
    }

    #[test]
    fn a_long_value_is_shown_around_the_place_that_differs() {
        let text = |end: &str| format!(r#"{{"text":"{}{end}{}"}}"#, "x".repeat(9_000), "y".repeat(100_000));
        let view = difference(&text("A"), &text("B"), &[]);
        let before = view.lines[0].before.as_deref().unwrap();
        assert!(before.contains("xAy") && before.len() < 600, "{before}");
        assert!(before.ends_with("… (characters 8,942 to 9,341 of 109,003)"), "{before}");
        assert!(view.lines[0].after.as_deref().unwrap().contains("xBy"));
    }

    #[test]
    fn of_many_fields_the_first_are_shown_and_the_others_counted() {
        let object = |value: u32| {
            let members: Vec<String> = (0..1_234).map(|name| format!("\"{name}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let view = difference(&object(1), &object(2), &[]);
        assert_eq!(view.lines.len(), FIELDS_SHOWN);
        assert_eq!(view.sentences, ["The first 40 of 1,234 fields that differ."]);
    }

    #[test]
    fn of_large_arguments_the_first_bytes_are_shown_and_counted() {
        let mut rig = Rig::new(Class::Reversible, keyed());
        rig.propose("op", "invoice:1");
        let (names, start) = (BTreeMap::new(), "{\"a\":\"é".as_bytes());
        let size = rig.record("op").arguments().unwrap().size_bytes;
        let view = |bytes, hides: &[&str]| {
            arguments_view(AtHand::Start(bytes), rig.record("op"), &secrets(hides), &lens(&names))
        };
        let whole = view(start, &[]);
        assert_eq!(whole.text.as_deref(), Some("{\"a\":\"é"));
        assert_eq!(whole.note, Some(format!("The first 8 of {size} bytes, as received.")));
        let half_a_letter = view(&start[..7], &[]);
        assert_eq!(half_a_letter.text.as_deref(), Some("{\"a\":\""));
        assert_eq!(half_a_letter.note, Some(format!("The first 6 of {size} bytes, as received.")));
        let hidden = view(start, &["customer"]);
        assert_eq!(hidden.text, None);
        assert!(hidden.note.unwrap().contains("what the tool hides"));
    }

    #[test]
    fn arguments_that_are_missing_say_so() {
        let view = shown(AtHand::Nothing, &[]);
        assert!(view.text.is_none() && view.note.unwrap().contains("did not tell"));
    }

    #[test]
    fn a_few_bytes_that_would_be_a_long_text_stay_on_one_line() {
        let deep = format!("{}{}{}", "[".repeat(120), vec!["1"; 5_000].join(","), "]".repeat(120));
        let bytes = format!("{{\"a\":{deep}}}");
        let text = shown(AtHand::Whole(bytes.as_bytes()), &[]).text.unwrap();
        assert_eq!(text, bytes);
    }

    #[test]
    fn each_version_says_what_covers_it_and_how_it_differs() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        let change = |text: &str| ActionInput::ChangeArguments { arguments: text.into() };
        rig.press("ana", "op", change(r#"{"amount":101}"#)).unwrap();
        let names = BTreeMap::from([("ana".to_owned(), "Ana".to_owned())]);
        let lens = Lens { now: rig.now, ..lens(&names) };
        let versions = arguments_view(AtHand::Nothing, rig.record("op"), &[], &lens).versions;
        let [second, first] = versions.as_slice() else { panic!("{versions:?}") };
        assert_eq!((second.number.as_str(), second.is_in_force, second.by.as_str()), ("2", true, "Ana"));
        assert_eq!(second.approvals, ["No approval covers it."]);
        // The bench knows no bytes, so that nothing could be compared.
        assert_eq!(second.difference.as_ref().unwrap().sentences, ["Too large to be compared here."]);
        assert_eq!((first.number.as_str(), first.is_in_force, first.difference.is_none()), ("1", false, true));
        assert!(first.approvals[0].starts_with("Approved by ben until"), "{:?}", first.approvals);
    }
}

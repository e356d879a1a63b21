//! Operator actions for reading: the audit log, one action's life, and the form of an action.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::arguments::DifferenceView;
use super::bulk::BulkLine;
use super::operation::EntryView;
use super::state::{StateBadge, state_badge};
use super::{Lens, Moment, encoded, with_separators};
use crate::action::{Act, Action, ActionInput, Pick};
use crate::decision::Verdict;
use crate::evidence::{Claim, Evidence};
use crate::name::OperationId;
use crate::operation::{Record, State};
use crate::outcome::{JudgedAttempt, Outcome};
use crate::permission::Actor;
use crate::refusal::Refusal;
use crate::request::Wire;
use crate::time::Timestamp;

/// How far an action has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Refused; nothing was done.
    Refused,
    /// A second person must complete it.
    Awaits,
    /// A second person declined it.
    Declined,
    /// Done.
    Done,
}

impl Standing {
    /// Glyph and words of its badge.
    pub const fn words(self) -> (char, &'static str) {
        match self {
            Self::Refused => ('⊘', "refused, nothing done"),
            Self::Awaits => ('◔', "waits for a second person"),
            Self::Declined => ('✕', "declined"),
            Self::Done => ('●', "done"),
        }
    }

    /// Its class in the style sheet.
    pub const fn tone(self) -> &'static str {
        match self {
            Self::Refused | Self::Declined => "quiet",
            Self::Awaits => "contradicted",
            Self::Done => "good",
        }
    }
}

/// An action as the record has it, in the parts a view is made from.
pub struct ActionParts<'a> {
    /// Its key.
    pub key: &'a str,
    /// On which operation.
    pub operation_id: &'a str,
    /// That operation's key.
    pub operation_key: &'a str,
    /// What was asked.
    pub act: &'a Act,
    /// How far it has come.
    pub standing: Standing,
    /// The second person.
    pub second: Option<&'a Actor>,
    /// Why it was refused.
    pub refusal: Option<&'a Refusal>,
    /// When it was asked.
    pub at: Timestamp,
    /// When it was settled.
    pub settled_at: Option<Timestamp>,
    /// The state before.
    pub from: Option<State>,
    /// The state after.
    pub to: Option<State>,
    /// The version that it made.
    pub made_version: Option<u64>,
    /// The operation that it made.
    pub created: Option<&'a str>,
}

/// One action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionLine {
    /// Its key.
    pub key: String,
    /// Its name in URLs.
    pub name: String,
    /// What was asked.
    pub label: String,
    /// On which operation.
    pub operation_id: String,
    /// That operation's key.
    pub operation_key: String,
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
    /// What was filled in.
    pub fields: Vec<(String, String)>,
    /// How far it has come.
    pub standing: Standing,
    /// Who completed or declined it.
    pub second: Option<String>,
    /// Why it was refused.
    pub refusal: Option<String>,
    /// When it was asked.
    pub at: Moment,
    /// When it was settled.
    pub settled_at: Option<Moment>,
    /// The state before and after, where it changed.
    pub from: Option<StateBadge>,
    /// The state after.
    pub to: Option<StateBadge>,
    /// The version that the person had seen.
    pub seen_version: String,
    /// The version that it made.
    pub made_version: Option<String>,
    /// The operation that it made.
    pub created: Option<String>,
}

/// An action for reading.
pub fn action_line(parts: &ActionParts<'_>, lens: &Lens<'_>) -> ActionLine {
    let action = parts.act.input.action();
    let has_changed = parts.from != parts.to;
    ActionLine {
        key: parts.key.into(),
        name: action.name().into(),
        label: action.label().into(),
        operation_id: parts.operation_id.into(),
        operation_key: parts.operation_key.into(),
        by: parts.act.actor.name.clone(),
        reason: parts.act.reason.clone(),
        fields: field_lines(&parts.act.input, lens),
        standing: parts.standing,
        second: parts.second.map(|actor| actor.name.clone()),
        refusal: parts.refusal.map(ToString::to_string),
        at: lens.moment(parts.at),
        settled_at: parts.settled_at.map(|at| lens.moment(at)),
        from: parts.from.filter(|_| has_changed).map(state_badge),
        to: parts.to.filter(|_| has_changed).map(state_badge),
        seen_version: parts.act.seen_version.to_string(),
        made_version: parts.made_version.map(|version| version.to_string()),
        created: parts.created.map(Into::into),
    }
}

fn field_lines(input: &ActionInput, lens: &Lens<'_>) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut line = |name: &str, value: Option<String>| lines.extend(value.map(|value| (name.to_owned(), value)));
    match input {
        ActionInput::MarkSucceeded { receipt, reference } => {
            line("Receipt", receipt.as_ref().map(ToString::to_string));
            line("Reference", reference.clone());
        }
        ActionInput::Adopt { statement } => line("Statement", Some(statement.clone())),
        ActionInput::PickVerdict { pick, receipt } => {
            line("Pick", Some(pick_words(*pick).to_owned()));
            line("Receipt", receipt.as_ref().map(ToString::to_string));
        }
        ActionInput::Assign { to } => {
            line("To", Some(to.as_ref().map_or_else(|| "nobody".to_owned(), |to| lens.name(to))));
        }
        ActionInput::GrantAttempts { attempts, deadline } => {
            line("Attempts", Some(attempts.to_string()));
            line("Deadline", deadline.map(|at| lens.moment(at).short));
        }
        ActionInput::AttachEvidence { receipt }
        | ActionInput::Compensate { receipt }
        | ActionInput::Waive { receipt } => line("Receipt", receipt.as_ref().map(ToString::to_string)),
        ActionInput::DismissFinding { code } => line("Finding", Some(code.replace('_', " "))),
        // Arguments may hold secrets; the operation's own page shows what may be seen of them.
        ActionInput::ChangeArguments { .. }
        | ActionInput::MarkFailed {}
        | ActionInput::Comment {}
        | ActionInput::Escalate {}
        | ActionInput::LookUp {}
        | ActionInput::RerunSameKey {}
        | ActionInput::RerunNew {}
        | ActionInput::Approve {}
        | ActionInput::Deny {}
        | ActionInput::Renew {}
        | ActionInput::Revoke {}
        | ActionInput::Cancel {} => {}
    }
    lines
}

const fn pick_words(pick: Pick) -> &'static str {
    match pick {
        Pick::Succeeded => "the effect stands",
        Pick::Failed => "there is no effect",
    }
}

/// The audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionsView {
    /// Its rows, newest first.
    pub rows: Vec<ActionLine>,
    /// Where the next page starts.
    pub next: Option<String>,
    /// When it was read.
    pub as_of: Moment,
    /// The operation it is limited to.
    pub operation: Option<(String, String)>,
    /// The kind it is limited to.
    pub kind: Option<String>,
    /// The newest bulk actions, on the first page of all.
    pub bulks: Vec<BulkLine>,
}

/// One action's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionPage {
    /// The action.
    pub line: ActionLine,
    /// What the operation's state is now.
    pub now: Option<StateBadge>,
    /// What followed, once it is done.
    pub followed: Option<Followed>,
    /// What a second person needs, while it waits.
    pub second: Option<SecondForm>,
    /// When it was read.
    pub as_of: Moment,
    /// Why the last press here was refused.
    pub refused: Option<String>,
}

/// What was sent because of an action, and what is known of it: accepted, attempted and confirmed are three words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// Sends or look-ups after it, one a sentence; or why there is none.
    pub attempted: Vec<String>,
    /// Evidence at the destination, where something was sent or asked.
    pub confirmed: Vec<String>,
}

/// How far an action has come at the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reached {
    /// Something was sent, or asked, after it.
    pub is_attempted: bool,
    /// There is evidence of an effect.
    pub is_confirmed: bool,
}

/// How far an action that was done at that time has come: the same that [`followed`] tells in sentences.
pub fn reached(action: Action, done_at: Timestamp, record: &Record, outcome: &Outcome) -> Reached {
    if !action.leads_to_destination() {
        return Reached::default();
    }
    let is_attempted = if action == Action::LookUp {
        looks_after(record, done_at).next().is_some()
    } else {
        sends_after(outcome, done_at).next().is_some()
    };
    Reached { is_attempted, is_confirmed: !outcome.effects.is_empty() }
}

fn sends_after(outcome: &Outcome, at: Timestamp) -> impl Iterator<Item = &JudgedAttempt> {
    outcome.attempts.iter().filter(move |attempt| attempt.sent.is_some() && attempt.dispatched_at >= at)
}

fn looks_after(record: &Record, at: Timestamp) -> impl Iterator<Item = &Evidence> {
    record.evidence().filter(move |evidence| evidence.sent_at.is_some_and(|sent_at| sent_at >= at))
}

/// What followed an action that was done at that time.
pub fn followed(action: Action, done_at: Timestamp, record: &Record, outcome: &Outcome, lens: &Lens<'_>) -> Followed {
    let short = |at: Timestamp| lens.moment(at).short;
    let effects =
        || outcome.effects.iter().map(|effect| format!("Receipt {} ({}).", effect.names(), effect.strength.name()));
    let unless_any = |found: Vec<String>, none: &str| if found.is_empty() { vec![none.to_owned()] } else { found };
    match action {
        Action::Approve | Action::Renew | Action::RerunSameKey => {
            let told = sends_after(outcome, done_at)
                .map(|a| format!("Attempt {}, sent {}: {}.", a.number, short(a.dispatched_at), a.judgement.text));
            let none = if outcome.state.is_final() {
                "Nothing was sent after it."
            } else {
                "Nothing yet: the next free executor sends it, if everything still allows it then."
            };
            let confirmed = unless_any(effects().collect(), "Nothing is confirmed yet.");
            Followed { attempted: unless_any(told.collect(), none), confirmed }
        }
        Action::LookUp => {
            let told = looks_after(record, done_at)
                .map(|evidence| format!("Asked {}: {}.", short(evidence.at), found_words(&evidence.claim)));
            let attempted = unless_any(told.collect(), "Nothing yet: the destination is asked within moments.");
            Followed { attempted, confirmed: unless_any(effects().collect(), "Nothing is confirmed yet.") }
        }
        Action::RerunNew | Action::Compensate | Action::Adopt => Followed {
            attempted: vec![
                "Nothing by itself: what it made is an operation of its own, with its own approval.".to_owned(),
            ],
            confirmed: Vec::new(),
        },
        Action::ChangeArguments
        | Action::MarkSucceeded
        | Action::MarkFailed
        | Action::Deny
        | Action::Revoke
        | Action::Cancel
        | Action::GrantAttempts
        | Action::AttachEvidence
        | Action::PickVerdict
        | Action::Waive
        | Action::Escalate
        | Action::Assign
        | Action::Comment
        | Action::DismissFinding => Followed {
            attempted: vec!["Nothing. This action sends nothing to anybody.".to_owned()],
            confirmed: Vec::new(),
        },
    }
}

fn found_words(claim: &Claim) -> String {
    match claim {
        Claim::Executed { receipt } => format!("found {receipt}"),
        Claim::Reversed { receipt } => format!("found {receipt}, which failed or was reversed"),
        Claim::NotOurs { receipt, fault } => format!("found {receipt}, which is not ours: {}", fault.phrase()),
        Claim::Absent => "found nothing".to_owned(),
        Claim::Likely => "found something that may be ours".to_owned(),
        Claim::Unavailable => "got no answer that could be understood".to_owned(),
        Claim::Ambiguous => "found several candidates".to_owned(),
        Claim::CancelledByKey { .. } => "the key is cancelled".to_owned(),
    }
}

/// What completing or declining needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondForm {
    /// The operation's version now.
    pub seen_version: String,
    /// A fresh key for completing.
    pub complete_key: String,
    /// A fresh key for declining.
    pub decline_key: String,
    /// What must be typed to confirm.
    pub confirm_text: String,
    /// Why the reader cannot complete it; declining may still be open to them.
    pub obstacle: Option<String>,
    /// Whether the reader asked for it, so that declining takes it back.
    pub is_own: bool,
}

/// What a person typed, given back to them after a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Typed {
    /// The reason.
    pub reason: String,
    /// The receipt.
    pub receipt: String,
    /// The reference.
    pub reference: String,
    /// The statement of adopting.
    pub statement: String,
    /// `succeeded` or `failed`.
    pub pick: String,
    /// The new owner's id.
    pub to: String,
    /// The arguments from now on.
    pub arguments: String,
    /// How many attempts more.
    pub attempts: String,
    /// A later deadline.
    pub deadline: String,
    /// The finding's kind.
    pub code: String,
}

/// What was typed into a form whose act is on record.
pub fn typed(act: &Act) -> Typed {
    let mut typed = Typed { reason: act.reason.clone(), ..Typed::default() };
    match &act.input {
        ActionInput::MarkSucceeded { receipt, reference } => {
            typed.receipt = receipt.as_ref().map(ToString::to_string).unwrap_or_default();
            typed.reference = reference.clone().unwrap_or_default();
        }
        ActionInput::Adopt { statement } => typed.statement.clone_from(statement),
        ActionInput::PickVerdict { pick, receipt } => {
            typed.pick = match pick {
                Pick::Succeeded => "succeeded",
                Pick::Failed => "failed",
            }
            .into();
            typed.receipt = receipt.as_ref().map(ToString::to_string).unwrap_or_default();
        }
        ActionInput::Assign { to } => typed.to = to.as_ref().map(ToString::to_string).unwrap_or_default(),
        ActionInput::AttachEvidence { receipt }
        | ActionInput::Compensate { receipt }
        | ActionInput::Waive { receipt } => {
            typed.receipt = receipt.as_ref().map(ToString::to_string).unwrap_or_default();
        }
        ActionInput::ChangeArguments { arguments } => typed.arguments.clone_from(arguments),
        ActionInput::GrantAttempts { attempts, deadline } => {
            typed.attempts = attempts.to_string();
            typed.deadline = deadline.map(|at| at.to_string()).unwrap_or_default();
        }
        ActionInput::DismissFinding { code } => typed.code.clone_from(code),
        ActionInput::MarkFailed {}
        | ActionInput::Comment {}
        | ActionInput::Escalate {}
        | ActionInput::LookUp {}
        | ActionInput::RerunSameKey {}
        | ActionInput::RerunNew {}
        | ActionInput::Approve {}
        | ActionInput::Deny {}
        | ActionInput::Renew {}
        | ActionInput::Revoke {}
        | ActionInput::Cancel {} => {}
    }
    typed
}

/// A refused press, on the form that is shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedView {
    /// What was refused and why, with what to do next.
    pub text: String,
    /// Whether the operation had changed.
    pub is_stale: bool,
    /// The version the person had seen.
    pub seen_version: String,
    /// What changed since, oldest first.
    pub changes: Vec<EntryView>,
    /// How the arguments that were typed differ from those in force.
    pub difference: Option<DifferenceView>,
}

/// How arguments can be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArgumentsForm {
    /// In a field that holds all of them, as they are.
    Field(String),
    /// Only by API: what a field would hold is less than what they are, and would be kept as if it were all.
    ByApi {
        /// Why, and what else the call needs.
        why: String,
        /// The calls, to be copied.
        calls: String,
    },
}

/// How the arguments of an operation are changed by API.
pub fn changed_by_api(why: &str, id: &OperationId, version: u64, needs_confirmation: bool) -> ArgumentsForm {
    let operation = format!("$TALLYSTICK/api/v1/operations/{}", encoded(id.as_str()));
    let token = "-H \"Authorization: Bearer $TOKEN\"";
    let confirmation =
        if needs_confirmation { " Add the member \"confirmation\", with the end of the operation key." } else { "" };
    ArgumentsForm::ByApi {
        why: format!("{why} Get them, change them, and send all of them by API.{confirmation}"),
        calls: format!(
            "curl {token} -o arguments.json \\\n  {operation}/arguments\n\n\
             # Change arguments.json and write why. Then:\n\
             {{ printf '{{\"action\":\"change_arguments\",\"reason\":\"why\",\"arguments\":'; cat arguments.json; printf '}}'; }} |\n  \
             curl {token} -H 'Content-Type: application/json' \\\n    \
             -H 'If-Match: \"{version}\"' -H \"Idempotency-Key: $(uuidgen)\" \\\n    \
             --data-binary @- {operation}/actions"
        ),
    }
}

/// The form of one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormView {
    /// Its name in URLs.
    pub name: String,
    /// What the button says.
    pub label: String,
    /// The operation's id.
    pub operation_id: String,
    /// The operation's key.
    pub operation_key: String,
    /// The operation's state.
    pub badge: StateBadge,
    /// Tool → destination.
    pub target: String,
    /// What is at stake, with the class.
    pub stake: String,
    /// What pressing does, and what it does not.
    pub consequence: Vec<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence why.
    pub why: String,
    /// Rows and overlays.
    pub grounds: Vec<String>,
    /// Why it may not be pressed, when it may not.
    pub obstacle: Option<String>,
    /// Whether a reason must be written.
    pub needs_reason: bool,
    /// What must be typed, where the verdict asks for it.
    pub confirm_text: Option<String>,
    /// The key of this press.
    pub action_key: String,
    /// The version that is shown.
    pub seen_version: String,
    /// What was typed before.
    pub typed: Typed,
    /// The press before, when it was refused.
    pub refused: Option<RefusedView>,
    /// People that it can be given to: id and name.
    pub people: Vec<(String, String)>,
    /// Receipts to choose from.
    pub receipts: Vec<String>,
    /// Findings to choose from: kind and sentence.
    pub findings: Vec<(String, String)>,
    /// How the arguments are changed, where this is the form for it.
    pub arguments: Option<ArgumentsForm>,
    /// The request that goes out, where pressing leads to a send.
    pub preview: Option<PreviewView>,
    /// The reader's own id, to take it.
    pub own_id: String,
    /// When it was read.
    pub as_of: Moment,
}

/// The exact request of a send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewView {
    /// The bytes as they go out, with references where secrets stand; what the tool's rules hide is not shown.
    pub text: Option<String>,
    /// What is to be known of it: which bytes these are, or why there are none to show.
    pub note: String,
}

/// A longer request is shown in part.
const SHOWN_BYTES: usize = 64 * 1024;
/// How much of it.
const PREVIEW_BYTES: usize = 4 * 1024;

/// A request for reading. Where the tool hides fields the body is left out, since a part of it could not be told apart.
pub fn request_preview(wire: &Wire, is_kept: bool, secret_fields: &[String]) -> PreviewView {
    let mut bytes = wire.to_bytes();
    let mut note = if is_kept {
        "These bytes were kept before the first send and go out unchanged.".to_owned()
    } else {
        "These bytes will be kept before the first send, and go out unchanged ever after.".to_owned()
    };
    if !secret_fields.is_empty() {
        bytes.truncate(bytes.len() - wire.body().len());
        note.push_str(" The body is not shown: the tool hides fields of it.");
    }
    if bytes.len() > SHOWN_BYTES {
        let [shown, all] = [PREVIEW_BYTES, bytes.len()].map(|count| with_separators(&count.to_string(), false));
        let _ = write!(note, " Shown are the first {shown} of {all} bytes.");
        bytes.truncate(PREVIEW_BYTES);
    }
    PreviewView { text: Some(String::from_utf8_lossy(&bytes).replace("\r\n", "\n")), note }
}

/// What pressing does, and what it does not do.
pub fn consequence(action: Action, verdict: Verdict) -> Vec<String> {
    let told: &[&str] = match action {
        Action::MarkSucceeded => &[
            "Records your statement that the effect happened. The state becomes succeeded, on a person's word, unless proof is on record.",
            "Nothing is sent anywhere. Proof that arrives later is still taken, and reopens the operation where it disagrees.",
        ],
        Action::MarkFailed => &[
            "Records your statement that the effect did not happen. The state becomes failed, on a person's word.",
            "Nothing is sent or undone. If a success is proved later, the operation comes back as contradicted.",
        ],
        Action::Adopt => &[
            "Makes a new guarded operation of the same intent, which takes over what is open here.",
            "Nothing is sent by this. The other system must have stopped: if it sends again, the effect may double.",
        ],
        Action::PickVerdict => &[
            "Settles the contradiction with your choice. The choice stands until a fact arrives that you have not seen.",
            "Nothing is sent or undone. Each surplus effect must be compensated or waived first.",
        ],
        Action::Waive => &[
            "Records that this effect is left standing though it is one too many, or that an undo is given up.",
            "Nothing is sent or undone. The contradiction is then settled by picking the verdict.",
        ],
        Action::Assign => &["Records whose it is. Nothing else changes."],
        Action::Comment => &["Records your remark on the timeline. Nothing else changes."],
        Action::Escalate => {
            &["Records that the next line must look, with your reason. It changes no state and sends nothing."]
        }
        Action::LookUp => &[
            "Asks the destination once more, now. A look-up reads; it changes nothing there.",
            "What it finds is evidence. What it does not find is proof only where the contract says so, and late enough.",
        ],
        Action::RerunSameKey => &[
            "Orders the same request to be sent once more, under the same key. It may execute now: this is a send, not a question.",
            "It is sent by the next free executor, if everything still allows it then, and counts as an attempt.",
        ],
        Action::RerunNew => &[
            "Makes a new operation of the same intent under a new key. It needs an approval of its own before it is sent.",
            "Where something is still open here, the effect may happen twice; two people accept that by name, and this one stays under watch.",
        ],
        Action::ChangeArguments => &[
            "Before anything was sent: the next version of the arguments, and the approval of the old one is void.",
            "After a send: a new operation with these arguments under a new key, with an approval of its own.",
        ],
        Action::Approve => &[
            "Authorises one effect with exactly these arguments. The next free executor sends it.",
            "The approval ends by itself, and a change of the arguments voids it.",
        ],
        Action::Deny => {
            &["Records that it must not be done. Nothing is sent; proposing it again needs a new operation."]
        }
        Action::Renew => &[
            "Authorises the same arguments again, for one effect. What is open stays open.",
            "A repeat under the same key may follow where the rules allow it.",
        ],
        Action::Revoke => &[
            "Takes the approval back: no send can begin any more under it.",
            "What is on its way already is not stopped, and stays to be found out.",
        ],
        Action::Cancel => &["Stops it. Nothing was sent that is still open, and nothing will be sent."],
        Action::GrantAttempts => &[
            "Allows so many attempts more, or a later deadline, below the hard cap that nobody can lift.",
            "Whether one is sent is decided as ever: by approval, key and what is open.",
        ],
        Action::AttachEvidence => &[
            "Records what you found elsewhere, as a hint. It proves nothing by itself; a look-up may confirm it.",
            "Nothing is sent.",
        ],
        Action::Compensate => &[
            "Makes an operation of its own that undoes exactly one effect. It needs an approval of its own before it is sent.",
            "This operation shows how the undo gets on. An undo that fails is shown as stuck, never as done.",
        ],
        Action::DismissFinding => &[
            "Puts a finding away. The facts behind it stay on record.",
            "Putting \"same intent?\" away answers it: these are two separate intents.",
        ],
    };
    let mut lines: Vec<String> = told.iter().map(|line| (*line).to_owned()).collect();
    if verdict == Verdict::Dual {
        lines.push(
            "Two people are needed: pressing records your request, and takes effect when somebody else completes it."
                .to_owned(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_request_is_shown_in_part_and_says_so() {
        let body = format!("{{\"text\":\"{}\"}}", "x".repeat(100_000));
        let bytes = format!("POST /v1/pay HTTP/1.1\r\ncontent-type: application/json\r\n\r\n{body}");
        let wire = Wire::from_bytes(bytes.as_bytes()).unwrap();
        let shown = request_preview(&wire, false, &[]);
        assert!(shown.text.as_ref().unwrap().starts_with("POST /v1/pay HTTP/1.1\n"));
        assert!(shown.text.unwrap().len() <= PREVIEW_BYTES);
        let all = with_separators(&bytes.len().to_string(), false);
        assert!(shown.note.ends_with(&format!("Shown are the first 4,096 of {all} bytes.")), "{}", shown.note);
    }

    #[test]
    fn the_calls_name_operation_and_version_and_send_all_of_the_arguments() {
        let id = OperationId::parse("0190").unwrap();
        let ArgumentsForm::ByApi { why, calls } = changed_by_api("Too large.", &id, 7, true) else { panic!() };
        assert!(why.contains("\"confirmation\""), "{why}");
        for part in ["operations/0190/arguments\n", "If-Match: \"7\"", "cat arguments.json", "operations/0190/actions"]
        {
            assert!(calls.contains(part), "{part} is missing:\n{calls}");
        }
    }

    #[test]
    fn every_action_tells_its_consequence_and_a_dual_one_names_the_second_person() {
        for &action in Action::ALL {
            assert!(!consequence(action, Verdict::Safe).is_empty(), "{action}");
        }
        let dual = consequence(Action::MarkFailed, Verdict::Dual);
        assert!(dual.last().unwrap().contains("Two people"));
    }
}

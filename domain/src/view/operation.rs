//! One operation, whole: what is known, how it is known, and what may be done.

use serde::{Deserialize, Serialize};

use super::arguments::ArgumentsView;
use super::decision::DecisionView;
use super::lanes::LanesView;
use super::list::RowView;
use super::rules::RuleGroup;
use super::state::StateBadge;
use super::timeline::TimelineView;
use super::{Lens, Moment};
use crate::contract::{
    Consistency, Contract, LayerRetries, LookUpBy, OnInFlight, OnMismatch, Provenance, Stores, Verification, Verified,
};
use crate::operation::{Finding, Projection, Severity, State};
use crate::outcome::Outcome;
use crate::permission::Actor;
use crate::time::{Timestamp, span_in_words};
use crate::tool::Class;

/// The operation page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationView {
    /// What its row shows.
    pub row: RowView,
    /// Its version, for forms.
    pub version: String,
    /// `irreversible`
    pub class: String,
    /// Its tool, which has a page of its own.
    pub tool: Option<String>,
    /// The step of the fold that named the state.
    pub fold_rule: String,
    /// Every rule behind state, attempts and decision.
    pub rules: Vec<RuleGroup>,
    /// The three counts.
    pub counts: Counts,
    /// Effects with their receipts.
    pub effects: Vec<EffectView>,
    /// What an auditor should see.
    pub findings: Vec<FindingView>,
    /// The decision.
    pub decision: DecisionView,
    /// The attempts, drawn.
    pub lanes: Option<LanesView>,
    /// A page of the timeline.
    pub timeline: TimelineView,
    /// Its newest journal entries, newest first.
    pub journal: Vec<EntryView>,
    /// Which of them these are, where they are not all.
    pub journal_note: Option<String>,
    /// The arguments.
    pub arguments: ArgumentsView,
    /// What the destination promises.
    pub contract: Vec<Promise>,
    /// How well that is known.
    pub verification: String,
    /// Whether a repeat under the key would be protected now, in words.
    pub key_protection: String,
    /// Other operations.
    pub relatives: Vec<RelativeView>,
    /// Bulk actions that it was part of: id, and what was asked when.
    pub bulks: Vec<(String, String)>,
    /// Names that sources give it.
    pub aliases: Vec<String>,
    /// When it was read.
    pub as_of: Moment,
    /// The newest change that it shows.
    pub sequence: String,
}

/// Operations, attempts, effects: three counts, never mixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Operations of the intent on this page: always itself.
    pub operations: String,
    /// Transport sends on record.
    pub attempts: String,
    /// Distinct receipts, as far as they can be told: `0 or 1`.
    pub effects: String,
    /// Whether the effects are not certain.
    pub is_open: bool,
}

/// The counts of one operation.
pub fn counts(row: &Projection, outcome: &Outcome) -> Counts {
    let open = outcome.attempts.iter().chain(&outcome.inherited).filter(|attempt| attempt.closed.is_none()).count();
    let proven = row.effects as usize;
    // Attempts that may still have made an effect of their own, beyond those that are proved.
    let possible = if proven > 0 { 0 } else { open };
    let mut effects = match possible {
        0 => proven.to_string(),
        1 => format!("{proven} or {}", proven + 1),
        _ => format!("{proven} to {}", proven + possible),
    };
    if row.effects_likely > 0 {
        effects = format!("{effects} ({} likely)", row.effects_likely);
    }
    let possible_sends = outcome.attempts.iter().filter(|attempt| attempt.is_possible_send).count();
    let attempts = match possible_sends {
        0 => row.attempts.to_string(),
        some => format!("{} ({some} possible)", row.attempts),
    };
    Counts { operations: "1".into(), attempts, effects, is_open: possible > 0 || row.effects_likely > 0 }
}

/// A distinct object at the destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectView {
    /// The destination's name for it, and its aliases.
    pub receipt: String,
    /// Strength of the best fact about it.
    pub strength: crate::evidence::Strength,
    /// The earliest time told for it.
    pub at: Moment,
    /// Whether it is one too many.
    pub is_surplus: bool,
}

/// The effects, the primary first.
pub fn effect_views(outcome: &Outcome, lens: &Lens<'_>) -> Vec<EffectView> {
    let view = |effect: &crate::outcome::Effect| EffectView {
        receipt: effect.names(),
        strength: effect.strength,
        at: lens.moment(effect.at),
        is_surplus: effect.is_surplus,
    };
    outcome.effects.iter().map(view).collect()
}

/// Something an auditor should see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingView {
    /// Its kind in the record.
    pub code: String,
    /// How serious.
    pub severity: Severity,
    /// In a sentence.
    pub text: String,
}

impl From<&Finding> for FindingView {
    fn from(finding: &Finding) -> Self {
        Self { code: finding.code.clone(), severity: finding.severity, text: finding.text.clone() }
    }
}

/// One journal entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryView {
    /// Which version it made.
    pub version: String,
    /// When, by our clock.
    pub at: Moment,
    /// Who caused it.
    pub by: String,
    /// What was asked.
    pub command: String,
    /// Rules that spoke.
    pub rules: String,
    /// The state before, where it changed.
    pub from: Option<StateBadge>,
    /// The state after.
    pub to: StateBadge,
}

/// A journal entry for reading.
pub fn entry_view(
    (version, at): (u64, Timestamp),
    by: &Actor,
    command: &str,
    rules: &[String],
    (from, to): (Option<State>, State),
    lens: &Lens<'_>,
) -> EntryView {
    EntryView {
        version: version.to_string(),
        at: lens.moment(at),
        by: by.name.clone(),
        command: command.strip_prefix("act ").unwrap_or(command).replace('_', " "),
        rules: rules.join(" · "),
        from: from.filter(|from| *from != to).map(super::state::state_badge),
        to: super::state::state_badge(to),
    }
}

/// Another operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelativeView {
    /// How it is related.
    pub link: String,
    /// Its id.
    pub id: String,
    /// Its key.
    pub key: String,
    /// Its state.
    pub badge: StateBadge,
}

/// One thing a destination promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// What about.
    pub name: String,
    /// What it says.
    pub value: String,
    /// Whether nothing is known, so that the unsafe value counts.
    pub is_unknown: bool,
    /// How well it is known: `tested live by ida on 2026-09-12`. Empty where nothing is.
    pub known: String,
    /// Where it is written.
    pub source_url: Option<String>,
}

impl Promise {
    /// What a contract says about something, as a value of this field.
    pub(super) fn of(contract: &Contract, field: &str, name: &str, value: Option<String>) -> Self {
        let provenance = value.is_some().then(|| contract.provenance_of(field));
        Self {
            name: name.into(),
            is_unknown: value.is_none(),
            value: value.unwrap_or_else(|| "unknown".into()),
            known: provenance.as_ref().map_or_else(String::new, known_in_words),
            source_url: provenance.and_then(|known| known.source_url),
        }
    }
}

/// How well a promise is known, by whom and since when.
fn known_in_words(known: &Provenance) -> String {
    let told = |name: &str, before: &str| match name {
        Provenance::NOT_RECORDED => String::new(),
        name => format!("{before}{name}"),
    };
    let how = match &known.verification {
        Verified::Claimed => "claimed".to_owned(),
        Verified::TestedStandIn(name) => format!("tested on a stand-in{}", told(name, ": ")),
        Verified::TestedLive { by, on } => format!("tested live{}{}", told(by, " by "), told(on, " on ")),
    };
    let checked = known.checked_at.as_ref().filter(|date| !how.contains(date.as_str()));
    let accepted = known.accepted.as_ref().map(|taken| {
        format!(
            "taken as it stands by {} on {}: {}",
            taken.by(),
            taken.at().to_utc().format("%Y-%m-%d"),
            taken.reason()
        )
    });
    let parts = [Some(how), checked.map(|date| format!("checked {date}")), accepted];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// `claimed`, `tested on a stand-in`, `tested live`, with the date where there is one.
pub fn verification_words(contract: &Contract) -> String {
    let how = match contract.verification {
        None => "not verified",
        Some(Verification::Claimed) => "claimed",
        Some(Verification::TestedStandIn) => "tested on a stand-in",
        Some(Verification::TestedLive) => "tested live",
    };
    match &contract.checked_at {
        Some(date) => format!("{how} · checked {date}"),
        None => how.to_owned(),
    }
}

/// What the destination promises, line by line. What is unknown says so, because the unsafe value counts.
pub fn promises(contract: &Contract) -> Vec<Promise> {
    let seconds = |seconds: u64| span_in_words(std::time::Duration::from_secs(seconds));
    let look_up = contract.lookup.map(|look_up| {
        let by = match look_up.by {
            LookUpBy::Key => "by key",
            LookUpBy::Receipt => "by receipt",
            LookUpBy::NaturalKey => "by business fields",
            LookUpBy::Metadata => "by our id in its metadata",
        };
        let speed = match look_up.consistency {
            Some(Consistency::Strong) => "sees a write at once",
            Some(Consistency::Eventual) => "eventual",
            None => "unknown when it sees a write",
        };
        format!("{by}, {speed}{}", if look_up.complete { ", complete" } else { "" })
    });
    let cancel = contract.cancel_by_key.map(|cancel| match (cancel.commutative, cancel.noop_on_absent) {
        (true, _) => "a later create stays cancelled".to_owned(),
        (false, true) => "answers success when nothing is there".to_owned(),
        (false, false) => "possible".to_owned(),
    });
    let undo = contract.compensation.as_ref().map(|undo| match undo.window_s {
        Some(window) => format!("{} within {}", undo.tool, seconds(window)),
        None => undo.tool.clone(),
    });
    let told = [
        ("key_location", "Key travels in", contract.key_location.clone()),
        (
            "key_retention_s",
            "Keeps keys",
            contract.key_retention_s.map(|kept| format!("≥ {}, from first seen", seconds(kept))),
        ),
        ("stores", "Stores", contract.stores.map(|stores| stores_words(stores).to_owned())),
        ("on_mismatch", "Other arguments", contract.on_mismatch.map(|what| mismatch_words(what).to_owned())),
        ("on_in_flight", "While running", contract.on_in_flight.map(|what| in_flight_words(what).to_owned())),
        ("lookup", "Look-up", look_up),
        ("cancel_by_key", "Cancel by key", cancel),
        ("compensation", "Undo", undo),
        (
            "max_arrival_delay_s",
            "Arrives at the latest",
            contract.max_arrival_delay_s.map(|late| format!("{} after the deadline", seconds(late))),
        ),
        (
            "intermediaries",
            "A proxy between",
            contract.intermediaries.map(|yes| if yes { "yes" } else { "no" }.to_owned()),
        ),
        (
            "layer_retries",
            "Retries below us",
            contract.layer_retries.map(|retries| match retries {
                LayerRetries::Off => "switched off".to_owned(),
                LayerRetries::On => "on: an error may describe its second try".to_owned(),
            }),
        ),
    ];
    told.into_iter().map(|(field, name, value)| Promise::of(contract, field, name, value)).collect()
}

const fn stores_words(stores: Stores) -> &'static str {
    match stores {
        Stores::SuccessesOnly => "successes only; after an error it runs again",
        Stores::AnyOnceStarted => "any result once started, a 500 too",
        Stores::ResumeToCompletion => "carries partial work to completion",
    }
}

const fn mismatch_words(what: OnMismatch) -> &'static str {
    match what {
        OnMismatch::Error => "refuses",
        OnMismatch::ReplayOld => "returns the old answer",
        OnMismatch::Executes => "executes a second time",
    }
}

const fn in_flight_words(what: OnInFlight) -> &'static str {
    match what {
        OnInFlight::Codes => "answers with a declared code",
        OnInFlight::Blocks => "holds the repeat until the first is done",
    }
}

/// A class in an operator's words.
pub const fn class_words(class: Class) -> &'static str {
    match class {
        Class::Read => "read only",
        Class::Idempotent => "idempotent",
        Class::Reversible => "reversible",
        Class::Irreversible => "irreversible",
    }
}

/// Whether a repeat under the key would be protected now, in a sentence.
pub fn key_protection(outcome: &Outcome) -> String {
    match (outcome.key_protects, &outcome.key_protects_not) {
        (true, _) => "A repeat under the same key is protected now.".to_owned(),
        (false, Some(why)) => format!("A repeat under the same key is not protected: {why}"),
        (false, None) => "A repeat under the same key is not protected.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_contract_does_not_say_is_shown_as_unknown() {
        let lines = promises(&Contract { key_retention_s: Some(86_400), ..Contract::default() });
        let keeps = lines.iter().find(|line| line.name == "Keeps keys").unwrap();
        assert_eq!((keeps.value.as_str(), keeps.is_unknown), ("≥ 1 d, from first seen", false));
        let look_up = lines.iter().find(|line| line.name == "Look-up").unwrap();
        assert!(look_up.is_unknown);
    }

    #[test]
    fn a_promise_says_how_well_it_is_known_since_when_and_where_it_is_written() {
        let contract: Contract = serde_json::from_value(serde_json::json!({
            "key_retention_s": 86_400, "stores": "2xx_only", "on_mismatch": "error", "intermediaries": false,
            "verification": "tested_live", "checked_at": "2026-09-12", "source_url": "https://psp.example/keys",
            "provenance": {
                "stores": {"verification": {"tested_stand_in": "moto"}, "checked_at": "2026-08-01"},
                "on_mismatch": {"verification": {"tested_live": {"by": "ida", "on": "2026-09-30"}}},
                "intermediaries": {"verification": "claimed",
                    "accepted": {"by": "ada", "at": 1_790_000_000_000_000_i64, "reason": "no proxy is ours"}}
            }
        }))
        .unwrap();
        let lines = promises(&contract);
        let known = |name: &str| lines.iter().find(|line| line.name == name).unwrap().known.as_str();
        assert_eq!(known("Keeps keys"), "tested live on 2026-09-12");
        assert_eq!(known("Stores"), "tested on a stand-in: moto · checked 2026-08-01");
        assert_eq!(known("Other arguments"), "tested live by ida on 2026-09-30");
        assert_eq!(known("A proxy between"), "claimed · taken as it stands by ada on 2026-09-21: no proxy is ours");
        assert_eq!(known("Look-up"), "");
        assert_eq!(lines[1].source_url.as_deref(), Some("https://psp.example/keys"));
    }

    #[test]
    fn a_verification_without_a_date_is_only_its_word() {
        assert_eq!(verification_words(&Contract::default()), "not verified");
        let tested = Contract {
            verification: Some(Verification::TestedLive),
            checked_at: Some("2026-09-12".into()),
            ..Contract::default()
        };
        assert_eq!(verification_words(&tested), "tested live · checked 2026-09-12");
    }
}

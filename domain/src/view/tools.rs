//! The tools: what each does to the world, what its destination promises and how well that is known, who may try again,
//! and how what is declared came to be as it is.

use serde::{Deserialize, Serialize};

use super::arguments::{DifferenceView, difference_view};
use super::layers::{LayerFinding, LayerRow};
use super::operation::{Promise, class_words, promises, verification_words};
use super::{Lens, Moment};
use crate::contract::Contract;
use crate::difference::diff;
use crate::fingerprint::Json;
use crate::name::PrincipalId;
use crate::time::{Timestamp, span_in_words};
use crate::tool::{Class, Tool};

/// A tool with what its contract promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolView {
    /// Its name.
    pub name: String,
    /// Its class in words.
    pub class: String,
    /// Whether it is irreversible.
    pub is_irreversible: bool,
    /// Where it acts.
    pub destination: Option<String>,
    /// What is promised.
    pub promises: Vec<Promise>,
    /// How well that is known.
    pub verification: String,
    /// Where it is written.
    pub source_url: Option<String>,
    /// Whether we could send for it.
    pub is_executable: bool,
    /// From which amount two people are needed.
    pub dual_threshold: Option<String>,
    /// How often it was declared.
    pub version: String,
}

/// A tool for the tools page.
pub fn tool_view(tool: &Tool) -> ToolView {
    ToolView {
        name: tool.name.to_string(),
        class: class_words(tool.class).into(),
        is_irreversible: tool.class == Class::Irreversible,
        destination: tool.destination.as_ref().map(ToString::to_string),
        promises: promises(&tool.contract),
        verification: verification_words(&tool.contract),
        source_url: tool.contract.source_url.clone(),
        is_executable: tool.executable,
        dual_threshold: tool.dual_threshold_minor.map(|minor| super::amount_in_words(minor, None)),
        version: tool.version.to_string(),
    }
}

/// A number that limits what a tool does by itself: as declared, or the default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitView {
    /// What it limits.
    pub name: String,
    /// How much that is.
    pub value: String,
    /// Whether the tool is silent, so that the default counts.
    pub is_default: bool,
}

/// The numbers that limit what a tool does by itself, always the same ones in the same order.
pub fn limits(contract: &Contract) -> Vec<LimitView> {
    let limit = |name: &str, value: String, is_told: bool| LimitView { name: name.into(), value, is_default: !is_told };
    let attempts = contract.attempts_per_episode();
    vec![
        limit("Attempts by itself", attempts.to_string(), contract.attempts_per_episode.is_some()),
        limit("Attempts at most", contract.attempts_cap().to_string(), contract.attempts_cap.is_some()),
        limit("Waits for one answer", span_in_words(contract.client_deadline()), contract.client_deadline_s.is_some()),
        limit("Longest Retry-After", span_in_words(contract.retry_after_cap()), contract.retry_after_cap_s.is_some()),
        limit("Deadline", span_in_words(contract.operation_deadline()), contract.operation_deadline_s.is_some()),
    ]
}

/// Members of a contract that [`promises`] and [`limits`] tell in words.
const TOLD_IN_WORDS: [&str; 16] = [
    "key_location",
    "key_retention_s",
    "stores",
    "on_mismatch",
    "on_in_flight",
    "lookup",
    "cancel_by_key",
    "compensation",
    "max_arrival_delay_s",
    "intermediaries",
    "layer_retries",
    "attempts_per_episode",
    "attempts_cap",
    "client_deadline_s",
    "retry_after_cap_s",
    "operation_deadline_s",
];

/// Whatever else a contract declares, by the names that a declaration has.
fn further_promises(contract: &Contract) -> Vec<Promise> {
    let members = serde_json::to_value(contract).unwrap_or_default();
    let told = Contract::promises().filter(|field| contract.tells(field) && !TOLD_IN_WORDS.contains(field));
    told.map(|field| Promise::of(contract, field, field, members.get(field).map(ToString::to_string))).collect()
}

/// One declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionView {
    /// Its number.
    pub version: String,
    /// When it was declared.
    pub at: Moment,
    /// Who declared it.
    pub by: String,
    /// What it made different; nothing of the first.
    pub changes: Option<DifferenceView>,
}

/// Declarations, the newest first, each with what it made different; when each was made, and by whom. At most `shown`;
/// whether there are older ones is told beside them.
pub fn versions(
    declared: &[(&Tool, Timestamp, &PrincipalId)],
    shown: usize,
    lens: &Lens<'_>,
) -> (Vec<VersionView>, bool) {
    let view = |(index, (tool, at, by)): (usize, &(&Tool, Timestamp, &PrincipalId))| VersionView {
        version: tool.version.to_string(),
        at: lens.moment(*at),
        by: lens.name(by),
        changes: declared.get(index + 1).map(|(before, ..)| differences(before, tool)),
    };
    (declared.iter().enumerate().take(shown).map(view).collect(), declared.len() > shown)
}

fn differences(before: &Tool, after: &Tool) -> DifferenceView {
    let json = |tool: &Tool| {
        let numberless = Tool { version: 0, ..tool.clone() };
        serde_json::to_vec(&numberless).ok().and_then(|bytes| Json::parse(&bytes).ok()).unwrap_or(Json::Null)
    };
    difference_view(&diff(&json(before), &json(after)), &[])
}

/// The page of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPage {
    /// What it does, and what is promised.
    pub tool: ToolView,
    /// Whether anybody declared it.
    pub is_declared: bool,
    /// What else its contract declares.
    pub further: Vec<Promise>,
    /// Promises under a key that are not known well enough for its class, by the names that a declaration has.
    pub unverified: Vec<String>,
    /// What limits it.
    pub limits: Vec<LimitView>,
    /// Who tries again.
    pub layers: LayerRow,
    /// What is wrong with that.
    pub findings: Vec<LayerFinding>,
    /// Its declarations, the newest first.
    pub versions: Vec<VersionView>,
    /// Whether there are older ones.
    pub has_older: bool,
    /// The newest change when it was read.
    pub sequence: String,
}

/// The page of a tool.
pub fn tool_page(
    tool: &Tool,
    (layers, findings): (LayerRow, Vec<LayerFinding>),
    (versions, has_older): (Vec<VersionView>, bool),
    sequence: String,
) -> ToolPage {
    ToolPage {
        tool: tool_view(tool),
        is_declared: tool.declared,
        further: further_promises(&tool.contract),
        unverified: tool.contract.unverified_for(tool.class).into_iter().map(str::to_owned).collect(),
        limits: limits(&tool.contract),
        layers,
        findings,
        versions,
        has_older,
        sequence,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::{at, lens};
    use super::*;
    use crate::name::ToolName;

    fn declared(version: u64, class: Class, contract: Contract) -> Tool {
        Tool { class, contract, version, declared: true, ..Tool::undeclared(ToolName::parse("pay").unwrap()) }
    }

    #[test]
    fn a_version_tells_what_it_made_different_and_who_declared_it() {
        let tested = Contract { attempts_cap: Some(4), ..Contract::default() };
        let tools = [declared(2, Class::Irreversible, tested), declared(1, Class::Reversible, Contract::default())];
        let (when, ida) = (at("2026-10-05T09:00:00Z"), PrincipalId::parse("ida").unwrap());
        let all = tools.each_ref().map(|tool| (tool, when, &ida));
        let names = BTreeMap::from([("ida".to_owned(), "Ida Lindqvist".to_owned())]);
        let (told, has_older) = versions(&all, 5, &lens(&names));
        assert_eq!((told.len(), has_older, told[0].by.as_str()), (2, false, "Ida Lindqvist"));
        let changes: Vec<_> = told[0]
            .changes
            .iter()
            .flat_map(|made| &made.lines)
            .map(|change| (change.path.as_str(), change.after.as_deref()))
            .collect();
        assert_eq!(changes, [("/class", Some("\"irreversible\"")), ("/contract/attempts_cap", Some("4"))]);
        assert_eq!(told[1].changes, None, "the first differs from nothing");
        // What is cut off still tells what came after it.
        let (told, has_older) = versions(&all, 1, &lens(&names));
        assert!(has_older && told.len() == 1 && told[0].changes.is_some());
    }

    #[test]
    fn every_declared_promise_is_told_in_words_or_as_it_stands() {
        let contract =
            Contract { attempts_cap: Some(4), key_max_len: Some(64), lease_s: Some(9), ..Contract::default() };
        let further: Vec<_> = further_promises(&contract).into_iter().map(|one| (one.name, one.value)).collect();
        assert_eq!(further, [("key_max_len".into(), "64".into()), ("lease_s".into(), "9".into())]);
        let told: Vec<_> = limits(&contract).into_iter().map(|one| (one.value, one.is_default)).collect();
        let expected = [("3", true), ("4", false), ("30 s", true), ("1 h", true), ("1 d", true)];
        assert_eq!(told, expected.map(|(value, is_default)| (value.to_owned(), is_default)));
        for field in TOLD_IN_WORDS {
            assert!(Contract::promises().any(|promise| promise == field), "{field}");
        }
    }
}

//! The layers page: which layer retries what, what that multiplies to, and what should be switched off.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::operation::class_words;
use super::outcomes::number;
use super::{Lens, Moment, counted, encoded};
use crate::evidence::Trust;
use crate::layers::{
    Attempts, Audit, Declaration, Layer, RetryClass, Stack, WorstCase, audit, contradicts_contract, hidden_sends,
};
use crate::name::{DestinationName, LayerName, OperationId};
use crate::operation::{Finding, Severity};
use crate::time::span_in_words;
use crate::tool::Tool;

/// The page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayersView {
    /// `12 tools · 3 findings`
    pub words: String,
    /// One row a tool.
    pub rows: Vec<LayerRow>,
    /// What is wrong, the most serious first.
    pub findings: Vec<LayerFinding>,
    /// What layers declare of themselves, the newest first.
    pub declarations: Vec<DeclarationLine>,
    /// In how many of a tool's newest operations its layers were looked for.
    pub looked_at: u32,
    /// The newest change when it was read.
    pub sequence: String,
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerRow {
    /// Its name.
    pub tool: String,
    /// Its side-effect class.
    pub class: String,
    /// Its destination.
    pub destination: Option<String>,
    /// One cell a retry class, in their order.
    pub cells: Vec<CellView>,
    /// `3 × 3 × 3 = 27`, `≥ 9`, `∞`, or that nothing is known.
    pub worst: String,
    /// How many layers it leaves out, because nobody knows how often they send.
    pub worst_note: Option<String>,
    /// Whether the worst case is more than one layer's retries.
    pub is_loud: bool,
    /// How long one operation can wait for answers altogether.
    pub timeout: String,
    /// The most attempts on record of one operation, with that operation.
    pub observed: Option<(String, String)>,
    /// How many sends one attempt on record can stand for, and by whom.
    pub hidden: String,
    /// How many findings it has.
    pub findings: usize,
}

/// Who owns one class of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellView {
    /// Who retries, each with its number of sends: `sdk ×3`.
    pub owners: Vec<String>,
    /// What else is to be said: a declared owner that does not retry, or that there are two.
    pub note: Option<String>,
    /// Whether it contradicts what is declared, or another layer.
    pub is_conflict: bool,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerFinding {
    /// Which tool.
    pub tool: String,
    /// How serious it is.
    pub severity: Severity,
    /// Its kind.
    pub code: String,
    /// What was found, and what to switch off.
    pub text: String,
    /// Where it can be seen: what it says, and where that is.
    pub evidence: Vec<(String, String)>,
}

/// One declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclarationLine {
    /// The layer.
    pub layer: String,
    /// Of what it speaks: a tool, a destination, or everything.
    pub about: String,
    /// How many sends one call can become.
    pub attempts: String,
    /// On what it retries.
    pub on: String,
    /// How long it waits for one answer.
    pub timeout: String,
    /// Whose line it is, and how far that is believed.
    pub source: String,
    /// When it was declared.
    pub at: Moment,
}

/// One tool with its layers, as they were read.
#[derive(Debug, Clone, Copy)]
pub struct SeenStack<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// Declared layers, then those that were only seen.
    pub layers: &'a [Layer],
    /// How many of them are declared.
    pub declared: usize,
    /// Which layers made attempts, and how many.
    pub seen: &'a [(LayerName, i64)],
    /// The operation with the most attempts.
    pub most: Option<(&'a OperationId, u32)>,
}

/// Everything about one tool: its row and its findings.
pub fn layer_row(stack: &SeenStack<'_>) -> (LayerRow, Vec<LayerFinding>) {
    let SeenStack { tool, layers, seen, most, .. } = *stack;
    let audited = audit(&Stack {
        class: tool.class,
        layers,
        owners: &tool.retry_owners,
        practices: &[],
        observed_sends: most.map_or(0, |(_, count)| count.into()),
    });
    let sender = seen.iter().max_by_key(|(_, count)| *count).map(|(layer, _)| layer);
    let promised = contradicts_contract(layers, sender, &tool.contract);
    let mut findings: Vec<LayerFinding> =
        promised.iter().chain(&audited.findings).map(|finding| finding_view(stack, finding)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let row = LayerRow {
        tool: tool.name.to_string(),
        class: class_words(tool.class).into(),
        destination: tool.destination.as_ref().map(DestinationName::to_string),
        cells: RetryClass::ALL.iter().map(|class| cell(stack, &audited, *class)).collect(),
        worst: worst_in_words(layers, audited.worst_case),
        worst_note: left_out_of_worst(layers),
        is_loud: layers.iter().filter(|layer| layer.is_retrying()).count() > 1
            || audited.worst_case.sends == Attempts::Unlimited,
        timeout: timeout_in_words(layers, &audited),
        observed: most.map(|(id, count)| (number(count.into()), format!("/operations/{}", encoded(id.as_str())))),
        hidden: hidden_in_words(stack),
        findings: findings.iter().filter(|finding| finding.severity != Severity::Notice).count(),
    };
    (row, findings)
}

/// What stands beside a name: `sdk ×3`, `engine ×∞`.
fn owner_in_words(layer: &Layer) -> String {
    match layer.attempts {
        Some(attempts) => format!("{} ×{attempts}", layer.name),
        None => format!("{} ×?", layer.name),
    }
}

fn cell(stack: &SeenStack<'_>, audited: &Audit, class: RetryClass) -> CellView {
    let names: &[LayerName] = audited.owners.get(&class).map_or(&[], Vec::as_slice);
    let declared = stack.tool.retry_owners.get(&class);
    let owners = names.iter().filter_map(|name| stack.layers.iter().find(|layer| layer.name == *name));
    let stranger = declared.filter(|declared| names.iter().any(|name| name != *declared));
    let note = match (names.len(), declared) {
        (0, Some(declared)) => Some(format!("declared: {declared}; no retry of it is declared")),
        (0, None) => None,
        (1, _) => stranger.map(|declared| format!("not the declared owner, {declared}")),
        (count, _) => Some(counted(count, "owner", "owners")),
    };
    CellView { owners: owners.map(owner_in_words).collect(), note, is_conflict: names.len() > 1 || stranger.is_some() }
}

/// `3 × 3 × 3 = 27`; with a layer of which nobody knows, `≥ 9`; without any layer, that nothing is known.
fn worst_in_words(layers: &[Layer], worst: WorstCase) -> String {
    if layers.is_empty() {
        return "not known".into();
    }
    let factors: Vec<String> = layers
        .iter()
        .filter(|layer| layer.is_retrying())
        .filter_map(|layer| layer.attempts.map(|attempts| attempts.to_string()))
        .collect();
    let product =
        if factors.len() > 1 { format!("{} = {}", factors.join(" × "), worst.sends) } else { worst.sends.to_string() };
    if worst.is_at_least && worst.sends != Attempts::Unlimited { format!("≥ {product}") } else { product }
}

fn left_out_of_worst(layers: &[Layer]) -> Option<String> {
    let unknown = layers.iter().filter(|layer| layer.attempts.is_none()).count();
    (unknown > 0).then(|| format!("{} not known", counted(unknown, "layer", "layers")))
}

fn timeout_in_words(layers: &[Layer], audited: &Audit) -> String {
    match (audited.timeout, audited.worst_case.sends) {
        (Some(timeout), _) => span_in_words(timeout),
        (None, Attempts::Unlimited) if layers.iter().any(|layer| layer.timeout.is_some()) => "without limit".into(),
        (None, _) => "not known".into(),
    }
}

fn hidden_in_words(stack: &SeenStack<'_>) -> String {
    if stack.declared == 0 {
        return "not known".into();
    }
    let seen: Vec<&LayerName> = stack.seen.iter().map(|(layer, _)| layer).collect();
    let (product, below) = hidden_sends(stack.layers, &seen);
    if below.is_empty() {
        return "none declared".into();
    }
    let names: Vec<&str> = below.into_iter().map(LayerName::as_str).collect();
    format!("×{product} by {}", names.join(", "))
}

/// Whether a text names a layer, and not only one whose name holds that name.
fn is_named(text: &str, layer: &str) -> bool {
    let is_of_a_name = |beside: Option<char>| beside.is_some_and(|beside| beside.is_alphanumeric() || beside == '-');
    text.match_indices(layer).any(|(at, _)| {
        !is_of_a_name(text[..at].chars().next_back()) && !is_of_a_name(text[at + layer.len()..].chars().next())
    })
}

fn finding_view(stack: &SeenStack<'_>, finding: &Finding) -> LayerFinding {
    let tool = stack.tool.name.as_str();
    let mut evidence = Vec::new();
    if let Some((id, count)) = stack.most.filter(|_| finding.code == "sends_above_declared") {
        let words = format!("the operation with {} attempts", number(count.into()));
        evidence.push((words, format!("/operations/{}", encoded(id.as_str()))));
    }
    for (layer, _) in stack.seen.iter().filter(|(layer, _)| is_named(&finding.text, layer.as_str())) {
        let href = format!("/operations?tool={}&layer={}", encoded(tool), encoded(layer.as_str()));
        evidence.push((format!("operations with an attempt by {layer}"), href));
    }
    if finding.code == "contract_says_off" {
        evidence.push(("the contract".into(), format!("/tools/{}", encoded(tool))));
    }
    if stack.declared > 0 && finding.code != "unknown_layer" {
        evidence.push(("what its layers declare".into(), "/layers#declared".into()));
    }
    LayerFinding {
        tool: tool.into(),
        severity: finding.severity,
        code: finding.code.clone(),
        text: finding.text.clone(),
        evidence,
    }
}

/// One declaration as a row.
pub fn declaration_line(declaration: &Declaration, source: &str, trust: Trust, lens: &Lens<'_>) -> DeclarationLine {
    let about = match (declaration.tool.as_ref(), declaration.destination.as_ref()) {
        (Some(tool), Some(destination)) => format!("{tool} → {destination}"),
        (Some(tool), None) => tool.to_string(),
        (None, Some(destination)) => format!("everything → {destination}"),
        (None, None) => "everything".into(),
    };
    DeclarationLine {
        layer: declaration.layer.to_string(),
        about,
        attempts: match declaration.attempts {
            Some(Attempts::Unlimited) => "without limit".into(),
            Some(attempts) => attempts.to_string(),
            None => "not told".into(),
        },
        on: if declaration.on.is_empty() { "not told".into() } else { declaration.on.join(", ") },
        timeout: declaration.timeout.map_or_else(|| "not told".into(), |timeout: Duration| span_in_words(timeout)),
        source: format!("{source}, {}", trust.name()),
        at: lens.moment(declaration.at),
    }
}

/// The page of these tools.
pub fn layers_view(
    rows: Vec<(LayerRow, Vec<LayerFinding>)>,
    declarations: Vec<DeclarationLine>,
    looked_at: u32,
    sequence: String,
) -> LayersView {
    let (rows, findings): (Vec<LayerRow>, Vec<Vec<LayerFinding>>) = rows.into_iter().unzip();
    let mut findings: Vec<LayerFinding> = findings.into_iter().flatten().collect();
    findings.sort_by(|one, other| (other.severity, &one.tool).cmp(&(one.severity, &other.tool)));
    let words =
        format!("{} · {}", counted(rows.len(), "tool", "tools"), counted(findings.len(), "finding", "findings"));
    LayersView { words, rows, findings, declarations, looked_at, sequence }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::{at, lens};
    use super::*;
    use crate::contract::{Contract, LayerRetries};
    use crate::name::ToolName;
    use crate::tool::Class;

    fn name(name: &str) -> LayerName {
        LayerName::parse(name).unwrap()
    }

    fn layer(of: &str, attempts: Option<i64>, on: &[&str]) -> Layer {
        Layer {
            name: name(of),
            attempts: attempts.and_then(Attempts::from_attempts),
            on: on.iter().map(|signal| (*signal).to_owned()).collect(),
            timeout: Some(Duration::from_secs(10)),
        }
    }

    fn tool(owners: &[(RetryClass, &str)]) -> Tool {
        Tool {
            class: Class::Irreversible,
            retry_owners: owners.iter().map(|(class, layer)| (*class, name(layer))).collect(),
            ..Tool::undeclared(ToolName::parse("pay").unwrap())
        }
    }

    #[test]
    fn three_layers_of_three_are_twenty_seven_and_two_owners_are_a_conflict() {
        let tool = tool(&[(RetryClass::Temporary, "adapter")]);
        let layers = [
            layer("adapter", Some(3), &["429"]),
            layer("sdk", Some(3), &["429", "503"]),
            layer("workflow", Some(3), &["restart"]),
        ];
        let id = OperationId::parse("0190").unwrap();
        let seen = [(name("adapter"), 12)];
        let stack = SeenStack { tool: &tool, layers: &layers, declared: 3, seen: &seen, most: Some((&id, 12)) };
        let (row, findings) = layer_row(&stack);
        assert_eq!(row.worst, "3 × 3 × 3 = 27");
        assert_eq!(row.timeout, "4 min");
        assert_eq!(row.observed, Some(("12".into(), "/operations/0190".into())));
        assert_eq!(row.hidden, "×9 by sdk, workflow");
        let temporary = &row.cells[1];
        assert_eq!(temporary.owners, ["adapter ×3", "sdk ×3"]);
        assert_eq!((temporary.note.as_deref(), temporary.is_conflict), (Some("2 owners"), true));
        assert_eq!((row.cells[0].owners.len(), row.cells[2].owners[0].as_str()), (0, "workflow ×3"));
        let two = findings.iter().find(|finding| finding.code == "two_owners").unwrap();
        assert!(two.text.contains("switch the others off"), "{}", two.text);
        assert!(two.evidence.iter().any(|(_, href)| href == "/operations?tool=pay&layer=adapter"), "{two:?}");
        assert!(two.evidence.iter().any(|(_, href)| href == "/layers#declared"));
        assert!(findings.iter().any(|finding| finding.code == "owner_not_declared"));
    }

    #[test]
    fn a_layer_of_which_nobody_knows_makes_the_worst_case_a_least() {
        let tool = tool(&[]);
        let layers = [layer("adapter", Some(3), &[]), layer("cron", None, &[])];
        let seen = [(name("cron"), 2)];
        let (row, findings) =
            layer_row(&SeenStack { tool: &tool, layers: &layers, declared: 1, seen: &seen, most: None });
        assert_eq!((row.worst.as_str(), row.worst_note.as_deref()), ("≥ 3", Some("1 layer not known")));
        assert_eq!(findings[0].severity, Severity::Notice);
        assert_eq!(row.findings, 0, "what is only not known is no conflict");
        let (nothing, _) = layer_row(&SeenStack { tool: &tool, layers: &[], declared: 0, seen: &[], most: None });
        assert_eq!((nothing.worst.as_str(), nothing.hidden.as_str()), ("not known", "not known"));
        assert_eq!(nothing.worst_note, None);
    }

    #[test]
    fn an_unlimited_layer_on_a_write_and_a_contract_that_says_off_are_findings() {
        let mut tool = tool(&[]);
        tool.contract = Contract { layer_retries: Some(LayerRetries::Off), ..Contract::default() };
        let layers = [layer("engine", Some(-1), &["restart"])];
        let seen = [(name("adapter"), 1)];
        let (row, findings) =
            layer_row(&SeenStack { tool: &tool, layers: &layers, declared: 1, seen: &seen, most: None });
        let codes: Vec<_> = findings.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!(codes, ["contract_says_off", "unlimited_retries"], "the most serious first");
        assert_eq!((row.worst.as_str(), row.is_loud, row.timeout.as_str()), ("∞", true, "without limit"));
        assert_eq!(row.cells[2].owners, ["engine ×∞"]);
    }

    #[test]
    fn a_name_within_another_name_is_not_named() {
        assert!(is_named("Two owners: sdk, proxy.", "sdk") && is_named("sdk retries", "sdk"));
        assert!(!is_named("stripe-sdk retries", "sdk") && !is_named("sdks retry", "sdk"));
    }

    #[test]
    fn a_declared_owner_that_does_not_retry_is_told_and_no_conflict() {
        let tool = tool(&[(RetryClass::Restart, "workflow")]);
        let (row, _) = layer_row(&SeenStack { tool: &tool, layers: &[], declared: 0, seen: &[], most: None });
        assert_eq!(row.cells[2].note.as_deref(), Some("declared: workflow; no retry of it is declared"));
        assert!(!row.cells[2].is_conflict);
    }

    #[test]
    fn a_declaration_says_of_what_it_speaks_and_whose_word_it_is() {
        let names = BTreeMap::new();
        let declaration = Declaration {
            at: at("2026-10-06T08:00:00Z"),
            layer: name("sdk"),
            destination: None,
            tool: Some(ToolName::parse("pay").unwrap()),
            attempts: Some(Attempts::Unlimited),
            on: vec!["429".into()],
            timeout: None,
        };
        let line = declaration_line(&declaration, "feed", Trust::Verified, &lens(&names));
        assert_eq!(
            (line.about.as_str(), line.attempts.as_str(), line.source.as_str()),
            ("pay", "without limit", "feed, verified")
        );
        assert_eq!((line.on.as_str(), line.timeout.as_str()), ("429", "not told"));
    }
}

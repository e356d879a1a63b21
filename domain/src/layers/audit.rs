//! The audit of one tool's layers: owners, worst case, and what contradicts them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Attempts, Layer, LayerKind, RetryClass, WorstCase, known_layer};
use crate::name::LayerName;
use crate::operation::{Finding, Severity};
use crate::tool::Class;

/// What stands between an operation of one tool and its destination.
#[derive(Debug, Clone)]
pub struct Stack<'a> {
    /// The tool's side-effect class.
    pub class: Class,
    /// Its layers.
    pub layers: &'a [Layer],
    /// The owner that the tool declares for a class, where it does.
    pub owners: &'a BTreeMap<RetryClass, LayerName>,
    /// What is done around it that the rules speak of.
    pub practices: &'a [Practice],
    /// The most sends seen of one operation.
    pub observed_sends: u64,
}

/// A setting or habit that an auditor asks about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "practice", rename_all = "snake_case")]
pub enum Practice {
    /// Several copies are sent at once, and the first answer counts.
    Hedging {
        /// Where.
        layer: LayerName,
    },
    /// One approval covers every later call of the tool.
    StickyApproval,
    /// The MCP client repeats a call on any exception.
    McpRetries {
        /// Its `max_retry_attempts`; −1 is no limit.
        max_retry_attempts: i64,
    },
}

/// What the audit says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// The most sends one operation can become.
    pub worst_case: WorstCase,
    /// How long they can wait for answers altogether, before back-off. `None`: unknown, or without limit.
    pub timeout: Option<Duration>,
    /// Who retries what.
    pub owners: BTreeMap<RetryClass, Vec<LayerName>>,
    /// What is wrong, most serious first.
    pub findings: Vec<Finding>,
}

impl Audit {
    /// Whether nothing was found but notices.
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Notice)
    }
}

/// Audits one tool's layers.
pub fn audit(stack: &Stack<'_>) -> Audit {
    let worst_case = WorstCase::of(stack.layers);
    let mut findings = Vec::new();
    note_owners(stack, &mut findings);
    note_limits(stack, worst_case, &mut findings);
    note_practices(stack, &mut findings);
    findings.sort_by_key(|finding| Reverse(finding.severity));
    Audit { worst_case, timeout: total_timeout(stack.layers, worst_case), owners: owners(stack.layers), findings }
}

fn owners(layers: &[Layer]) -> BTreeMap<RetryClass, Vec<LayerName>> {
    let mut owners: BTreeMap<RetryClass, Vec<LayerName>> = BTreeMap::new();
    for layer in layers {
        for class in layer.classes() {
            owners.entry(class).or_default().push(layer.name.clone());
        }
    }
    owners
}

/// Every send waits for its answer; which timeout is the innermost is not declared, so the longest counts.
fn total_timeout(layers: &[Layer], worst_case: WorstCase) -> Option<Duration> {
    let longest = layers.iter().filter_map(|layer| layer.timeout).max()?;
    match worst_case.sends {
        Attempts::Fixed(sends) => Some(longest.saturating_mul(u32::try_from(sends).unwrap_or(u32::MAX))),
        Attempts::Unlimited => None,
    }
}

fn note_owners(stack: &Stack<'_>, findings: &mut Vec<Finding>) {
    for (class, names) in owners(stack.layers) {
        if names.len() > 1 {
            findings.push(two_owners(stack.layers, class, &names));
        }
        let declared = stack.owners.get(&class);
        for name in declared.into_iter().flat_map(|declared| names.iter().filter(move |name| *name != declared)) {
            let text = format!(
                "{name} retries {}, but {} is declared to own that. {}",
                class.label(),
                declared.map_or("nobody", LayerName::as_str),
                switch_off(name)
            );
            findings.push(found("owner_not_declared", Severity::Audit, text));
        }
    }
    for layer in stack.layers {
        let Some(kind) = layer.kind() else { continue };
        for class in layer.classes().into_iter().filter(|class| class.owner() != kind) {
            // A transport that repeats what was sent is the one that doubles effects.
            let severity = if kind == LayerKind::Transport { Severity::Audit } else { Severity::Notice };
            let text = format!(
                "{} is of kind {} and retries {}, which belongs to the {}.",
                layer.name,
                kind.name(),
                class.label(),
                class.owner().name()
            );
            findings.push(found("owner_out_of_place", severity, text));
        }
    }
}

fn two_owners(layers: &[Layer], class: RetryClass, names: &[LayerName]) -> Finding {
    let signals = |layer: &Layer| -> BTreeSet<String> {
        layer.on.iter().filter(|signal| RetryClass::of_signal(signal) == class).cloned().collect()
    };
    let mut shared = layers.iter().filter(|layer| names.contains(&layer.name)).map(signals);
    let first = shared.next().unwrap_or_default();
    let shared = shared.fold(first, |all, some| all.intersection(&some).cloned().collect());
    let what = if shared.is_empty() {
        class.label().to_owned()
    } else {
        shared.into_iter().collect::<Vec<_>>().join(" and for ")
    };
    let count = match names.len() {
        2 => "Two".to_owned(),
        3 => "Three".to_owned(),
        more => more.to_string(),
    };
    let all = names.iter().map(LayerName::as_str).collect::<Vec<_>>().join(", ");
    let off: Vec<String> = names.iter().filter_map(known_off_switch).collect();
    let how = if off.is_empty() { String::new() } else { format!(" ({})", off.join("; ")) };
    let text = format!("{count} owners for {what}: {all}. Leave one and switch the others off{how}.");
    found("two_owners", Severity::Audit, text)
}

fn note_limits(stack: &Stack<'_>, worst_case: WorstCase, findings: &mut Vec<Finding>) {
    let is_unsafe = matches!(stack.class, Class::Reversible | Class::Irreversible);
    for layer in stack.layers {
        match layer.attempts {
            Some(Attempts::Unlimited) if is_unsafe => {
                let text = format!(
                    "{} retries without limit on a write of class {}: the worst case is ∞. {}",
                    layer.name,
                    stack.class.letter(),
                    switch_off(&layer.name)
                );
                findings.push(found("unlimited_retries", Severity::Audit, text));
            }
            None => {
                let text = format!(
                    "How often {} sends is not known: the worst case is at least {}.",
                    layer.name, worst_case.sends
                );
                findings.push(found("unknown_layer", Severity::Notice, text));
            }
            Some(Attempts::Fixed(_) | Attempts::Unlimited) => {}
        }
    }
    let is_known = !stack.layers.is_empty() && !worst_case.is_at_least;
    if let Attempts::Fixed(most) = worst_case.sends
        && is_known
        && stack.observed_sends > most
    {
        let text = format!(
            "{} sends of one operation were seen and {most} are declared at most: something retries that is not declared.",
            stack.observed_sends
        );
        findings.push(found("sends_above_declared", Severity::Audit, text));
    }
}

fn note_practices(stack: &Stack<'_>, findings: &mut Vec<Finding>) {
    let is_write = stack.class != Class::Read;
    for practice in stack.practices {
        match practice {
            Practice::Hedging { layer } if is_write => {
                let text =
                    format!("{layer} sends several copies at once. That is forbidden on writes: each can take effect.");
                findings.push(found("hedged_write", Severity::Audit, text));
            }
            Practice::McpRetries { max_retry_attempts } if is_write && *max_retry_attempts != 0 => {
                let text = format!(
                    "The MCP client repeats calls on any exception (max_retry_attempts = {max_retry_attempts}), and this tool writes. Set it to 0."
                );
                findings.push(found("mcp_retries_write", Severity::Audit, text));
            }
            Practice::StickyApproval => {
                let text =
                    "One approval covers every later call, whatever its arguments. Approve each set of arguments.";
                findings.push(found("sticky_approval", Severity::Audit, text));
            }
            Practice::Hedging { .. } | Practice::McpRetries { .. } => {}
        }
    }
}

fn known_off_switch(name: &LayerName) -> Option<String> {
    let off = known_layer(name.as_str())?.off_switch?;
    Some(format!("{name}: {off}"))
}

fn switch_off(name: &LayerName) -> String {
    match known_layer(name.as_str()).and_then(|known| known.off_switch) {
        Some(off) => format!("Switch it off: {off}."),
        None => "Switch it off there.".into(),
    }
}

fn found(code: &str, severity: Severity, text: impl Into<String>) -> Finding {
    Finding { code: code.into(), severity, text: text.into() }
}

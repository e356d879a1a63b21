//! Rows of the queue and of the operations list, and what stands above them.

use serde::{Deserialize, Serialize};

use super::bulk::ChoosingView;
use super::decision::DecisionView;
use super::rules::rule_sentence;
use super::state::{StateBadge, TallyView, WindowView, key_window, state_badge, tally};
use super::{ChipView, Lens, Moment, stake_in_words, target_in_words};
use crate::name::{DestinationName, ToolName};
use crate::operation::{Head, Mode, Projection, Reason};
use crate::query::{QueueOrder, UNTOLD};
use crate::time::Timestamp;

/// One operation as a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowView {
    /// Its id.
    pub id: String,
    /// Its operation key.
    pub key: String,
    /// Whether the key came with it.
    pub key_given: bool,
    /// Its state.
    pub badge: StateBadge,
    /// Tool → destination.
    pub target: String,
    /// Whether somebody else sends it.
    pub is_observed: bool,
    /// What is at stake.
    pub stake: Option<String>,
    /// Its attempts.
    pub tally: TallyView,
    /// Evidence.
    pub chips: Vec<ChipView>,
    /// Its key window.
    pub window: WindowView,
    /// How long it has been in its state.
    pub age: String,
    /// Since when.
    pub since: Moment,
    /// What to do first.
    pub recommended: String,
    /// Whose it is.
    pub assignee: Option<String>,
    /// The most serious finding, in a sentence, and how many there are.
    pub finding: Option<(String, u32)>,
}

/// A row of a list.
pub fn row_view(head: &Head, row: &Projection, lens: &Lens<'_>) -> RowView {
    let count = u32::try_from(row.findings.len()).unwrap_or(u32::MAX);
    RowView {
        id: head.id.to_string(),
        key: head.key.to_string(),
        key_given: head.key_given,
        badge: state_badge(row.state),
        target: target_in_words(
            head.tool.as_ref().map(ToolName::as_str),
            head.destination.as_ref().map(DestinationName::as_str),
        ),
        is_observed: head.mode == Mode::Observed,
        stake: stake_in_words(row.impact.as_ref()),
        tally: tally(row),
        chips: row.chips.iter().map(|chip| ChipView { text: chip.text.clone(), strength: chip.strength }).collect(),
        window: key_window(row.key_window, lens),
        age: short_span(&lens.age(row.since)),
        since: lens.moment(row.since),
        recommended: row.recommended.label().into(),
        assignee: row.assignee.as_ref().map(|id| lens.name(id)),
        finding: row.findings.first().map(|finding| (finding.text.clone(), count)),
    }
}

/// `22 h 41 min` as a column has it: `22 h 41`.
fn short_span(words: &str) -> String {
    match words.strip_suffix(" min") {
        Some(rest) if rest.contains(" h ") => rest.to_owned(),
        Some(_) | None => words.to_owned(),
    }
}

/// A filter chip above the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasonChip {
    /// Its value in the URL.
    pub name: String,
    /// What it says.
    pub label: String,
    /// How many: exact up to 999, then `999+`.
    pub count: String,
    /// Whether the list shows only these.
    pub is_chosen: bool,
}

/// Chips for all reasons that occur (and the chosen one).
pub fn reason_chips(counts: impl Fn(Reason) -> u32, chosen: Option<Reason>) -> Vec<ReasonChip> {
    let occurring = Reason::ALL.iter().copied().filter(|&reason| counts(reason) > 0 || chosen == Some(reason));
    let chip = |reason: Reason| ReasonChip {
        name: reason.name().into(),
        label: reason.label().into(),
        count: capped(counts(reason)),
        is_chosen: chosen == Some(reason),
    };
    occurring.map(chip).collect()
}

/// A count that is exact up to 999; the record counts no further.
pub fn capped(count: u32) -> String {
    if count > 999 { "999+".into() } else { count.to_string() }
}

/// The sum of capped counts: exact only when each of them is.
pub fn capped_sum(counts: impl IntoIterator<Item = u32>) -> String {
    let (mut sum, mut is_exact) = (0_u32, true);
    for count in counts {
        is_exact &= count <= 999;
        sum = sum.saturating_add(count.min(999));
    }
    if is_exact { sum.to_string() } else { format!("{sum}+") }
}

/// Operations of the queue that wait for the same reason and failed in the same way, as one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupView {
    /// The filter that finds its members: pairs of an address.
    pub filter: Vec<(String, String)>,
    /// What they wait for.
    pub reason: String,
    /// Tool → destination.
    pub target: String,
    /// What their newest open answer was judged by, with its error; nothing where none is on record.
    pub cause: Option<String>,
    /// That rule in a sentence.
    pub rule: Option<String>,
    /// How many.
    pub count: String,
    /// Since when the first of them is as it is.
    pub first: Moment,
    /// The latest fact about any of them.
    pub last: Moment,
}

/// What a group has in common, as the record has it.
pub struct GroupParts<'a> {
    /// Their tool.
    pub tool: Option<&'a str>,
    /// Their destination.
    pub destination: Option<&'a str>,
    /// What they wait for.
    pub reason: Reason,
    /// Their cause.
    pub cause: Option<&'a str>,
    /// How many.
    pub count: u32,
    /// Since when the first of them is as it is, and the latest fact.
    pub span: (Timestamp, Timestamp),
}

/// A group for reading.
pub fn group_view(group: &GroupParts<'_>, lens: &Lens<'_>) -> GroupView {
    let pair = |name: &str, value: Option<&str>| (name.to_owned(), value.unwrap_or(UNTOLD).to_owned());
    let rule = group.cause.and_then(|cause| cause.split(' ').next()).and_then(rule_sentence);
    GroupView {
        filter: vec![
            pair("reason", Some(group.reason.name())),
            pair("tool", group.tool),
            pair("destination", group.destination),
            pair("cause", group.cause),
        ],
        reason: group.reason.label().into(),
        target: target_in_words(group.tool, group.destination),
        cause: group.cause.map(ToOwned::to_owned),
        rule: rule.map(ToOwned::to_owned),
        count: group.count.to_string(),
        first: lens.moment(group.span.0),
        last: lens.moment(group.span.1),
    }
}

/// A list as a person saved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedViewLine {
    /// Its name.
    pub name: String,
    /// The query of its address.
    pub query: String,
}

/// The queue page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueView {
    /// How many wait in all.
    pub total: String,
    /// Filter chips.
    pub chips: Vec<ReasonChip>,
    /// How long the oldest has waited.
    pub oldest: Option<String>,
    /// How many lose their safe option within the hour.
    pub losing_soon: u32,
    /// The rows.
    pub rows: Vec<RowView>,
    /// Where the next page starts.
    pub next: Option<String>,
    /// When it was read.
    pub as_of: Moment,
    /// The newest change that it shows.
    pub sequence: String,
    /// The decision of the chosen row.
    pub chosen: Option<PanelView>,
    /// Acting on many rows, for those who may.
    pub choosing: Option<ChoosingView>,
    /// In which order the rows are.
    pub order: QueueOrder,
    /// The groups in place of the rows, and whether there is more than these.
    pub groups: Option<(Vec<GroupView>, bool)>,
    /// The reader's views.
    pub views: Vec<SavedViewLine>,
}

/// One operation's decision beside the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PanelView {
    /// Its row.
    pub row: RowView,
    /// Its position on the page, from 1; none when it is not on the page.
    pub position: Option<u32>,
    /// `irreversible`
    pub class: String,
    /// The decision.
    pub decision: DecisionView,
}

/// The operations page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationsView {
    /// The rows.
    pub rows: Vec<RowView>,
    /// Where the next page starts.
    pub next: Option<String>,
    /// Whether only a part of what a search may find was looked through.
    pub is_partly_searched: bool,
    /// When it was read.
    pub as_of: Moment,
    /// The newest change that it shows.
    pub sequence: String,
    /// Tools that occur.
    pub tools: Vec<String>,
    /// Destinations that occur.
    pub destinations: Vec<String>,
    /// The reader's views.
    pub views: Vec<SavedViewLine>,
    /// What it is narrowed to beyond the fields of its form, in words: by what the sums count.
    pub narrowed: Vec<String>,
    /// Acting on many rows, for those who may.
    pub choosing: Option<ChoosingView>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_up_to_999_and_say_so_beyond() {
        assert_eq!(capped(999), "999");
        assert_eq!(capped(1_000), "999+");
        assert_eq!(capped_sum([21, 9, 6]), "36");
        assert_eq!(capped_sum([1_000, 5]), "1004+");
    }

    #[test]
    fn a_column_of_ages_drops_the_unit_that_the_hours_imply() {
        assert_eq!(short_span("22 h 41 min"), "22 h 41");
        assert_eq!(short_span("41 min"), "41 min");
        assert_eq!(short_span("6 d 21 h"), "6 d 21 h");
    }

    #[test]
    fn only_reasons_that_occur_have_a_chip_and_the_chosen_one_stays() {
        let counts = |reason| if reason == Reason::TimedOut { 21 } else { 0 };
        let chips = reason_chips(counts, Some(Reason::Reset));
        let shown: Vec<_> =
            chips.iter().map(|chip| (chip.name.as_str(), chip.count.as_str(), chip.is_chosen)).collect();
        assert_eq!(shown, [("timed_out", "21", false), ("reset", "0", true)]);
    }
}

//! A list of operations as CSV (RFC 4180): what a spreadsheet or a script reads. Every time stands twice: in UTC, and in
//! the workspace's zone, whose name is part of the heading.

use super::Lens;
use crate::name::{DestinationName, Receipt, ToolName};
use crate::operation::{Head, Projection};
use crate::time::Timestamp;

/// A cell. Numbers are ours; text may be anybody's.
enum Cell {
    Text(String),
    Number(String),
    Nothing,
}

impl Cell {
    fn text(text: &(impl ToString + ?Sized)) -> Self {
        Self::Text(text.to_string())
    }

    fn text_opt(text: Option<impl ToString>) -> Self {
        text.map_or(Self::Nothing, |text| Self::text(&text))
    }

    fn number(number: i64) -> Self {
        Self::Number(number.to_string())
    }

    fn number_opt(number: Option<i64>) -> Self {
        number.map_or(Self::Nothing, Self::number)
    }
}

/// How many operations a file has at the most.
pub const ROWS_LIMIT: u32 = 10_000;
/// How many columns there are.
const COLUMNS: usize = 24;

/// The line above the rows.
pub fn heading(zone: &str) -> String {
    let zoned = |name: &str| [format!("{name}_utc"), format!("{name} ({zone})")];
    let plain = [
        "operation_key",
        "state",
        "waits_for",
        "tool",
        "destination",
        "mode",
        "class",
        "amount_minor",
        "currency",
        "people",
        "attempts",
        "attempts_allowed",
        "effects",
        "receipt",
        "recommended",
        "assignee",
    ];
    let times = ["first_attempt", "in_state_since", "recorded"].into_iter().flat_map(zoned);
    let names = plain.into_iter().map(str::to_owned).chain(times).chain(["operation_id".to_owned(), "note".to_owned()]);
    line(names.map(Cell::Text))
}

/// One operation.
pub fn row(head: &Head, row: &Projection, lens: &Lens<'_>) -> String {
    let impact = row.impact.as_ref();
    let times = [row.first_dispatched_at, Some(row.since), Some(head.recorded_at)];
    let zoned = |at: Option<Timestamp>| [Cell::text_opt(at), Cell::text_opt(at.map(|at| lens.times.stamp(at)))];
    let cells = [
        Cell::text(&head.key),
        Cell::text(row.state.word()),
        Cell::text_opt(row.attention.map(|attention| attention.reason.name())),
        Cell::text_opt(head.tool.as_ref().map(ToolName::as_str)),
        Cell::text_opt(head.destination.as_ref().map(DestinationName::as_str)),
        Cell::text(head.mode.name()),
        Cell::text(row.class.name()),
        Cell::number_opt(impact.and_then(|impact| impact.amount_minor)),
        Cell::text_opt(impact.and_then(|impact| impact.currency.as_deref())),
        Cell::number_opt(impact.and_then(|impact| impact.people)),
        Cell::number(row.attempts.into()),
        Cell::number_opt(row.attempts_allowed.map(Into::into)),
        Cell::number(row.effects.into()),
        Cell::text_opt(row.receipt.as_ref().map(Receipt::as_str)),
        Cell::text(row.recommended.name()),
        Cell::text_opt(row.assignee.as_ref().map(|id| lens.name(id))),
    ];
    let times = times.into_iter().flat_map(zoned);
    line(cells.into_iter().chain(times).chain([Cell::text(&head.id), Cell::Nothing]))
}

/// A last line that says something about the list; as many cells as every other.
pub fn note(text: &str) -> String {
    let cells = (1..COLUMNS).map(|_| Cell::Nothing);
    line(cells.chain([Cell::text(text)]))
}

fn line(cells: impl Iterator<Item = Cell>) -> String {
    let written: Vec<String> = cells.map(written).collect();
    format!("{}\r\n", written.join(","))
}

/// Text is always quoted, so that no separator of any spreadsheet divides it. What one of them would take for a formula
/// gets an apostrophe before it, which it shows as text.
fn written(cell: Cell) -> String {
    match cell {
        Cell::Nothing => String::new(),
        Cell::Number(number) => number,
        Cell::Text(text) => {
            let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { "'" } else { "" };
            format!("\"{guard}{}\"", text.replace('"', "\"\""))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::lens;
    use super::*;
    use crate::rig::{Rig, keyed, timed_out};
    use crate::tool::Class;

    #[test]
    fn what_a_spreadsheet_would_take_for_a_formula_is_text() {
        for start in ["=", "+", "-", "@", "\t", "\r", "\n"] {
            let evil = format!("{start}cmd|' /C calc'!A0");
            assert_eq!(written(Cell::text(&evil)), format!("\"'{evil}\""));
        }
        assert_eq!(written(Cell::text("a=1")), "\"a=1\"");
        assert_eq!(written(Cell::text("a\",=1\r\n")), "\"a\"\",=1\r\n\"");
        assert_eq!(written(Cell::number(-5)), "-5", "a number of ours stays one");
    }

    #[test]
    fn every_line_has_the_same_cells_and_times_stand_in_utc_and_in_the_zone() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.send_and_end("op", timed_out());
        let record = rig.record("op");
        let projection = record.row.as_ref().unwrap();
        let names = BTreeMap::new();
        let lines = [heading("Asia/Kathmandu"), row(&record.head, projection, &lens(&names)), note("Cut here.")];
        for line in &lines {
            assert_eq!(line.matches(',').count() + 1, COLUMNS, "{line}");
            assert!(line.ends_with("\r\n"));
        }
        let first = projection.first_dispatched_at.unwrap();
        assert!(lines[0].contains(r#""first_attempt_utc","first_attempt (Asia/Kathmandu)""#), "{}", lines[0]);
        let both = format!("\"{first}\",\"{}\"", lens(&names).times.stamp(first));
        assert!(first.to_string().ends_with('Z') && lines[1].contains(&both), "{}", lines[1]);
        assert!(lines[1].contains("\"uncertain\",\"timed_out\""), "{}", lines[1]);
    }
}

//! What happened to people (cases), explained. The texts and documents are snapshots: review them like code.

use super::*;
use crate::cases;
use crate::evidence::Trust;
use crate::name::{SourceName, ToolName};
use crate::tool::{Class, Tool};

fn stream() -> Stream {
    Stream::new(SourceName::parse("feed").unwrap(), Trust::Verified)
}

fn lines_of(text: &str) -> impl Iterator<Item = (u64, &[u8])> {
    (1..).zip(text.lines().map(str::as_bytes))
}

fn text_of(stream: Stream, lines: &str, as_of: Option<&str>) -> String {
    let as_of = as_of.map(|time| Timestamp::parse_rfc3339(time).unwrap());
    let mut explainer = Explainer::new(stream, as_of);
    let mut text = String::new();
    for (number, line) in lines_of(lines) {
        text.extend(explainer.tell(number, line).map(|explained| explained.text(Paint::Plain)));
    }
    text + &explainer.end().text(Paint::Plain)
}

/// As the command prints them: one document a line.
fn documents_of(lines: &str) -> String {
    let mut explainer = Explainer::new(stream(), None);
    let mut text = String::new();
    for (number, line) in lines_of(lines) {
        let told = explainer.tell(number, line).unwrap();
        text = text + &serde_json::to_string(&told).unwrap() + "\n";
    }
    text + &serde_json::to_string(&explainer.end()).unwrap()
}

#[test]
fn the_texts_of_four_cases() {
    for (name, case) in [("r01", cases::R01), ("r05", cases::R05), ("r13", cases::R13), ("r20", cases::R20)] {
        insta::assert_snapshot!(format!("{name}_text"), text_of(stream(), case, None));
    }
}

#[test]
fn the_documents_of_four_cases() {
    for (name, case) in [("r01", cases::R01), ("r05", cases::R05), ("r13", cases::R13), ("r20", cases::R20)] {
        insta::assert_snapshot!(format!("{name}_json"), documents_of(case));
    }
}

#[test]
fn no_line_of_any_case_is_wider_than_a_hundred_columns_unless_one_word_is() {
    for case in cases::ALL {
        for line in text_of(stream(), case, None).lines() {
            assert!(line.chars().count() <= 100 || line.starts_with("  op_"), "{line}");
        }
    }
}

#[test]
fn every_rule_that_speaks_in_a_case_is_explained_at_its_end() {
    for case in cases::ALL {
        let mut explainer = Explainer::new(stream(), None);
        let told: Vec<_> = lines_of(case).filter_map(|(number, line)| explainer.tell(number, line)).collect();
        let end = explainer.end();
        for explained in &told {
            let Explained::Told(told) = explained else { panic!("{explained:?}") };
            for rule in told.operations.iter().flat_map(ExplainedOperation::rules) {
                assert!(end.rules.contains_key(&rule), "{rule}");
            }
        }
    }
}

#[test]
fn a_bad_line_is_named_and_the_rest_goes_on() {
    let mut lines: Vec<&str> = cases::R15.lines().collect();
    lines.insert(1, r#"{"ts":"2026-10-05T09:00:00Z","ev":"nap"}"#);
    lines.insert(2, "");
    let text = text_of(stream(), &lines.join("\n"), None);
    assert!(text.contains("line 2 · not taken\n    ev: \"nap\" is not an event of the vocabulary\n"), "{text}");
    assert!(text.contains("line 4 · attempt.ended"), "{text}");
    assert!(text.ends_with("3 of 4 lines told, 1 not taken: 2 operations, 1 attempt, 1 effect\n"), "{text}");
}

#[test]
fn a_later_time_changes_the_answer_and_an_earlier_one_leaves_lines_out() {
    let at_its_time = text_of(stream(), cases::R21, None);
    assert!(at_its_time.contains("As of 2026-10-06T09:01:01Z: the time of the last line"), "{at_its_time}");
    assert!(!at_its_time.contains("uncertain(lost)"), "{at_its_time}");
    let later = text_of(stream(), cases::R21, Some("2026-10-06T09:01:31Z"));
    assert!(later.contains("As of 2026-10-06T09:01:31Z: the time asked for"), "{later}");
    assert!(later.contains("uncertain(lost) [F14]"), "{later}");
    let earlier = text_of(stream(), cases::R21, Some("2026-10-06T09:00:30Z"));
    assert!(earlier.contains("line 2 · operation.authorized · 2026-10-06T09:01:00Z: left out"), "{earlier}");
    assert!(earlier.contains("1 of 3 lines told, 2 later than asked for"), "{earlier}");
    assert!(!earlier.contains("executing"), "{earlier}");
}

#[test]
fn time_alone_changes_an_operation_that_no_line_names() {
    let lines = [
        r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.started","op":"a","n":1}"#,
        r#"{"ts":"2026-10-05T10:00:00Z","ev":"attempt.started","op":"b","n":1}"#,
    ];
    let text = text_of(stream(), &lines.join("\n"), None);
    assert!(text.contains("  a (changed by time alone)  ◐"), "{text}");
}

#[test]
fn a_declared_tool_changes_the_decision() {
    let mut declared = stream();
    let mut tool = Tool::undeclared(ToolName::parse("payments.charge").unwrap());
    (tool.class, tool.declared) = (Class::Reversible, true);
    declared.declare(tool);
    let lines: String = cases::R01.lines().take(4).collect::<Vec<_>>().join("\n");
    assert!(text_of(stream(), &lines, None).contains("[row 21]"));
    assert!(text_of(declared, &lines, None).contains("[row 20]"));
}

#[test]
fn an_unchanged_decision_is_told_once() {
    let text = text_of(stream(), cases::R02, None);
    assert!(text.contains("decision   as after line 4 [row 21] · first: Escalate"), "{text}");
}

#[test]
fn colours_are_written_only_where_they_are_asked_for() {
    let mut explainer = Explainer::new(stream(), None);
    let told = explainer.tell(1, cases::R01.lines().next().unwrap().as_bytes()).unwrap();
    assert!(!told.text(Paint::Plain).contains('\x1b'));
    assert!(told.text(Paint::Colour).contains("\x1b[1mline 1"));
}

#[test]
fn what_a_source_wrote_cannot_command_the_terminal() {
    let line = r#"{"ts":"2026-10-05T09:00:00Z","ev":"claim.refused","op":"a","claim":"\u001b[2J","reason":"x"}"#;
    let end = r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"a","claim":"\u001b[2J","outcome":"ok","receipt":"r"}"#;
    let text = text_of(stream(), &[line, end].join("\n"), None);
    assert!(text.contains("claim \u{fffd}[2J was refused") && !text.contains('\x1b'), "{text}");
}

#[test]
fn nothing_told_is_said() {
    assert_eq!(text_of(stream(), "", None), "Nothing was told.\n");
}

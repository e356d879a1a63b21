//! The explanation as text, readable in a hundred columns: rule numbers in brackets, colours only where asked for.

use std::fmt::Write as _;

use super::{
    BadLine, End, Explained, ExplainedAction, ExplainedAttempt, ExplainedDecision, ExplainedOperation, LaterLine,
    ToldLine, Touch,
};
use crate::decision::Verdict;
use crate::view::counted;
use crate::view::decision::row_name;
use crate::view::rules::rule_family;
use crate::view::state::Tone;

/// The most characters of a line.
const WIDTH: usize = 100;
/// Where what is said about an operation begins.
const INDENT: usize = 4;
/// How wide the words before it are.
const LABEL: usize = 11;

/// Whether colour codes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// None: for files and pipes.
    Plain,
    /// For a terminal.
    Colour,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }

    fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn state(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Uncertain => "33",
            Tone::Contradicted => "35",
            Tone::Running => "34",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Quiet => "2",
        };
        self.with(code, text)
    }
}

impl Explained {
    /// As text, several lines, the last one ended.
    pub fn text(&self, paint: Paint) -> String {
        match self {
            Self::Told(told) => told.text(paint),
            Self::Bad(BadLine { line, not_taken }) => {
                let mut out = format!("{}\n", paint.bold(&format!("line {line} · not taken")));
                plain(&mut out, INDENT, not_taken);
                out
            }
            Self::Later(LaterLine { line, event, at, later_than }) => {
                format!("line {line} · {event} · {at}: left out, it is later than {later_than}\n")
            }
        }
    }
}

impl ToldLine {
    fn text(&self, paint: Paint) -> String {
        let mut out = format!("{}\n", paint.bold(&format!("line {} · {} · {}", self.line, self.event, self.at)));
        if self.operations.is_empty() {
            plain(&mut out, INDENT, "Kept; it changes no operation that is known so far.");
        }
        for operation in &self.operations {
            operation.write(&mut out, paint);
        }
        out
    }
}

impl ExplainedOperation {
    fn write(&self, out: &mut String, paint: Paint) {
        let because = match self.touched {
            Touch::Named | Touch::End => "",
            Touch::Concerned => " (changed by it)",
            Touch::Time => " (changed by time alone)",
        };
        let (tone, glyph) = self.glyph;
        let state = format!("{glyph} {}", self.state_in_words);
        let _ = writeln!(
            out,
            "  {}{because}  {}  {} [{}]",
            paint.bold(&self.operation),
            paint.state(tone, &state),
            self.state,
            self.fold_rule
        );
        if self.touched != Touch::End || self.decision.unchanged_since_line.is_none() {
            let key = if self.key_given { self.operation_key.as_str() } else { "no key" };
            plain(out, INDENT, &format!("{key} · {} · {}", self.target, self.class));
            self.write_facts(out);
        }
        self.decision.write(out, paint);
    }

    fn write_facts(&self, out: &mut String) {
        for (index, attempt) in self.attempts.iter().enumerate() {
            labelled(out, if index == 0 { "attempts" } else { "" }, &attempt.sentence());
        }
        for (index, effect) in self.effects.iter().enumerate() {
            let surplus = if effect.is_surplus { " · one too many" } else { "" };
            let also = if effect.aliases.is_empty() { "" } else { " · also " };
            let aliases = effect.aliases.join(", ");
            let text = format!("{}{also}{aliases} · {} · {}{surplus}", effect.receipt, effect.strength, effect.at);
            labelled(out, if index == 0 { "effects" } else { "" }, &text);
        }
        for (index, finding) in self.findings.iter().enumerate() {
            let text = format!("{}: {} ({})", finding.severity.name(), finding.text, finding.code);
            labelled(out, if index == 0 { "findings" } else { "" }, &text);
        }
        labelled(out, "known", &self.known.join(" "));
        if let Some(at) = &self.next_change_at {
            labelled(out, "by time", &format!("Changes by itself at {at}."));
        }
    }
}

impl ExplainedAttempt {
    fn sentence(&self) -> String {
        let owner = self.owner.as_ref().map(|owner| format!(" {owner}")).unwrap_or_default();
        let verdict = match self.doubt {
            _ if self.is_running => "running".to_owned(),
            Some(doubt) => format!("{}({doubt}), {} [{}]", self.verdict, self.text, self.rule),
            None => format!("{}, {} [{}]", self.verdict, self.text, self.rule),
        };
        let closed = match &self.closed_by {
            Some(rule) => format!("closed [{rule}]"),
            None => "open".to_owned(),
        };
        format!("{}{owner}: {verdict} · {closed}", self.number)
    }
}

/// What is always safe, settles nothing, and need not be explained each time.
const EVERYDAY: [&str; 4] = ["attach_evidence", "escalate", "assign", "comment"];

impl ExplainedDecision {
    fn write(&self, out: &mut String, paint: Paint) {
        let row = bracketed(&[row_name(&self.row)]);
        let is_first = |action: &&ExplainedAction| action.action == self.recommended;
        if let Some(line) = self.unchanged_since_line {
            let first = self.actions.iter().find(is_first).map_or("", |action| action.label);
            return labelled(out, "decision", &format!("as after line {line} {row} · first: {first}"));
        }
        labelled(out, "decision", &format!("{} {row}", self.why));
        let is_everyday = |action: &ExplainedAction| {
            EVERYDAY.contains(&action.action) && action.verdict == Verdict::Safe && action.action != self.recommended
        };
        let offered = || self.actions.iter().filter(|action| action.verdict != Verdict::NotOffered);
        for action in self.actions.iter().filter(is_first) {
            action.write(out, '★', paint);
        }
        let rest = || offered().filter(|action| !is_first(action) && !is_everyday(action));
        let mut open: Vec<_> = rest().filter(|action| action.verdict != Verdict::Forbidden).collect();
        // The sort is stable: within a verdict the order of the actions stays.
        open.sort_by_key(|action| action.verdict);
        for action in open {
            action.write(out, ' ', paint);
        }
        let everyday: Vec<_> = offered().filter(|one| is_everyday(one)).map(|one| one.label.to_lowercase()).collect();
        if !everyday.is_empty() {
            plain(out, INDENT + 2, &format!("Always safe: {}.", everyday.join(", ")));
        }
        let mut forbidden: Vec<(String, Vec<&str>)> = Vec::new();
        for action in rest().filter(|action| action.verdict == Verdict::Forbidden) {
            let reason = action.reason_with_grounds();
            match forbidden.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, labels)) => labels.push(action.label),
                None => forbidden.push((reason, vec![action.label])),
            }
        }
        for (reason, labels) in forbidden {
            plain(out, INDENT + 2, &format!("Forbidden: {}. {reason}", labels.join(", ").to_lowercase()));
        }
    }
}

impl ExplainedAction {
    fn reason_with_grounds(&self) -> String {
        let rows = self.forbidden_by.iter().map(|row| row_name(row));
        let grounds: Vec<String> = rows.chain(self.overlays.iter().cloned()).collect();
        let until = self.expires_at.as_ref().map(|at| format!(" Until {at}.")).unwrap_or_default();
        let grounds = if grounds.is_empty() { String::new() } else { format!(" {}", bracketed(&grounds)) };
        format!("{}{until}{grounds}", self.reason)
    }

    fn write(&self, out: &mut String, mark: char, paint: Paint) {
        let verdict = format!("{:<13}", self.verdict.label());
        let verdict = match self.verdict {
            Verdict::Safe => paint.with("32", &verdict),
            Verdict::Confirm | Verdict::Dual => paint.with("33", &verdict),
            Verdict::Forbidden | Verdict::NotOffered => paint.with("2", &verdict),
        };
        let label = format!("{:<23}", self.label);
        let label = if mark == '★' { paint.bold(&label) } else { label };
        let indent = INDENT + 2 + 23 + 1 + 13 + 1;
        let reason = wrapped(&self.reason_with_grounds(), WIDTH - indent);
        let _ = write!(out, "{}{mark} {label} {verdict} ", " ".repeat(INDENT));
        write_wrapped(out, &reason, indent);
    }
}

impl End {
    /// As text, several lines, the last one ended.
    pub fn text(&self, paint: Paint) -> String {
        let clock = match self.as_of_is {
            "asked" => "the time asked for",
            _ => "the time of the last line; --as-of asks for another",
        };
        let Some(as_of) = &self.as_of else { return "Nothing was told.\n".into() };
        let mut out = format!("{}\n", paint.bold(&format!("As of {as_of}: {clock}")));
        for operation in &self.operations {
            operation.write(&mut out, paint);
        }
        if !self.rules.is_empty() {
            let _ = writeln!(out, "{}", paint.bold("The rules that spoke"));
        }
        let mut rules: Vec<_> = self.rules.iter().collect();
        rules.sort_by_key(|(id, _)| (family_order(id), number_in(id), id.as_str()));
        for (id, sentence) in rules {
            let _ = write!(out, "  {id:<8} ");
            write_wrapped(&mut out, &wrapped(sentence, WIDTH - 11), 11);
        }
        let lines = &self.lines;
        let told = lines.lines - lines.not_taken - lines.later;
        let mut sum = format!("{told} of {} told", counted_lines(lines.lines));
        if lines.not_taken > 0 {
            let _ = write!(sum, ", {} not taken", lines.not_taken);
        }
        if lines.later > 0 {
            let _ = write!(sum, ", {} later than asked for", lines.later);
        }
        let totals = &self.totals;
        let _ = writeln!(
            out,
            "{}",
            paint.bold(&format!(
                "{sum}: {}, {}, {}",
                counted(totals.operations, "operation", "operations"),
                counted(totals.attempts, "attempt", "attempts"),
                counted(totals.effects, "effect", "effects"),
            ))
        );
        out
    }
}

fn counted_lines(lines: u64) -> String {
    if lines == 1 { "1 line".into() } else { format!("{lines} lines") }
}

fn family_order(id: &str) -> u8 {
    match rule_family(id) {
        "what one answer proves" => 0,
        "what closes an attempt" => 1,
        "what the facts together say" => 2,
        "what may be done" => 3,
        _ => 4,
    }
}

fn number_in(id: &str) -> u32 {
    let digits: String = id.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

/// One paragraph with a word before it, wrapped and indented.
fn labelled(out: &mut String, label: &str, text: &str) {
    let _ = write!(out, "{}{label:<LABEL$}", " ".repeat(INDENT));
    write_wrapped(out, &wrapped(text, WIDTH - INDENT - LABEL), INDENT + LABEL);
}

/// One paragraph, wrapped and indented.
fn plain(out: &mut String, indent: usize, text: &str) {
    let _ = write!(out, "{}", " ".repeat(indent));
    write_wrapped(out, &wrapped(text, WIDTH - indent), indent);
}

fn write_wrapped(out: &mut String, lines: &[String], indent: usize) {
    for (index, line) in lines.iter().enumerate() {
        let _ = writeln!(out, "{}{line}", if index == 0 { String::new() } else { " ".repeat(indent) });
    }
}

/// Rule numbers in brackets that no line break divides.
fn bracketed(rules: &[String]) -> String {
    format!("[{}]", rules.join(", ")).replace(' ', NO_BREAK)
}

const NO_BREAK: &str = "\u{a0}";

/// Words on lines of at most `width` characters; a word that is longer stands alone. What a source wrote may hold
/// characters that a terminal would obey; they are shown as replaced.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let text: String =
        text.chars().map(|one| if one.is_control() { char::REPLACEMENT_CHARACTER } else { one }).collect();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().map(|line| line.chars().count()).unwrap_or_default();
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.into_iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

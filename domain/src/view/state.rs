//! How a state, a tally and a key window look: word, glyph and tone. Colour never stands alone.

use serde::{Deserialize, Serialize};

use super::{Lens, counted};
use crate::operation::{Contradiction, Doubt, Failure, KeyWindow, Mark, Notch, Projection, State, SuccessBasis};
use crate::time::span_in_words;

/// The hue of a badge. Each goes with its own glyph and word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Not known.
    Uncertain,
    /// Facts disagree.
    Contradicted,
    /// Under way.
    Running,
    /// The effect is there.
    Good,
    /// There is no effect, or something is wrong.
    Bad,
    /// Nothing to worry about.
    Quiet,
}

impl Tone {
    /// Its class in the style sheet.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uncertain => "uncertain",
            Self::Contradicted => "contradicted",
            Self::Running => "running",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Quiet => "quiet",
        }
    }
}

/// A state as a badge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateBadge {
    /// Its hue.
    pub tone: Tone,
    /// Its own sign.
    pub glyph: char,
    /// In one or two words, for rows.
    pub word: String,
    /// With what stands behind it, for headings.
    pub phrase: String,
    /// Its name in the record: `uncertain(timeout)`.
    pub name: String,
    /// Solid outline when nothing more is expected, dashed otherwise.
    pub is_final: bool,
}

/// The badge of a state.
pub fn state_badge(state: State) -> StateBadge {
    let (tone, glyph) = match state {
        State::Uncertain(_) => (Tone::Uncertain, '◐'),
        State::Contradicted(_) => (Tone::Contradicted, '◆'),
        State::Succeeded(SuccessBasis::Partial) => (Tone::Good, '◕'),
        State::Succeeded(_) => (Tone::Good, '●'),
        State::Failed(_) => (Tone::Bad, '✕'),
        State::Executing => (Tone::Running, '▶'),
        State::Claimed => (Tone::Running, '▷'),
        State::RetryWait(_) => (Tone::Running, '↻'),
        State::Proposed => (Tone::Quiet, '○'),
        State::Authorized => (Tone::Quiet, '◎'),
        State::ApprovalExpired => (Tone::Uncertain, '◌'),
        State::Denied | State::Cancelled => (Tone::Quiet, '⊘'),
        State::Superseded => (Tone::Quiet, '↷'),
    };
    let (word, phrase) = state_words(state);
    StateBadge {
        tone,
        glyph,
        word: word.into(),
        phrase: phrase.into(),
        name: state.to_string(),
        is_final: state.is_final(),
    }
}

const fn state_words(state: State) -> (&'static str, &'static str) {
    match state {
        State::Uncertain(doubt) => doubt_words(doubt),
        State::Contradicted(Contradiction::Duplicate) => ("two effects", "contradicted · two effects of one intent"),
        State::Contradicted(Contradiction::DuplicateLikely) => {
            ("likely twice", "contradicted · probably two effects of one intent")
        }
        State::Contradicted(Contradiction::Attestation) => {
            ("contradicted", "contradicted · proof against a person's statement")
        }
        State::Contradicted(Contradiction::Reversed) => ("reversed", "contradicted · the object failed afterwards"),
        State::Contradicted(Contradiction::ProofBroken) => {
            ("proof broken", "contradicted · an effect although every attempt was refused")
        }
        State::Contradicted(Contradiction::EffectWithoutAttempt) => {
            ("effect, no send", "contradicted · an effect without any send")
        }
        State::Succeeded(SuccessBasis::Receipt) => ("succeeded", "succeeded · by receipt"),
        State::Succeeded(SuccessBasis::Attested) => ("succeeded, attested", "succeeded · on a person's word"),
        State::Succeeded(SuccessBasis::Partial) => ("partly succeeded", "succeeded · some of several items"),
        State::Failed(Failure::Permanent) => ("refused", "failed · refused for good"),
        State::Failed(Failure::Business) => ("declined", "failed · the destination declined it"),
        State::Failed(Failure::Deadline) => ("deadline passed", "failed · the deadline passed, nothing open"),
        State::Failed(Failure::Budget) => ("attempts spent", "failed · attempts used up, nothing open"),
        State::Failed(Failure::Observed) => ("refused", "failed · every attempt on record was refused"),
        State::Failed(Failure::Attested) => ("failed, attested", "failed · on a person's word"),
        State::Failed(Failure::AttestedThenProved) => ("failed", "failed · a person's word, then proof"),
        State::Proposed => ("proposed", "proposed · nothing sent"),
        State::Authorized => ("authorized", "authorized · nothing sent"),
        State::Claimed => ("claimed", "claimed · about to be sent"),
        State::Executing => ("executing", "executing · a send is running"),
        State::RetryWait(_) => ("waits to retry", "waits to retry · nothing open"),
        State::Denied => ("denied", "denied · never sent"),
        State::ApprovalExpired => ("approval expired", "approval expired · nothing sent"),
        State::Cancelled => ("cancelled", "cancelled · nothing open"),
        State::Superseded => ("superseded", "superseded · another operation took over"),
    }
}

const fn doubt_words(doubt: Doubt) -> (&'static str, &'static str) {
    match doubt {
        Doubt::KeyMismatch => ("key mismatch", "uncertain · the key belongs to another request"),
        Doubt::ReplayedError => ("replayed error", "uncertain · a stored error is replayed"),
        Doubt::Partial => ("partial", "uncertain · some items applied"),
        Doubt::Accepted => ("accepted", "uncertain · accepted, to be decided later"),
        Doubt::InFlight => ("in flight", "uncertain · the destination is still at it"),
        Doubt::NoReceipt => ("no receipt", "uncertain · looks done, but no receipt"),
        Doubt::Likely => ("likely done", "uncertain · likely done, not proved"),
        Doubt::Restored => ("restored", "uncertain · the record was restored from a copy"),
        Doubt::Crashed => ("crashed", "uncertain · the sender died after send"),
        Doubt::UndeclaredStatus => ("odd status", "uncertain · a status nobody declared"),
        Doubt::ServerError => ("server error", "uncertain · the destination or a hop failed"),
        Doubt::Reset => ("connection lost", "uncertain · the connection broke after send"),
        Doubt::Timeout => ("timed out", "uncertain · timed out after send"),
        Doubt::Lost => ("lost", "uncertain · nothing was heard of the send again"),
    }
}

/// The notches of one retry layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TallyGroup {
    /// The layer; `unnamed layer` where none is told.
    pub layer: String,
    /// One mark an attempt, oldest first.
    pub marks: Vec<Mark>,
}

/// The tally: one notch an attempt, grouped by layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TallyView {
    /// The groups, in order of their first attempt.
    pub groups: Vec<TallyGroup>,
    /// For those who do not see notches: `2 attempts. tool: 1 unknown, 1 not sent.`
    pub spoken: String,
    /// How many older attempts have no notch here: `+488`.
    pub more: Option<String>,
    /// Beside the notches: `2 of 4 · tool`.
    pub caption: String,
    /// Whether there are more attempts than allowed, or several layers made them.
    pub is_loud: bool,
}

const fn mark_words(mark: Mark) -> &'static str {
    match mark {
        Mark::Running => "running",
        Mark::Unknown => "unknown",
        Mark::NotSent => "not sent",
        Mark::Refused => "refused",
        Mark::Confirmed => "confirmed",
    }
}

/// The most notches that are drawn; the newest.
const NOTCHES: usize = 12;

/// The tally of a row.
pub fn tally(row: &Projection) -> TallyView {
    let groups = group_by_layer(&row.tally);
    let attempts = row.attempts as usize;
    let drawn = &row.tally[row.tally.len().saturating_sub(NOTCHES)..];
    let undrawn = attempts.max(row.tally.len()) - drawn.len();
    let mut caption = match row.attempts_allowed {
        Some(allowed) => format!("{attempts} of {allowed}"),
        None if attempts == 0 => "none".to_owned(),
        None => attempts.to_string(),
    };
    // Which layers made the oldest of very many attempts is not kept in a row.
    let kept = row.tally.len();
    let of = if kept < attempts { format!("last {kept}: ") } else { String::new() };
    match groups.as_slice() {
        [] => {}
        [only] => caption = format!("{caption} · {of}{}", only.layer),
        several => caption = format!("{caption} · {of}{} layers", several.len()),
    }
    let is_loud = row.attempts_allowed.is_some_and(|allowed| row.attempts > allowed) || groups.len() > 1;
    TallyView {
        groups: group_by_layer(drawn),
        spoken: spoken_tally(attempts, row.tally.len(), &groups),
        more: (undrawn > 0).then(|| format!("+{undrawn}")),
        caption,
        is_loud,
    }
}

fn group_by_layer(notches: &[Notch]) -> Vec<TallyGroup> {
    let mut groups: Vec<TallyGroup> = Vec::new();
    for notch in notches {
        let layer = notch.layer.as_deref().unwrap_or("unnamed layer");
        match groups.iter_mut().find(|group| group.layer == layer) {
            Some(group) => group.marks.push(notch.mark),
            None => groups.push(TallyGroup { layer: layer.to_owned(), marks: vec![notch.mark] }),
        }
    }
    groups
}

/// A row keeps no notch of the oldest of very many attempts.
fn spoken_tally(attempts: usize, kept: usize, groups: &[TallyGroup]) -> String {
    let mut spoken = format!("{}.", counted(attempts, "attempt", "attempts"));
    if kept < attempts {
        spoken = format!("{spoken} Of the newest {kept}:");
    }
    for group in groups {
        spoken = format!("{spoken} {}: {}.", group.layer, marks_in_words(&group.marks));
    }
    spoken
}

/// `30 unknown, 7 refused`
pub(super) fn marks_in_words(marks: &[Mark]) -> String {
    let kinds: Vec<String> = Mark::ALL
        .iter()
        .map(|&mark| (marks.iter().filter(|&&one| one == mark).count(), mark_words(mark)))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    kinds.join(", ")
}

/// How long the destination key still protects, for a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowView {
    /// `23 min`, `expired`, `no key`, `unknown`.
    pub text: String,
    /// Until when, in full, where there is a window.
    pub until: Option<String>,
    /// What is left of the window, in percent, where there is one.
    pub percent: Option<u8>,
    /// Whether it is gone or ends within the hour.
    pub is_urgent: bool,
}

/// The key window at the reader's time.
pub fn key_window(window: KeyWindow, lens: &Lens<'_>) -> WindowView {
    let plain = |text: &str| WindowView { text: text.into(), until: None, percent: None, is_urgent: false };
    let KeyWindow::Until { from, until } = window else {
        return plain(if window == KeyWindow::NoKey { "no key" } else { "unknown" });
    };
    let (left, whole) = (until.since(lens.now), until.since(from));
    let percent = (left.as_secs() * 100).checked_div(whole.as_secs()).unwrap_or(0).min(100);
    let is_over = left.is_zero();
    WindowView {
        text: if is_over { "expired".into() } else { span_in_words(left) },
        until: Some(lens.times.full(until)),
        percent: Some(u8::try_from(percent).unwrap_or(100)),
        is_urgent: left.as_secs() < 3_600,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::view::tests::{at, lens};

    #[test]
    fn every_state_has_a_glyph_and_words_and_uncertain_ones_are_never_final() {
        for state in State::all() {
            let badge = state_badge(state);
            assert!(!badge.word.is_empty() && !badge.phrase.is_empty(), "{state}");
            assert!(badge.word.len() <= 20, "{state}: {:?} is too long for a row", badge.word);
            assert_eq!(badge.is_final, state.is_final());
        }
    }

    #[test]
    fn states_that_look_alike_in_colour_differ_in_glyph() {
        let glyph = |state| state_badge(state).glyph;
        assert_ne!(glyph(State::Uncertain(Doubt::Timeout)), glyph(State::Contradicted(Contradiction::Duplicate)));
        assert_ne!(glyph(State::Succeeded(SuccessBasis::Receipt)), glyph(State::Failed(Failure::Permanent)));
    }

    #[test]
    fn notches_are_grouped_by_layer_and_spoken() {
        let notch = |layer: &str, mark| Notch { layer: Some(layer.into()), mark };
        let notches = [notch("tool", Mark::Unknown), notch("agent", Mark::Refused), notch("tool", Mark::NotSent)];
        let groups = group_by_layer(&notches);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].marks, [Mark::Unknown, Mark::NotSent]);
        assert_eq!(spoken_tally(3, 3, &groups), "3 attempts. tool: 1 unknown, 1 not sent. agent: 1 refused.");
        let of_many = spoken_tally(500, 3, &groups);
        assert_eq!(of_many, "500 attempts. Of the newest 3: tool: 1 unknown, 1 not sent. agent: 1 refused.");
    }

    #[test]
    fn of_very_many_attempts_the_newest_have_notches_and_the_others_are_a_number() {
        let mut rig = crate::rig::Rig::uncertain(crate::tool::Class::Reversible, crate::rig::keyed());
        rig.refold();
        let one = rig.record("op").row.clone().unwrap();
        let shown = tally(&one);
        assert_eq!((shown.more, shown.groups[0].marks.len()), (None, 1));
        let many = Projection { attempts: 500, tally: vec![one.tally[0].clone(); 60], ..one };
        let shown = tally(&many);
        assert_eq!((shown.more.as_deref(), shown.groups[0].marks.len()), (Some("+488"), 12));
        assert!(shown.caption.starts_with("500") && shown.caption.contains("last 60: "), "{}", shown.caption);
    }

    #[test]
    fn a_key_window_says_what_is_left_and_when_it_is_over() {
        let names = BTreeMap::new();
        let lens = lens(&names);
        let from = at("2026-10-05T09:00:00Z");
        let view = key_window(KeyWindow::Until { from, until: at("2026-10-06T09:23:00Z") }, &lens);
        assert_eq!((view.text.as_str(), view.percent, view.is_urgent), ("23 min", Some(1), true));
        let over = key_window(KeyWindow::Until { from, until: at("2026-10-06T08:00:00Z") }, &lens);
        assert_eq!((over.text.as_str(), over.percent, over.is_urgent), ("expired", Some(0), true));
        assert_eq!(key_window(KeyWindow::NoKey, &lens).text, "no key");
        assert_eq!(key_window(KeyWindow::Unknown, &lens).percent, None);
    }
}

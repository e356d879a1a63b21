//! The deliveries page: what destinations told by themselves, when it came, and which operation it speaks of.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Moment;
use super::timeline::link_words;
use crate::delivery::Scheme;
use crate::evidence::LinkedBy;
use crate::query::{DeliveryFilter, LATE};
use crate::time::{Timestamp, span_in_words};

/// Clocks differ by as much as this without anybody's fault.
const ORDINARY: Duration = Duration::from_secs(1);

/// The page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveriesView {
    /// Deliveries, newest first.
    pub rows: Vec<DeliveryLine>,
    /// Where the next page starts.
    pub next: Option<String>,
    /// Which are looked for.
    pub only: Option<DeliveryFilter>,
    /// How many were searched, where that was not all and fewer were found than a page has.
    pub searched: Option<String>,
}

/// What a link to these deliveries says.
pub const fn filter_words(only: DeliveryFilter) -> &'static str {
    match only {
        DeliveryFilter::Unmatched => "Not matched",
        DeliveryFilter::Repeated => "Came again",
        DeliveryFilter::Late => "Late",
    }
}

/// One delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryLine {
    /// The webhook that it came to.
    pub webhook: String,
    /// The destination that delivers there.
    pub destination: String,
    /// Its id at the destination.
    pub id: String,
    /// The type of its event.
    pub event: Option<String>,
    /// What its signature was verified by.
    pub verified: String,
    /// When it was first received.
    pub received_at: Moment,
    /// When it happened by the destination's clock.
    pub happened_at: Option<Moment>,
    /// How much later it came than it happened.
    pub late: String,
    /// Whether that is worth a mark.
    pub is_late: bool,
    /// How often it came.
    pub came: String,
    /// When it last came again.
    pub repeated_at: Option<Moment>,
    /// The operations that hold what it says; none while it is not matched.
    pub matched: Vec<MatchLine>,
}

/// An operation that holds what a delivery says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchLine {
    /// Its id.
    pub operation_id: String,
    /// Its key.
    pub operation_key: String,
    /// How it was linked: `linked by key`.
    pub link: String,
}

impl MatchLine {
    /// An operation and how a delivery was linked to it.
    pub fn new(operation_id: &str, operation_key: &str, linked_by: LinkedBy) -> Self {
        let link = link_words(linked_by).to_owned();
        Self { operation_id: operation_id.into(), operation_key: operation_key.into(), link }
    }
}

/// By what a signature was verified.
pub const fn scheme_words(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Stripe => "Stripe's signature",
        Scheme::Github => "GitHub's signature",
        Scheme::Standard => "Standard Webhooks signature",
    }
}

/// How much later a delivery came than what it tells happened, and whether that is worth a mark.
pub fn late_in_words(received_at: Timestamp, happened_at: Option<Timestamp>) -> (String, bool) {
    let Some(happened_at) = happened_at else { return ("its time is not told".into(), false) };
    let (late, ahead) = (received_at.since(happened_at), happened_at.since(received_at));
    if ahead > ORDINARY {
        return (format!("its clock is {} ahead", span_in_words(ahead)), false);
    }
    if late <= ORDINARY {
        return ("at once".into(), false);
    }
    (format!("{} later", span_in_words(late)), late >= LATE)
}

/// How often a delivery came.
pub fn came_in_words(repeats: u32) -> String {
    match repeats {
        0 => "once".into(),
        _ => format!("{} times", u64::from(repeats) + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_late_a_delivery_came_is_told_with_its_direction() {
        let received = Timestamp::parse_rfc3339("2026-10-05T09:00:00Z").unwrap();
        let table = [
            (None, "its time is not told", false),
            (Some("2026-10-05T09:00:00Z"), "at once", false),
            (Some("2026-10-05T08:59:59Z"), "at once", false),
            (Some("2026-10-05T08:59:58Z"), "2 s later", false),
            (Some("2026-10-05T08:55:01Z"), "4 min later", false),
            (Some("2026-10-05T08:55:00Z"), "5 min later", true),
            (Some("2026-10-02T06:00:00Z"), "3 d 3 h later", true),
            (Some("2026-10-05T09:00:01Z"), "at once", false),
            (Some("2026-10-05T09:00:40Z"), "its clock is 40 s ahead", false),
        ];
        for (happened, words, is_late) in table {
            let happened = happened.map(|text| Timestamp::parse_rfc3339(text).unwrap());
            assert_eq!(late_in_words(received, happened), (words.to_owned(), is_late), "{happened:?}");
        }
    }

    #[test]
    fn a_count_of_repeats_is_told_as_how_often_it_came() {
        let words = [0, 1, 9, u32::MAX].map(came_in_words);
        assert_eq!(words, ["once", "2 times", "10 times", "4294967296 times"]);
    }

    #[test]
    fn a_match_says_how_it_was_linked() {
        let links = LinkedBy::ALL.iter().map(|by| MatchLine::new("1", "k", *by).link).collect::<Vec<_>>();
        assert!(links.iter().all(|link| link.starts_with("linked by")), "{links:?}");
        assert!(Scheme::ALL.iter().all(|scheme| scheme_words(*scheme).contains("ignature")));
    }
}

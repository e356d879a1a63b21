//! Filters, sort and cursor of the lists, as data, to and from URLs. The state of every list is its URL.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::operation::{Mark, Mode, Reason, State, named};
use crate::time::Timestamp;

/// Rows on a page unless asked otherwise.
pub const PAGE_SIZE: u32 = 50;
/// The most rows a page may have.
pub const PAGE_LIMIT: u32 = 200;

/// What `/operations` and `GET /api/v1/operations` show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OperationQuery {
    /// A state word: `uncertain`.
    pub state: Option<String>,
    /// A tool's name, exactly.
    pub tool: Option<String>,
    /// A destination's name, exactly.
    pub destination: Option<String>,
    /// Guarded or observed.
    pub mode: Option<Mode>,
    /// Start of an operation key, a whole receipt, a whole id, or a source's name for the operation. What it finds comes
    /// in the order of the keys.
    pub search: Option<String>,
    /// Only those whose key was not given.
    pub without_key: bool,
    /// Only what was sent: counted with a first attempt at this time or later.
    pub since: Option<Timestamp>,
    /// Only what was sent: counted with a first attempt before this time.
    pub until: Option<Timestamp>,
    /// Only those with an attempt made by this layer; `-` for attempts of which no layer is told.
    pub layer: Option<String>,
    /// Only those with an attempt of which this is known.
    pub mark: Option<Mark>,
    /// Where the page starts; opaque.
    pub after: Option<String>,
    /// Rows on the page.
    pub limit: Option<u32>,
}

named! {
    /// Which deliveries a person looks for.
    DeliveryFilter {
        /// Those that name no operation on record.
        Unmatched = "unmatched",
        /// Those that came more than once.
        Repeated = "repeated",
        /// Those that came much later than what they tell happened.
        Late = "late",
    }
}

/// From here on a delivery is late.
pub const LATE: Duration = Duration::from_mins(5);

/// Stands in an address for a name that is not told.
pub const UNTOLD: &str = "-";

named! {
    /// Orders of the queue.
    #[derive(Default)]
    QueueOrder {
        /// What loses its safe option soonest, then what has most at stake, then what waits longest.
        #[default]
        Urgency = "urgency",
        /// What waits longest first.
        Age = "age",
        /// The largest amount first, whatever its currency; what has none comes last.
        Stake = "stake",
    }
}

/// What the queue shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueQuery {
    /// Only this reason.
    pub reason: Option<Reason>,
    /// Only one assignee, by id; `me` is the reader.
    pub assignee: Option<String>,
    /// Only this tool, by name; [`UNTOLD`] for those without one.
    pub tool: Option<String>,
    /// Only this destination, by name; [`UNTOLD`] for those without one.
    pub destination: Option<String>,
    /// Only what failed in this way: `E12 timeout`; [`UNTOLD`] for what has no cause on record.
    pub cause: Option<String>,
    /// In which order.
    pub order: QueueOrder,
    /// Whether equal ones are one line.
    pub grouped: bool,
    /// Where the page starts; opaque.
    pub after: Option<String>,
    /// Rows on the page.
    pub limit: Option<u32>,
    /// The row whose decision is shown beside the list, by id.
    pub selected: Option<String>,
}

/// What is wrong with a URL's query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{parameter}={value:?} is not understood; {expected}")]
pub struct QueryError {
    /// The parameter.
    pub parameter: String,
    /// What it held.
    pub value: String,
    /// What it may hold.
    pub expected: String,
}

impl OperationQuery {
    /// Reads name and value pairs; unknown names are ignored, unknown values are errors.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, QueryError> {
        let mut query = Self::default();
        for (name, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            match name {
                "state" if State::WORDS.contains(&value) => query.state = Some(value.into()),
                "state" => return Err(bad(name, value, &format!("use one of {}", State::WORDS.join(", ")))),
                "tool" => query.tool = Some(value.into()),
                "destination" => query.destination = Some(value.into()),
                "mode" => {
                    query.mode = Some(Mode::parse(value).ok_or_else(|| bad(name, value, "use guarded or observed"))?);
                }
                "search" => query.search = Some(value.into()),
                "without_key" => query.without_key = value == "true",
                "since" => query.since = Some(time(name, value)?),
                "until" => query.until = Some(time(name, value)?),
                "layer" => query.layer = Some(value.into()),
                "mark" => {
                    let known = Mark::ALL.iter().map(|mark| mark.name()).collect::<Vec<_>>().join(", ");
                    let mark = Mark::parse(value).ok_or_else(|| bad(name, value, &format!("use one of {known}")))?;
                    query.mark = Some(mark);
                }
                "after" => query.after = Some(value.into()),
                "limit" => query.limit = Some(limit(value)?),
                _ => {}
            }
        }
        Ok(query)
    }

    /// Name and value pairs that read back to the same query.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        let mut push = |name, value: Option<String>| pairs.extend(value.map(|value| (name, value)));
        push("state", self.state.clone());
        push("tool", self.tool.clone());
        push("destination", self.destination.clone());
        push("mode", self.mode.map(|mode| mode.name().into()));
        push("search", self.search.clone());
        push("without_key", self.without_key.then(|| "true".into()));
        push("since", self.since.map(|at| at.to_string()));
        push("until", self.until.map(|at| at.to_string()));
        push("layer", self.layer.clone());
        push("mark", self.mark.map(|mark| mark.name().into()));
        push("after", self.after.clone());
        push("limit", self.limit.map(|limit| limit.to_string()));
        pairs
    }
}

impl OperationQuery {
    /// Whether it asks for what the sums count, rather than for every operation.
    pub const fn is_of_counted(&self) -> bool {
        self.since.is_some() || self.until.is_some() || self.layer.is_some() || self.mark.is_some()
    }
}

impl DeliveryFilter {
    /// The one that an address asks for; none where it asks for none.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Option<Self>, QueryError> {
        let Some((name, value)) = pairs.into_iter().find(|(name, value)| *name == "only" && !value.is_empty()) else {
            return Ok(None);
        };
        Self::parse(value).map(Some).ok_or_else(|| bad(name, value, "use unmatched, repeated or late"))
    }
}

impl QueueQuery {
    /// Reads name and value pairs; unknown names are ignored, unknown values are errors.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, QueryError> {
        let mut query = Self::default();
        for (name, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            match name {
                "reason" => {
                    let known = Reason::ALL.iter().map(|reason| reason.name()).collect::<Vec<_>>().join(", ");
                    let reason =
                        Reason::parse(value).ok_or_else(|| bad(name, value, &format!("use one of {known}")))?;
                    query.reason = Some(reason);
                }
                "assignee" => query.assignee = Some(value.into()),
                "tool" => query.tool = Some(value.into()),
                "destination" => query.destination = Some(value.into()),
                "cause" => query.cause = Some(value.into()),
                "order" => {
                    let order = QueueOrder::parse(value);
                    query.order = order.ok_or_else(|| bad(name, value, "use urgency, age or stake"))?;
                }
                "grouped" => query.grouped = value == "true",
                "after" => query.after = Some(value.into()),
                "limit" => query.limit = Some(limit(value)?),
                "selected" => query.selected = Some(value.into()),
                _ => {}
            }
        }
        Ok(query)
    }

    /// Name and value pairs that read back to the same query.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        let mut push = |name, value: Option<String>| pairs.extend(value.map(|value| (name, value)));
        push("reason", self.reason.map(|reason| reason.name().into()));
        push("assignee", self.assignee.clone());
        push("tool", self.tool.clone());
        push("destination", self.destination.clone());
        push("cause", self.cause.clone());
        push("order", (self.order != QueueOrder::default()).then(|| self.order.name().into()));
        push("grouped", self.grouped.then(|| "true".into()));
        push("after", self.after.clone());
        push("limit", self.limit.map(|limit| limit.to_string()));
        push("selected", self.selected.clone());
        pairs
    }
}

fn limit(value: &str) -> Result<u32, QueryError> {
    let expected = format!("use a whole number from 1 to {PAGE_LIMIT}");
    let limit: u32 = value.parse().map_err(|_| bad("limit", value, &expected))?;
    if (1..=PAGE_LIMIT).contains(&limit) { Ok(limit) } else { Err(bad("limit", value, &expected)) }
}

fn time(parameter: &str, value: &str) -> Result<Timestamp, QueryError> {
    let expected = "use a time such as 2026-10-05T09:00:00Z";
    Timestamp::parse_rfc3339(value).ok_or_else(|| bad(parameter, value, expected))
}

fn bad(parameter: &str, value: &str, expected: &str) -> QueryError {
    QueryError { parameter: parameter.into(), value: value.into(), expected: expected.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_reads_back_from_its_pairs() {
        let query = OperationQuery {
            state: Some("uncertain".into()),
            mode: Some(Mode::Observed),
            search: Some("refund:".into()),
            without_key: true,
            since: Timestamp::parse_rfc3339("2026-10-05T09:00:00Z"),
            until: Timestamp::parse_rfc3339("2026-10-06T09:00:00Z"),
            layer: Some("tool adapter".into()),
            mark: Some(Mark::NotSent),
            limit: Some(20),
            ..OperationQuery::default()
        };
        let pairs = query.to_pairs();
        let read = OperationQuery::from_pairs(pairs.iter().map(|(n, v)| (*n, v.as_str()))).unwrap();
        assert_eq!(read, query);
    }

    #[test]
    fn a_queue_reads_back_from_its_pairs() {
        let query = QueueQuery {
            reason: Some(Reason::TimedOut),
            tool: Some("charge".into()),
            destination: Some(UNTOLD.into()),
            cause: Some("E12 timeout".into()),
            order: QueueOrder::Age,
            grouped: true,
            ..QueueQuery::default()
        };
        let pairs = query.to_pairs();
        let read = QueueQuery::from_pairs(pairs.iter().map(|(n, v)| (*n, v.as_str()))).unwrap();
        assert_eq!(read, query);
        assert!(QueueQuery::from_pairs([("order", "luck")]).is_err());
    }

    #[test]
    fn an_unknown_state_is_an_error_that_lists_the_known_ones() {
        let error = OperationQuery::from_pairs([("state", "lost")]).unwrap_err();
        assert!(error.to_string().contains("uncertain"), "{error}");
        assert!(OperationQuery::from_pairs([("limit", "0")]).is_err());
        assert!(OperationQuery::from_pairs([("since", "yesterday")]).is_err());
        assert!(OperationQuery::from_pairs([("mark", "green")]).is_err());
        assert!(QueueQuery::from_pairs([("reason", "bored")]).is_err());
        assert!(DeliveryFilter::from_pairs([("only", "mine")]).is_err());
        assert_eq!(DeliveryFilter::from_pairs([("only", "late")]), Ok(Some(DeliveryFilter::Late)));
    }
}

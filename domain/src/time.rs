//! Points in time as whole microseconds UTC. Nothing here reads a clock; zones appear only when printing.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Datelike, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339 text such as `2026-10-05T09:00:00Z` or `…+02:00`. RFC 3339 knows the years 0 to 9999; an offset
    /// or a leap second that leads out of them leads to a time that could be printed and never read again.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let parsed = Self(DateTime::parse_from_rfc3339(text).ok()?.timestamp_micros());
        (0..=9_999).contains(&parsed.to_utc().year()).then_some(parsed)
    }

    /// The point `span` later; saturates at the end of time.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// How long after `earlier` this is; zero when it is not later.
    pub fn since(self, earlier: Self) -> Duration {
        let micros = self.0.saturating_sub(earlier.0).max(0);
        Duration::from_micros(micros.unsigned_abs())
    }

    /// As a calendar value, for printing in a zone.
    pub fn to_utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0).unwrap_or(DateTime::UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

/// A span in words an operator reads at a glance: `48 s`, `23 min`, `22 h 41 min`, `6 d 21 h`.
pub fn span_in_words(span: Duration) -> String {
    let seconds = span.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, m) => format!("{m} min"),
        (0, h, 0) => format!("{h} h"),
        (0, h, m) => format!("{h} h {m} min"),
        (d, 0, _) => format!("{d} d"),
        (d, h, _) => format!("{d} d {h} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_is_read_with_any_offset_and_printed_in_utc() {
        let at = Timestamp::parse_rfc3339("2026-10-05T11:00:00.5+02:00").unwrap();
        assert_eq!(at.to_string(), "2026-10-05T09:00:00.500Z");
        assert_eq!(Timestamp::parse_rfc3339("yesterday"), None);
    }

    #[test]
    fn what_prints_as_no_rfc3339_time_is_not_read() {
        for text in ["0000-01-01T00:00:00+00:01", "9999-12-31T23:59:00-00:01", "9999-12-31T23:59:60Z"] {
            assert_eq!(Timestamp::parse_rfc3339(text), None, "{text}");
        }
        for text in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2016-12-31T23:59:60Z"] {
            let at = Timestamp::parse_rfc3339(text).unwrap();
            assert_eq!(Timestamp::parse_rfc3339(&at.to_string()), Some(at), "{text}");
        }
    }

    #[test]
    fn spans_read_as_an_operator_says_them() {
        let words = |s| span_in_words(Duration::from_secs(s));
        assert_eq!(words(48), "48 s");
        assert_eq!(words(23 * 60), "23 min");
        assert_eq!(words(22 * 3600 + 41 * 60), "22 h 41 min");
        assert_eq!(words(6 * 86_400 + 21 * 3_600), "6 d 21 h");
    }
}

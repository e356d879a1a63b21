//! Times in the workspace's zone. The only place that knows zones.

use chrono::{DateTime, Datelike, Offset};
use chrono_tz::{TZ_VARIANTS, Tz};
use tallystick_domain::time::Timestamp;
use tallystick_domain::view::TimePrinter;

/// Prints in one zone.
pub struct ZonePrinter(Tz);

impl ZonePrinter {
    /// The zone with this IANA name; UTC where the name is not known (it was checked when it was set).
    pub fn named(name: &str) -> Self {
        Self(parse_zone(name).unwrap_or(Tz::UTC))
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    fn local(&self, at: Timestamp) -> DateTime<Tz> {
        at.to_utc().with_timezone(&self.0)
    }
}

/// The zone with this IANA name.
pub fn parse_zone(name: &str) -> Option<Tz> {
    name.parse().ok()
}

/// Every zone there is, by name.
pub fn zone_names() -> Vec<String> {
    TZ_VARIANTS.iter().map(|zone| zone.name().to_owned()).collect()
}

impl TimePrinter for ZonePrinter {
    fn day(&self, at: Timestamp) -> String {
        self.local(at).format("%-d %b %Y").to_string()
    }

    fn clock(&self, at: Timestamp) -> String {
        self.local(at).format("%H:%M:%S").to_string()
    }

    fn full(&self, at: Timestamp) -> String {
        let (local, utc) = (self.local(at), at.to_utc());
        let here = local.format("%Y-%m-%d %H:%M %Z");
        if local.offset().fix().local_minus_utc() == 0 {
            return here.to_string();
        }
        let there = if local.ordinal() == utc.ordinal() { "%H:%M UTC" } else { "%H:%M UTC, %-d %b" };
        format!("{here} ({})", utc.format(there))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(zone: &str, at: &str) -> String {
        ZonePrinter::named(zone).full(Timestamp::parse_rfc3339(at).unwrap())
    }

    #[test]
    fn a_time_carries_its_zone_and_utc_with_the_day_where_it_differs() {
        assert_eq!(full("America/Los_Angeles", "2026-08-01T01:30:00Z"), "2026-07-31 18:30 PDT (01:30 UTC, 1 Aug)");
        assert_eq!(full("Europe/Berlin", "2026-08-01T10:30:00Z"), "2026-08-01 12:30 CEST (10:30 UTC)");
        assert_eq!(full("UTC", "2026-08-01T10:30:00Z"), "2026-08-01 10:30 UTC");
    }

    #[test]
    fn the_hour_that_occurs_twice_is_told_apart_by_its_zone_letters() {
        let first = full("America/Los_Angeles", "2026-11-01T08:30:00Z");
        let second = full("America/Los_Angeles", "2026-11-01T09:30:00Z");
        assert!(first.starts_with("2026-11-01 01:30 PDT") && second.starts_with("2026-11-01 01:30 PST"));
    }

    #[test]
    fn an_unknown_zone_is_not_a_zone() {
        assert_eq!(parse_zone("Mars/Olympus"), None);
        assert!(zone_names().iter().any(|name| name == "Asia/Kathmandu"));
    }
}

//! Times in the workspace's zone. The only place that knows zones.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, Offset, SecondsFormat, TimeDelta, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};
use tallystick_domain::sums::span_start;
use tallystick_domain::time::Timestamp;
use tallystick_domain::view::TimePrinter;
use tallystick_domain::view::outcomes::Window;

const HOUR_S: i64 = 3_600;
/// Every offset of today is a multiple of it, in seconds, and so is every change of a clock.
const QUARTER_S: i64 = 900;
/// More quarters than any clock ever skipped at once.
const SKIPPED_AT_MOST: i64 = 200;

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

    /// The ends of the bars of a window whose last bar holds `now`: one end more than there are bars.
    pub fn bar_ends(&self, window: Window, now: Timestamp) -> Vec<Timestamp> {
        let bars = window.bars();
        if window.is_by_hour() {
            let since_the_hour = (now.to_utc().timestamp() + self.offset_s(now)).rem_euclid(HOUR_S);
            let running = now.to_utc().timestamp() - since_the_hour;
            let hours = (0..=i64::from(bars)).map(|index| running + (index + 1 - i64::from(bars)) * HOUR_S);
            return hours.map(from_seconds).collect();
        }
        let tomorrow = self.local(now).date_naive().checked_add_days(Days::new(1));
        let days = (0..=bars).rev().map(|back| tomorrow.and_then(|day| day.checked_sub_days(Days::new(back.into()))));
        days.map(|day| day.map_or(now, |day| self.start_of(day))).collect()
    }

    fn offset_s(&self, at: Timestamp) -> i64 {
        self.local(at).offset().fix().local_minus_utc().into()
    }

    /// The first moment of a day: not every day has a midnight, and some have two.
    fn start_of(&self, day: NaiveDate) -> Timestamp {
        let midnight = day.and_time(NaiveTime::MIN);
        let mut quarters = (0..SKIPPED_AT_MOST).map(|index| midnight + TimeDelta::seconds(index * QUARTER_S));
        let first = quarters.find_map(|at| self.0.from_local_datetime(&at).earliest());
        let seconds = first.map_or_else(|| midnight.and_utc().timestamp(), |first| first.timestamp());
        span_start(from_seconds(seconds), QUARTER_S)
    }
}

fn from_seconds(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds.saturating_mul(1_000_000))
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

    fn stamp(&self, at: Timestamp) -> String {
        self.local(at).to_rfc3339_opts(SecondsFormat::AutoSi, false)
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
    fn a_stamp_is_the_same_moment_with_the_offset_of_the_zone() {
        let at = Timestamp::parse_rfc3339("2026-11-01T09:30:00.5Z").unwrap();
        let stamp = ZonePrinter::named("America/Los_Angeles").stamp(at);
        assert_eq!(stamp, "2026-11-01T01:30:00.500-08:00");
        assert_eq!(Timestamp::parse_rfc3339(&stamp), Some(at));
    }

    #[test]
    fn the_hour_that_occurs_twice_is_told_apart_by_its_zone_letters() {
        let first = full("America/Los_Angeles", "2026-11-01T08:30:00Z");
        let second = full("America/Los_Angeles", "2026-11-01T09:30:00Z");
        assert!(first.starts_with("2026-11-01 01:30 PDT") && second.starts_with("2026-11-01 01:30 PST"));
    }

    fn ends(zone: &str, window: Window, now: &str) -> Vec<String> {
        let ends = ZonePrinter::named(zone).bar_ends(window, Timestamp::parse_rfc3339(now).unwrap());
        ends.iter().map(ToString::to_string).collect()
    }

    /// How many hours each day of the week has that ends with the day of `now`.
    fn hours(zone: &str, now: &str) -> Vec<u64> {
        let ends = ZonePrinter::named(zone).bar_ends(Window::Week, Timestamp::parse_rfc3339(now).unwrap());
        ends.windows(2).map(|day| day[1].since(day[0]).as_secs() / 3_600).collect()
    }

    #[test]
    fn the_nights_in_which_clocks_change_make_days_of_23_and_25_hours() {
        assert_eq!(hours("Europe/Berlin", "2026-03-30T09:00:00Z"), [24, 24, 24, 24, 24, 23, 24]);
        assert_eq!(hours("Europe/Berlin", "2026-10-25T09:00:00Z"), [24, 24, 24, 24, 24, 24, 25]);
        assert_eq!(hours("America/Los_Angeles", "2026-11-01T09:00:00Z"), [24, 24, 24, 24, 24, 24, 25]);
        // Clocks change at midnight: one day begins at one o'clock, another has its first hour twice.
        assert_eq!(hours("Africa/Cairo", "2026-04-24T09:00:00Z"), [24, 24, 24, 24, 24, 24, 23]);
        assert_eq!(hours("America/Havana", "2026-11-01T12:00:00Z"), [24, 24, 24, 24, 24, 24, 25]);
        let spring = ends("Europe/Berlin", Window::Week, "2026-03-30T09:00:00Z");
        assert_eq!(spring[5..], ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "2026-03-30T22:00:00Z"]);
    }

    #[test]
    fn days_are_the_zones_also_where_it_is_45_minutes_off() {
        let week = ends("Asia/Kathmandu", Window::Week, "2026-10-06T18:14:59Z");
        assert_eq!((week[0].as_str(), week[7].as_str()), ("2026-09-29T18:15:00Z", "2026-10-06T18:15:00Z"));
        let later = ends("Asia/Kathmandu", Window::Week, "2026-10-06T18:15:00Z");
        assert_eq!(later[7], "2026-10-07T18:15:00Z", "a minute later it is the next day there");
        assert_eq!(ends("UTC", Window::Month, "2026-10-06T18:15:00Z").len(), 31);
    }

    #[test]
    fn hours_are_full_hours_of_the_zone_and_the_last_one_runs() {
        let day = ends("Asia/Kathmandu", Window::Day, "2026-10-06T18:14:59Z");
        assert_eq!(
            (day.len(), day[0].as_str(), day[24].as_str()),
            (25, "2026-10-05T18:15:00Z", "2026-10-06T18:15:00Z")
        );
        // The hour that occurs twice has two bars.
        let twice = ends("Europe/Berlin", Window::Day, "2026-10-25T05:30:00Z");
        assert!(
            twice.contains(&"2026-10-25T00:00:00Z".to_owned()) && twice.contains(&"2026-10-25T01:00:00Z".to_owned())
        );
    }

    #[test]
    fn an_unknown_zone_is_not_a_zone() {
        assert_eq!(parse_zone("Mars/Olympus"), None);
        assert!(zone_names().iter().any(|name| name == "Asia/Kathmandu"));
    }
}

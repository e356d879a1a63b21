//! `Retry-After`: delay-seconds, or any of the three HTTP-date forms (RFC 9110 §10.2.3, §5.6.7).

use std::time::Duration;

use chrono::{Datelike, NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Why a `Retry-After` says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "retry_after", rename_all = "snake_case")]
pub enum RetryAfterError {
    /// There is nothing in it.
    #[error("Retry-After is empty")]
    Empty {},
    /// A negative number of seconds.
    #[error("Retry-After {text:?} is negative; a delay is a whole number of seconds from 0")]
    Negative {
        /// What was received.
        text: String,
    },
    /// Neither a number nor a date.
    #[error("Retry-After {text:?} is neither whole seconds nor an HTTP date")]
    Unreadable {
        /// What was received.
        text: String,
    },
    /// A date that the calendar does not have.
    #[error("Retry-After {text:?} names a time that does not exist")]
    NoSuchTime {
        /// What was received.
        text: String,
    },
}

/// The time before which the sender should not be asked; never earlier than `now`, the time of receipt.
///
/// The name of the weekday must be one, but is not held against the date: a wrong one is no reason to wait less.
pub fn parse_retry_after(value: &str, now: Timestamp) -> Result<Timestamp, RetryAfterError> {
    let text = value.trim_matches([' ', '\t']);
    if text.is_empty() {
        return Err(RetryAfterError::Empty {});
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are still a wish to wait: as long as there is time.
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Ok(now.plus(Duration::from_secs(seconds)));
    }
    if text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit())) {
        return Err(RetryAfterError::Negative { text: text.into() });
    }
    let written = imf_fixdate(text).or_else(|| rfc850_date(text, now)).or_else(|| asctime_date(text));
    let written = written.ok_or_else(|| RetryAfterError::Unreadable { text: text.into() })?;
    let at = written.to_time().ok_or_else(|| RetryAfterError::NoSuchTime { text: text.into() })?;
    Ok(Timestamp::from_micros(at.and_utc().timestamp_micros()).max(now))
}

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A date as written, which the calendar may not have. Compares like time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    year: i32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
}

impl Written {
    fn to_time(self) -> Option<NaiveDateTime> {
        // A leap second is the end of the second before it.
        let (second, leap) = if self.second == 60 { (59, 1) } else { (self.second, 0) };
        let day = NaiveDate::from_ymd_opt(self.year, self.month, self.day)?;
        let time = day.and_hms_opt(self.hour, self.minute, second)?;
        time.checked_add_signed(chrono::TimeDelta::seconds(leap))
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn imf_fixdate(text: &str) -> Option<Written> {
    let (weekday, rest) = text.split_once(", ")?;
    let [day, month, year, time, "GMT"] = words(rest)? else { return None };
    is_short_weekday(weekday).then_some(())?;
    written(number(year, 4)?, month_number(month)?, number(day, 2)?, time)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`. A time more than 50 years ahead is the latest past one with these two digits.
fn rfc850_date(text: &str, now: Timestamp) -> Option<Written> {
    let (weekday, rest) = text.split_once(", ")?;
    let [date, time, "GMT"] = words(rest)? else { return None };
    let [day, month, year] = date.split('-').collect::<Vec<_>>().try_into().ok()?;
    WEEKDAYS.contains(&weekday).then_some(())?;
    let two_digits = number(year, 2)?;
    let limit = fifty_years_after(now);
    // The latest year with these digits that is not beyond the limit.
    let century = limit.year - limit.year.rem_euclid(100);
    let in_century = written(two_digits, month_number(month)?, number(day, 2)?, time)?;
    let year = i32::try_from(two_digits).ok()? + century;
    let latest = Written { year, ..in_century };
    Some(if latest > limit { Written { year: year - 100, ..latest } } else { latest })
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime_date(text: &str) -> Option<Written> {
    let (weekday, rest) = text.split_at_checked(3)?;
    let (month, rest) = rest.strip_prefix(' ')?.split_at_checked(3)?;
    let (day, rest) = rest.strip_prefix(' ')?.split_at_checked(2)?;
    let [time, year] = words(rest.strip_prefix(' ')?)?;
    is_short_weekday(weekday).then_some(())?;
    let day = day.strip_prefix(' ').map_or_else(|| number(day, 2), |digit| number(digit, 1))?;
    written(number(year, 4)?, month_number(month)?, day, time)
}

fn written(year: u32, month: u32, day: u32, time: &str) -> Option<Written> {
    let [hour, minute, second] = time.split(':').collect::<Vec<_>>().try_into().ok()?;
    let year = i32::try_from(year).ok()?;
    Some(Written { year, month, day, hour: number(hour, 2)?, minute: number(minute, 2)?, second: number(second, 2)? })
}

fn fifty_years_after(now: Timestamp) -> Written {
    use chrono::Timelike;
    let now = now.to_utc();
    Written {
        year: now.year() + 50,
        month: now.month(),
        day: now.day(),
        hour: now.hour(),
        minute: now.minute(),
        second: now.second(),
    }
}

fn words<'a, const N: usize>(text: &'a str) -> Option<[&'a str; N]> {
    text.split(' ').collect::<Vec<&'a str>>().try_into().ok()
}

/// Exactly so many digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn is_short_weekday(text: &str) -> bool {
    text.len() == 3 && WEEKDAYS.iter().any(|weekday| weekday.starts_with(text))
}

fn month_number(text: &str) -> Option<u32> {
    (1..).zip(MONTHS).find(|(_, name)| *name == text).map(|(number, _)| number)
}

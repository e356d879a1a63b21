//! The flat types that travel to the browser, and the pure functions that make them.
//!
//! Every string is made once, on the server, and printed alike on both sides: no clock, zone or locale is
//! consulted in a page. 64-bit numbers travel as text. Nothing here decides anything; it only says it.

pub mod action;
mod acts;
pub mod approvals;
pub mod arguments;
pub mod budgets;
pub mod bulk;
pub mod decision;
pub mod deliveries;
pub mod explained;
pub mod export;
pub mod lanes;
pub mod layers;
pub mod list;
pub mod operation;
pub mod outcomes;
pub mod rules;
pub mod state;
pub mod timeline;
pub mod tools;
pub mod workflows;
pub mod workspace;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evidence::Strength;
use crate::name::PrincipalId;
use crate::operation::Impact;
use crate::time::{Timestamp, span_in_words};

/// Prints points in time in the workspace's zone. The zone database is the caller's.
pub trait TimePrinter: Sync {
    /// The day: `31 Jul 2026`.
    fn day(&self, at: Timestamp) -> String;
    /// The time of day: `18:30:05`.
    fn clock(&self, at: Timestamp) -> String;
    /// All of it, with UTC beside: `2026-07-31 18:30 PDT (01:30 UTC, 1 Aug)`.
    fn full(&self, at: Timestamp) -> String;
    /// For programs, RFC 3339 with the zone's offset: `2026-07-31T18:30:05-07:00`.
    fn stamp(&self, at: Timestamp) -> String;
}

/// What every view is made with: the reader's clock (the record's, when it was read), the zone, and people's names.
#[derive(Clone, Copy)]
pub struct Lens<'a> {
    /// The record's clock when it was read.
    pub now: Timestamp,
    /// Prints times.
    pub times: &'a dyn TimePrinter,
    /// People's and automations' names by id.
    pub names: &'a BTreeMap<String, String>,
}

impl Lens<'_> {
    /// A point in time, short for today and with its day otherwise.
    pub fn moment(&self, at: Timestamp) -> Moment {
        let (clock, day) = (self.times.clock(at), self.times.day(at));
        let short = if day == self.times.day(self.now) {
            clock
        } else {
            let hour_and_minute = clock.get(..5).unwrap_or(&clock);
            let day_and_month = day.rsplit_once(' ').map_or(day.as_str(), |(day, _)| day);
            format!("{day_and_month} {hour_and_minute}")
        };
        Moment { short, full: self.times.full(at), utc: at.to_string() }
    }

    /// How long ago something was: `22 h 41 min`; a time in the future is `0 s`.
    pub fn age(&self, at: Timestamp) -> String {
        span_in_words(self.now.since(at))
    }

    /// A principal's name, or the id where nobody has it.
    pub fn name(&self, id: &PrincipalId) -> String {
        self.names.get(id.as_str()).cloned().unwrap_or_else(|| id.as_str().to_owned())
    }
}

/// A point in time as a page shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moment {
    /// For rows: `18:30:05`, or `31 Jul 18:30` on another day.
    pub short: String,
    /// For titles and headings, with zone and UTC.
    pub full: String,
    /// RFC 3339 in UTC, for machines.
    pub utc: String,
}

/// Evidence in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChipView {
    /// What it says.
    pub text: String,
    /// How strong it is.
    pub strength: Strength,
}

/// Digits after the point, for the currencies that do not have two (ISO 4217).
const EXPONENTS: &[(&str, usize)] = &[
    ("BHD", 3),
    ("CLP", 0),
    ("IQD", 3),
    ("ISK", 0),
    ("JOD", 3),
    ("JPY", 0),
    ("KRW", 0),
    ("KWD", 3),
    ("LYD", 3),
    ("OMR", 3),
    ("PYG", 0),
    ("TND", 3),
    ("UGX", 0),
    ("VND", 0),
    ("XAF", 0),
    ("XOF", 0),
];

/// An amount in minor units for reading: `€ 1,240.00`. An amount without a currency says that it is in minor units.
pub fn amount_in_words(minor: i64, currency: Option<&str>) -> String {
    let Some(currency) = currency else {
        return format!("{} minor units", with_separators(&minor.unsigned_abs().to_string(), minor < 0));
    };
    let code = currency.to_ascii_uppercase();
    let exponent = EXPONENTS.iter().find(|(name, _)| *name == code).map_or(2, |(_, digits)| *digits);
    let digits = format!("{:0>width$}", minor.unsigned_abs(), width = exponent + 1);
    let (whole, fraction) = digits.split_at(digits.len() - exponent);
    let whole = with_separators(whole, minor < 0);
    let number = if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") };
    match code.as_str() {
        "EUR" => format!("€ {number}"),
        "USD" => format!("$ {number}"),
        "GBP" => format!("£ {number}"),
        _ => format!("{number} {code}"),
    }
}

pub(crate) fn with_separators(digits: &str, is_negative: bool) -> String {
    let mut out = String::from(if is_negative { "−" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// What is at stake, in a few words; nothing where nothing is known.
pub fn stake_in_words(impact: Option<&Impact>) -> Option<String> {
    let impact = impact?;
    let amount = impact.amount_minor.map(|minor| amount_in_words(minor, impact.currency.as_deref()));
    let people = impact.people.map(|people| if people == 1 { "1 person".into() } else { format!("{people} people") });
    match (amount, people) {
        (Some(amount), Some(people)) => Some(format!("{amount} · {people}")),
        (amount, people) => amount.or(people),
    }
}

/// `payments.refund → psp-eu`, with what is told.
pub fn target_in_words(tool: Option<&str>, destination: Option<&str>) -> String {
    match (tool, destination) {
        (Some(tool), Some(destination)) => format!("{tool} → {destination}"),
        (Some(one), None) => one.to_owned(),
        (None, Some(one)) => format!("unknown tool → {one}"),
        (None, None) => "unknown tool".to_owned(),
    }
}

/// A text as one segment or value of an address: everything but letters, digits and `-._~` percent-encoded.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])));
        }
    }
    out
}

/// `1 attempt`, `3 attempts`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Prints UTC, so that tests need no zone database.
    pub struct Utc;

    impl TimePrinter for Utc {
        fn day(&self, at: Timestamp) -> String {
            at.to_utc().format("%-d %b %Y").to_string()
        }
        fn clock(&self, at: Timestamp) -> String {
            at.to_utc().format("%H:%M:%S").to_string()
        }
        fn full(&self, at: Timestamp) -> String {
            at.to_utc().format("%Y-%m-%d %H:%M UTC").to_string()
        }
        fn stamp(&self, at: Timestamp) -> String {
            at.to_utc().to_rfc3339()
        }
    }

    pub fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    pub fn lens(names: &BTreeMap<String, String>) -> Lens<'_> {
        Lens { now: at("2026-10-06T09:00:00Z"), times: &Utc, names }
    }

    #[test]
    fn a_time_of_today_is_short_and_another_day_carries_its_date() {
        let names = BTreeMap::new();
        let lens = lens(&names);
        assert_eq!(lens.moment(at("2026-10-06T08:30:05Z")).short, "08:30:05");
        let yesterday = lens.moment(at("2026-10-05T08:30:05Z"));
        assert_eq!(yesterday.short, "5 Oct 08:30");
        assert_eq!(yesterday.utc, "2026-10-05T08:30:05Z");
    }

    #[test]
    fn amounts_follow_the_digits_of_their_currency() {
        assert_eq!(amount_in_words(124_000, Some("eur")), "€ 1,240.00");
        assert_eq!(amount_in_words(5, Some("USD")), "$ 0.05");
        assert_eq!(amount_in_words(1_200_000, Some("JPY")), "1,200,000 JPY");
        assert_eq!(amount_in_words(-1_234, Some("KWD")), "−1.234 KWD");
        assert_eq!(amount_in_words(9_007_199_254_740_993, Some("CHF")), "90,071,992,547,409.93 CHF");
        assert_eq!(amount_in_words(2_000, None), "2,000 minor units");
    }

    #[test]
    fn nothing_but_plain_characters_reaches_an_address() {
        assert_eq!(encoded("a-b_c.d~1"), "a-b_c.d~1");
        assert_eq!(encoded("k/ü?&#"), "k%2F%C3%BC%3F%26%23");
    }

    #[test]
    fn what_is_at_stake_names_money_and_people() {
        let impact = Impact { amount_minor: Some(2_000), currency: Some("usd".into()), people: Some(3) };
        assert_eq!(stake_in_words(Some(&impact)).as_deref(), Some("$ 20.00 · 3 people"));
        assert_eq!(stake_in_words(Some(&Impact::default())), None);
        assert_eq!(stake_in_words(None), None);
    }
}

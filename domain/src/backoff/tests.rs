use proptest::prelude::*;

use super::*;
use crate::operation::Doubt;
use crate::proof::{proofs, prove, prove_that};

const NOW: &str = "2026-11-29T12:00:00Z";
const HOUR: u64 = 3_600;

fn at(text: &str) -> Timestamp {
    Timestamp::parse_rfc3339(text).unwrap()
}

fn read(value: &str) -> Result<String, String> {
    parse_retry_after(value, at(NOW)).map(|time| time.to_string()).map_err(|error| error.to_string())
}

fn after(verdict: Verdict, number: u32, retry_after: Option<&str>) -> LastAttempt {
    LastAttempt { verdict, number, retry_after: retry_after.map(at) }
}

fn wait(last: &LastAttempt, deadline_at: &str, random: u64) -> Wait {
    next_send(last, &BackoffNumbers::default(), at(deadline_at), random, at(NOW))
}

proofs! {
    fn w3_every_form_of_a_retry_after_is_read() {
        for (value, time) in [
            ("0", NOW),
            ("120", "2026-11-29T12:02:00Z"),
            ("007", "2026-11-29T12:00:07Z"),
            (" 60\t", "2026-11-29T12:01:00Z"),
            ("86400", "2026-11-30T12:00:00Z"),
            // The three HTTP-date forms of one moment.
            ("Sun, 06 Dec 2026 08:49:37 GMT", "2026-12-06T08:49:37Z"),
            ("Sunday, 06-Dec-26 08:49:37 GMT", "2026-12-06T08:49:37Z"),
            ("Sun Dec  6 08:49:37 2026", "2026-12-06T08:49:37Z"),
            ("Sun Dec 13 08:49:37 2026", "2026-12-13T08:49:37Z"),
            // A weekday that is not that date's is no reason to wait less.
            ("Mon, 06 Dec 2026 08:49:37 GMT", "2026-12-06T08:49:37Z"),
            ("Thu, 31 Dec 2026 23:59:60 GMT", "2027-01-01T00:00:00Z"),
            ("Thu, 29 Feb 2028 00:00:00 GMT", "2028-02-29T00:00:00Z"),
            // In the past: now.
            ("Sun, 06 Nov 1994 08:49:37 GMT", NOW),
            ("Sunday, 06-Nov-94 08:49:37 GMT", NOW),
            ("Sun Nov  6 08:49:37 1994", NOW),
            ("Sun, 29 Nov 2026 11:59:59 GMT", NOW),
        ] {
            prove!("W3", read(value), Ok(at(time).to_string()), "{value:?}");
        }
    }

    fn w3_a_two_digit_year_more_than_fifty_years_ahead_is_in_the_past() {
        for (value, time) in [
            ("Sunday, 29-Nov-76 12:00:00 GMT", "2076-11-29T12:00:00Z"),
            // One second more than fifty years: 1976, which is past, hence now.
            ("Sunday, 29-Nov-76 12:00:01 GMT", NOW),
            ("Sunday, 30-Nov-76 00:00:00 GMT", NOW),
            ("Sunday, 01-Jan-77 00:00:00 GMT", NOW),
            ("Sunday, 31-Dec-75 23:59:59 GMT", "2075-12-31T23:59:59Z"),
            ("Sunday, 01-Jan-00 00:00:00 GMT", NOW),
        ] {
            prove!("W3", read(value), Ok(at(time).to_string()), "{value:?}");
        }
        // Near the turn of a century the digits of the next one are meant.
        let late = at("2099-12-31T23:59:00Z");
        let read = parse_retry_after("Friday, 01-Jan-00 00:00:00 GMT", late);
        prove!("W3", read, Ok(at("2100-01-01T00:00:00Z")));
    }

    fn w3_what_is_no_retry_after_is_refused_with_a_reason() {
        let unreadable = |value: &str| format!("Retry-After {value:?} is neither whole seconds nor an HTTP date");
        for (value, message) in [
            ("", "Retry-After is empty".to_owned()),
            (" \t", "Retry-After is empty".to_owned()),
            ("-1", "Retry-After \"-1\" is negative; a delay is a whole number of seconds from 0".to_owned()),
            ("-0.5", "Retry-After \"-0.5\" is negative; a delay is a whole number of seconds from 0".to_owned()),
            ("+5", unreadable("+5")),
            ("1.5", unreadable("1.5")),
            ("1e3", unreadable("1e3")),
            ("5 s", unreadable("5 s")),
            ("٥", unreadable("٥")),
            ("soon", unreadable("soon")),
            ("2026-12-06T08:49:37Z", unreadable("2026-12-06T08:49:37Z")),
            // Dates are exact: case, digits, spaces and the zone.
            ("sun, 06 Dec 2026 08:49:37 GMT", unreadable("sun, 06 Dec 2026 08:49:37 GMT")),
            ("Sun, 6 Dec 2026 08:49:37 GMT", unreadable("Sun, 6 Dec 2026 08:49:37 GMT")),
            ("Sun, 06 Dec 2026 08:49:37 UTC", unreadable("Sun, 06 Dec 2026 08:49:37 UTC")),
            ("Sun, 06 Dec 26 08:49:37 GMT", unreadable("Sun, 06 Dec 26 08:49:37 GMT")),
            ("Sun, 06-Dec-26 08:49:37 GMT", unreadable("Sun, 06-Dec-26 08:49:37 GMT")),
            ("Sunday, 06-Dec-2026 08:49:37 GMT", unreadable("Sunday, 06-Dec-2026 08:49:37 GMT")),
            ("Sun Dec 6 08:49:37 2026", unreadable("Sun Dec 6 08:49:37 2026")),
            ("Sun, 30 Feb 2027 08:49:37 GMT", "Retry-After \"Sun, 30 Feb 2027 08:49:37 GMT\" names a time that does not exist".to_owned()),
            ("Sun, 06 Dec 2026 24:00:00 GMT", "Retry-After \"Sun, 06 Dec 2026 24:00:00 GMT\" names a time that does not exist".to_owned()),
            ("Sun, 06 Dec 2026 08:49:61 GMT", "Retry-After \"Sun, 06 Dec 2026 08:49:61 GMT\" names a time that does not exist".to_owned()),
        ] {
            prove!("W3", read(value), Err(message));
        }
    }

    fn w3_more_seconds_than_there_is_time_are_still_a_wish_to_wait() {
        for value in ["18446744073709551615", "99999999999999999999999999999999"] {
            prove!("W3", parse_retry_after(value, at(NOW)), Ok(Timestamp::from_micros(i64::MAX)));
        }
    }

    fn w3_no_text_whatever_breaks_the_reader_or_yields_a_time_before_now() {
        let near = "[A-Z][a-z]{2,8},? [0-9 ]{1,2}[ -][A-Z][a-z]{2}[ -][0-9]{2,4} [0-9]{2}:[0-9]{2}:[0-9]{2}( GMT)?";
        proptest!(|(text in prop_oneof![".*", near, "-?[0-9]{1,25}"], now in any::<i64>())| {
            let now = Timestamp::from_micros(now);
            if let Ok(time) = parse_retry_after(&text, now) {
                prove_that!("W3", time >= now);
            }
        });
    }

    fn the_back_off_doubles_from_one_second_to_thirty() {
        let numbers = BackoffNumbers::default();
        for (attempt, longest_s) in [(0, 1), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (7, 30), (u32::MAX, 30)] {
            let longest = Duration::from_secs(longest_s);
            prove!("4.9", full_jitter(&numbers, attempt, 0), Duration::ZERO);
            prove!("4.9", full_jitter(&numbers, attempt, 1 << 63), longest / 2, "attempt {attempt}");
            let most = full_jitter(&numbers, attempt, u64::MAX);
            prove_that!("4.9", most < longest && most + Duration::from_micros(1) >= longest, "attempt {attempt}: {most:?}");
        }
    }

    fn t13_the_wait_is_the_later_of_back_off_and_retry_after() {
        let day = "2026-11-30T12:00:00Z";
        for (retry_after, random, until) in [
            (None, 0, NOW),
            (None, 1 << 63, "2026-11-29T12:00:01Z"),
            (Some("2026-11-29T12:00:00.250Z"), 1 << 63, "2026-11-29T12:00:01Z"),
            (Some("2026-11-29T12:00:10Z"), 1 << 63, "2026-11-29T12:00:10Z"),
            (Some("2026-11-29T13:00:00Z"), 0, "2026-11-29T13:00:00Z"),
            // In the past: the back-off alone.
            (Some("2026-11-29T11:00:00Z"), 1 << 63, "2026-11-29T12:00:01Z"),
        ] {
            for verdict in [Verdict::NotSent, Verdict::RefusedRetryable] {
                let last = after(verdict, 2, retry_after);
                prove!("T13", wait(&last, day, random), Wait::Until { at: at(until) }, "{retry_after:?}");
            }
        }
    }

    fn a_retry_after_beyond_the_cap_or_the_deadline_queues_whole() {
        let throttled = |retry_after| after(Verdict::RefusedRetryable, 1, Some(retry_after));
        let cap = Duration::from_secs(HOUR);
        // One second beyond the cap.
        let asked = Duration::from_secs(HOUR + 1);
        let beyond_cap = Queued::BeyondCap { asked, cap };
        prove!(
            "4.9",
            beyond_cap.words(),
            "the destination asks to wait 3601 s (1 h), longer than the 3600 s (1 h) that are waited for"
        );
        let not_before = Some(at("2026-11-29T13:00:01Z"));
        prove!(
            "4.9",
            wait(&throttled("2026-11-29T13:00:01Z"), "2026-11-30T12:00:00Z", 0),
            Wait::Queue { why: beyond_cap, not_before }
        );
        // Within the cap, but not before the deadline: a send at the deadline would be one after it (I17).
        for (retry_after, deadline) in
            [("2026-11-29T12:30:00Z", "2026-11-29T12:29:00Z"), ("2026-11-29T12:30:00Z", "2026-11-29T12:30:00Z")]
        {
            let why = Queued::BeyondDeadline { deadline_at: at(deadline) };
            let not_before = Some(at(retry_after));
            prove!("I17", wait(&throttled(retry_after), deadline, 0), Wait::Queue { why, not_before });
        }
        // The back-off alone may reach the deadline, too.
        let last = after(Verdict::NotSent, 9, None);
        let why = Queued::BeyondDeadline { deadline_at: at("2026-11-29T12:00:10Z") };
        let not_before = Some(at("2026-11-29T12:00:15Z"));
        prove!("I17", wait(&last, "2026-11-29T12:00:10Z", 1 << 63), Wait::Queue { why, not_before });
    }

    fn only_a_negative_answer_that_may_improve_is_retried_by_a_timer() {
        for verdict in [
            Verdict::RefusedPermanent,
            Verdict::Executed,
            Verdict::ExecutedNoEffect,
            Verdict::Unknown(Doubt::Timeout),
            Verdict::Unknown(Doubt::InFlight),
        ] {
            let queued = Wait::Queue { why: Queued::NotRetryable, not_before: None };
            prove!("T13", wait(&after(verdict, 1, None), "2026-11-30T12:00:00Z", 0), queued, "{verdict:?}");
        }
    }

    fn i17_a_retry_after_is_never_shortened_and_the_deadline_never_passed() {
        proptest!(|(
            number in any::<u32>(),
            asked_s in prop::option::of(-HOUR.cast_signed()..3 * HOUR.cast_signed()),
            deadline_s in -10_i64..20_000,
            random in any::<u64>(),
            not_sent in any::<bool>(),
        )| {
            let now = at(NOW);
            let later = |seconds: i64| Timestamp::from_micros(now.as_micros() + seconds * 1_000_000);
            let verdict = if not_sent { Verdict::NotSent } else { Verdict::RefusedRetryable };
            let last = LastAttempt { verdict, number, retry_after: asked_s.map(later) };
            let asked = last.retry_after.unwrap_or(now);
            match next_send(&last, &BackoffNumbers::default(), later(deadline_s), random, now) {
                Wait::Until { at } => {
                    prove_that!("I17", at >= now && at >= asked && at < later(deadline_s));
                    prove_that!("4.9", at.since(now) <= Duration::from_secs(HOUR));
                }
                Wait::Queue { not_before, .. } => {
                    prove_that!("4.9", not_before.is_some_and(|time| time >= asked && time >= now));
                }
            }
        });
    }
}

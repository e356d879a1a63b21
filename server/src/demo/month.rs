//! The month before: many operations that went well, some that were retried, a few that did not.

use std::fmt::Write as _;
use std::time::Duration;

use tallystick_domain::time::Timestamp;

/// A small, reproducible source of variety: the same month every time.
struct Variety(u64);

impl Variety {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Tool, destination, prefix of the key, retry layer, whether a key goes along.
const KINDS: [(&str, &str, &str, &str, bool); 10] = [
    ("payments.refund", "psp-eu", "refund:ord", "tool adapter", true),
    ("payments.charge", "psp-us", "charge:ord", "web client", true),
    ("create_payment", "psp-us", "payment:ord", "agent", true),
    ("invoice.create", "ledger", "invoice:cus", "workflow", true),
    ("helpdesk.create", "desk", "ticket:case", "adapter", false),
    ("payout.send", "bank", "payout:run", "adapter", true),
    ("inventory.change", "shop", "stock:sku", "tool", true),
    ("mail.send", "smtp-api", "mail:usr", "adapter", false),
    ("seats.sync", "meter", "seats:ws", "workflow engine", true),
    ("namespace.create", "cluster", "ns:team", "agent", false),
];

/// When one provider was down for half a day: so many seconds before the start.
const OUTAGE_S: std::ops::Range<u64> = 4 * 86_400..9 * 43_200;

/// The lines of `count` operations, oldest first.
pub(super) fn lines(now: Timestamp, count: u32) -> Vec<Vec<u8>> {
    let mut variety = Variety(20_261_129);
    let mut lines = Vec::new();
    let month = Duration::from_hours(30 * 24).as_secs();
    for index in 0..count {
        // Evenly spread with some play, ending two hours before the start.
        let slot = month / u64::from(count.max(1));
        let before = 7_200 + slot * u64::from(count - index) - variety.next(slot.max(1));
        let micros = i64::try_from(before).unwrap_or(0) * 1_000_000;
        let at = Timestamp::from_micros(now.as_micros() - micros);
        operation(&mut lines, &mut variety, index, at, OUTAGE_S.contains(&before));
    }
    lines
}

fn operation(lines: &mut Vec<Vec<u8>>, variety: &mut Variety, index: u32, at: Timestamp, is_down: bool) {
    let kind = KINDS[usize::try_from(variety.next(10)).unwrap_or(0)];
    let (tool, destination, prefix, owner, keyed) = kind;
    let key = format!("{prefix}_{}:{index}", 1_000 + variety.next(9_000));
    let amount = (100 + variety.next(90_000)) * if tool == "payout.send" { 10 } else { 1 };
    let op = format!("m{index}");
    let mut say = |seconds: u64, event: &str, more: &str| {
        let ts = at.plus(Duration::from_secs(seconds));
        lines.push(format!(r#"{{"ts":"{ts}","ev":"{event}","op":"{op}"{more}}}"#).into_bytes());
    };
    let args = format!(r#"{{"ref":"{prefix}-{index}","amount_minor":{amount},"currency":"usd"}}"#);
    say(
        0,
        "operation.proposed",
        &format!(r#","key":"{key}","tool":"{tool}","dest":"{destination}","effect":"unsafe_write","args":{args}"#),
    );
    let key_sent = if keyed { format!(r#","dest_key":"{key}""#) } else { String::new() };
    let receipt = format!("{}_{index}", &destination[..2]);
    say(0, "attempt.started", &format!(r#","n":1,"owner":"{owner}"{key_sent}"#));
    let mut ended = |n: u32, seconds: u64, end: &str| {
        say(seconds, "attempt.ended", &format!(r#","n":{n},"owner":"{owner}"{key_sent}{end}"#));
    };
    let ok = format!(r#","outcome":"ok","http":200,"receipt":"{receipt}""#);
    if is_down && destination == "psp-us" {
        // One provider throttled for an afternoon, and every layer tried again.
        let tries = 3 + u32::try_from(variety.next(4)).unwrap_or(0);
        for n in 1..tries {
            ended(n, u64::from(n) * 20, r#","outcome":"throttled","http":429"#);
        }
        ended(tries, u64::from(tries) * 20, &ok);
        return;
    }
    match variety.next(1_000) {
        0..=879 => ended(1, 1 + variety.next(9), &ok),
        // A limiter or a declared refusal first, then success.
        880..=929 => {
            ended(1, 1, r#","outcome":"throttled","http":429"#);
            ended(2, 4, &ok);
        }
        930..=954 => ended(1, 2, r#","outcome":"rejected","http":422"#),
        955..=969 => ended(1, 2, r#","outcome":"rejected","http":402,"error":"card_declined""#),
        970..=979 => ended(1, 2, r#","outcome":"throttled","http":429"#),
        // No answer, found by a delivery later.
        980..=992 => {
            ended(1, 30, r#","outcome":"timeout""#);
            let mut more = String::new();
            // Writing to a String cannot fail.
            let _ = write!(
                more,
                r#","source":"{destination}","endpoint":"main","event_id":"evt_m{index}","type":"object.created","receipt":"{receipt}","metadata":{{"key":"{key}"}}"#
            );
            say(300, "delivery.received", &more);
        }
        993..=996 => ended(1, 30, r#","outcome":"timeout""#),
        997 => ended(1, 30, r#","outcome":"conn_lost""#),
        998 => ended(1, 3, r#","outcome":"error","http":502"#),
        _ => ended(1, 3, r#","outcome":"abandoned""#),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_month_is_the_same_every_time_and_lies_in_the_past() {
        let now = Timestamp::parse_rfc3339("2026-11-29T12:00:00Z").unwrap();
        let month = lines(now, 50);
        assert_eq!(month, lines(now, 50));
        let last = String::from_utf8(month.last().unwrap().clone()).unwrap();
        assert!(last.contains("2026-11-29T0") || last.contains("2026-11-28T"), "{last}");
    }
}

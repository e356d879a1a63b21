//! Times of many runs, as they are told.

use std::time::Duration;

/// The median and the 99th percentile.
pub fn percentiles(mut spans: Vec<Duration>) -> (Duration, Duration) {
    spans.sort();
    let at = |share: usize| {
        spans.get((spans.len() * share / 100).min(spans.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    (at(50), at(99))
}

/// As it is printed.
pub fn millis(span: Duration) -> String {
    format!("{:.2} ms", span.as_secs_f64() * 1_000.0)
}

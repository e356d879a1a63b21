//! Minutes of each step, for the table that ends a CI run.

use std::fmt;
use std::time::{Duration, Instant};

/// Runs the step and says how long it took.
#[expect(clippy::disallowed_methods, reason = "the build tool measures durations; nothing is decided by them")]
pub fn time<T>(step: impl FnOnce() -> T) -> (T, Minutes) {
    let start = Instant::now();
    let value = step();
    (value, Minutes(start.elapsed()))
}

/// A duration, shown in minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub struct Minutes(pub Duration);

impl fmt::Display for Minutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:5.1} min", self.0.as_secs_f64() / 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_shown_as_minutes() {
        assert_eq!(Minutes(Duration::from_secs(90)).to_string(), "  1.5 min");
    }
}

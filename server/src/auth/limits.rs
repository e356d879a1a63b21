//! How often a sign-in may fail, by login and by address. Counted in this process; time is the record's clock.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tallystick_domain::time::Timestamp;

/// How many failures one login may have within [`WINDOW`].
pub const LOGIN_FAILURES: u32 = 10;
/// How many failures one address may have within [`WINDOW`]: several people may sit behind one.
pub const ADDRESS_FAILURES: u32 = 50;
/// How long failures count, from the first one on.
pub const WINDOW: Duration = Duration::from_mins(15);
/// The most logins and addresses that are remembered.
const REMEMBERED: usize = 20_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Who {
    Login(String),
    Address(String),
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    until: Timestamp,
}

/// Remembers failed sign-ins.
#[derive(Debug, Default)]
pub struct SignInLimits {
    failures: Mutex<HashMap<Who, Failures>>,
}

impl SignInLimits {
    /// How long to wait before the next try, if one must.
    pub fn wait(&self, login: &str, address: &str, now: Timestamp) -> Option<Duration> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        both(login, address)
            .into_iter()
            .filter_map(|(who, limit)| {
                let failed = failures.get(&who)?;
                (failed.count >= limit && now < failed.until).then(|| failed.until.since(now))
            })
            .max()
    }

    /// Counts a failure.
    pub fn count_failure(&self, login: &str, address: &str, now: Timestamp) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= REMEMBERED {
            failures.retain(|_, failed| now < failed.until);
        }
        let has_room = failures.len() < REMEMBERED;
        for (who, _) in both(login, address) {
            match failures.get_mut(&who) {
                Some(failed) if now < failed.until => failed.count = failed.count.saturating_add(1),
                Some(failed) => *failed = Failures { count: 1, until: now.plus(WINDOW) },
                None if has_room => {
                    failures.insert(who, Failures { count: 1, until: now.plus(WINDOW) });
                }
                None => {}
            }
        }
    }

    /// Forgets a login's failures after it succeeded. Those of the address stay.
    pub fn forget(&self, login: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.remove(&Who::Login(login.to_lowercase()));
    }
}

fn both(login: &str, address: &str) -> [(Who, u32); 2] {
    [(Who::Login(login.to_lowercase()), LOGIN_FAILURES), (Who::Address(address.to_owned()), ADDRESS_FAILURES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_micros(0);

    #[test]
    fn the_tenth_failure_closes_the_login_until_the_window_ends() {
        let limits = SignInLimits::default();
        for failure in 0..LOGIN_FAILURES {
            assert_eq!(limits.wait("ada", "a", START), None, "after {failure} failures");
            limits.count_failure("ada", "a", START);
        }
        assert_eq!(limits.wait("Ada", "b", START), Some(WINDOW));
        assert_eq!(limits.wait("bea", "a", START), None, "others behind the same address may still try");
        assert_eq!(limits.wait("ada", "a", START.plus(WINDOW)), None);
    }

    #[test]
    fn many_logins_tried_from_one_address_close_the_address() {
        let limits = SignInLimits::default();
        for failure in 0..ADDRESS_FAILURES {
            limits.count_failure(&format!("login {failure}"), "a", START);
        }
        assert!(limits.wait("somebody else", "a", START).is_some());
        assert_eq!(limits.wait("somebody else", "b", START), None);
    }

    #[test]
    fn success_forgets_the_failures_of_the_login() {
        let limits = SignInLimits::default();
        (0..LOGIN_FAILURES).for_each(|_| limits.count_failure("ada", "a", START));
        limits.forget("ada");
        assert_eq!(limits.wait("ada", "b", START), None);
    }
}

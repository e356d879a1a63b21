//! Named points at which a test stops the process: between two steps that a crash must be able to part (semantics I28).
//! Outside test builds a point is nothing at all.

use tallystick_domain::policy::Policy;
#[cfg(feature = "failpoints")]
use tallystick_domain::policy::SafetyRule;

/// Every point, in the order in which a send passes them.
pub const POINTS: [&str; 7] = [
    "before_dispatch",
    "after_dispatch",
    "between_check_and_write",
    "after_send",
    "after_response",
    "during_save",
    "after_save",
];

/// Whether there are any points in this build.
pub(crate) const IS_BUILT: bool = cfg!(feature = "failpoints");

/// Which safety rules are in force: all of them.
#[cfg(not(feature = "failpoints"))]
pub(crate) const fn policy() -> Policy {
    Policy::FULL
}

/// Which safety rules are in force: all but the one that `TALLYSTICK_WITHOUT` names. A run without one must go wrong; that
/// is how a run with all of them is known to look closely enough.
#[cfg(feature = "failpoints")]
pub(crate) fn policy() -> Policy {
    static POLICY: std::sync::LazyLock<Policy> = std::sync::LazyLock::new(|| {
        let named = std::env::var("TALLYSTICK_WITHOUT").ok();
        let rule = named.and_then(|name| SafetyRule::ALL.iter().copied().find(|rule| rule.name() == name));
        rule.map_or(Policy::FULL, |rule| Policy::FULL.without(rule))
    });
    *POLICY
}

/// Passes a point.
#[cfg(not(feature = "failpoints"))]
#[expect(clippy::unused_async, reason = "in test builds it waits here")]
pub async fn hit(_: &'static str) {}

/// Passes a point, or stops at it: with `TALLYSTICK_FAILPOINT=NAME` whatever comes to the point stays there until the file
/// `TALLYSTICK_FAILPOINT_GO` appears; with `*:P` the process ends by itself at any point with a chance of 1 in P. Each time
/// it says so on a line of its own, `failpoint NAME`, so that whoever started the process can kill or freeze it there.
#[cfg(feature = "failpoints")]
pub async fn hit(name: &'static str) {
    use std::hash::{BuildHasher as _, RandomState};
    use std::sync::LazyLock;

    enum Plan {
        Nothing,
        StopAt(String),
        DieOneIn(u64),
    }
    static PLAN: LazyLock<Plan> = LazyLock::new(|| {
        let Ok(text) = std::env::var("TALLYSTICK_FAILPOINT") else { return Plan::Nothing };
        match text.split_once(':') {
            Some(("*", chance)) => chance.parse().map_or(Plan::Nothing, Plan::DieOneIn),
            Some(_) | None => Plan::StopAt(text),
        }
    });
    match &*PLAN {
        Plan::StopAt(wanted) if wanted == name => {
            say(name);
            // Other tasks go on: a process is stopped by whoever watches, not by this.
            park().await;
        }
        Plan::DieOneIn(chance) => {
            // Each hasher begins with keys of its own, drawn by the system.
            if RandomState::new().hash_one(name).is_multiple_of((*chance).max(1)) {
                say(name);
                // No destructor, no flush, no goodbye: what SIGKILL does.
                let pid = std::process::id().to_string();
                let _ = std::process::Command::new("kill").args(["-KILL", &pid]).status();
                park().await;
            }
        }
        Plan::StopAt(_) | Plan::Nothing => {}
    }
}

#[cfg(feature = "failpoints")]
fn say(name: &str) {
    use std::io::Write as _;

    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "failpoint {name}");
    let _ = out.flush();
}

/// Waits for the file `TALLYSTICK_FAILPOINT_GO` to appear; for ever where none is named.
#[cfg(feature = "failpoints")]
async fn park() {
    let go = std::env::var_os("TALLYSTICK_FAILPOINT_GO").map(std::path::PathBuf::from);
    while !go.as_ref().is_some_and(|path| path.exists()) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

//! The numbers of semantics 4.9: one table of defaults, and how a tool's contract overrides each.

use std::time::Duration;

use crate::budget::BudgetKind;
use crate::contract::{Contract, Verification};

/// Every number that holds where a tool's contract is silent. None may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defaults {
    /// How long a claim is held.
    pub lease: Duration,
    /// How long a sender waits for an answer.
    pub client_deadline: Duration,
    /// D: how long after the client deadline a request may still arrive. As a number for key age and
    /// settle; for absence an undeclared D stays unknown (semantics 4.0).
    pub arrival_delay: Duration,
    /// The margin on key age.
    pub key_age_margin: Duration,
    /// How long after a statement of failure evidence is still awaited.
    pub watch: Duration,
    /// How many look-ups follow an uncertain outcome, with jitter.
    pub look_ups: u32,
    /// Over how long they are spread.
    pub look_ups_over: Duration,
    /// How long an approval lives.
    pub approval_life: Duration,
    /// How many attempts one automatic episode may make.
    pub attempts_per_episode: u32,
    /// How many attempts an operation may have at all.
    pub attempts_cap: u32,
    /// How long an operation may take.
    pub operation_deadline: Duration,
    /// The longest `Retry-After` that is waited for before the operation goes to the queue.
    pub retry_after_cap: Duration,
    /// What retries are paid from (semantics 1.5).
    pub budget_kind: BudgetKind,
    /// How well a contract is known when it does not say.
    pub verification: Verification,
}

/// The defaults of semantics 4.9. Settle has no number of its own: it is client deadline + D after the last
/// dispatch. The dual threshold has none either: every operation of class X needs two people, and
/// [`dual_threshold_minor`](crate::tool::Tool::dual_threshold_minor) adds amounts of class V.
pub const DEFAULTS: Defaults = Defaults {
    lease: Duration::from_secs(30),
    client_deadline: Duration::from_secs(30),
    arrival_delay: Duration::from_mins(2),
    key_age_margin: Duration::from_mins(5),
    watch: Duration::from_hours(24),
    look_ups: 6,
    look_ups_over: Duration::from_mins(40),
    approval_life: Duration::from_hours(8),
    attempts_per_episode: 3,
    attempts_cap: 10,
    operation_deadline: Duration::from_hours(24),
    retry_after_cap: Duration::from_hours(1),
    budget_kind: BudgetKind::Bucket,
    verification: Verification::Claimed,
};

fn seconds(declared: Option<u64>, default: Duration) -> Duration {
    declared.map_or(default, Duration::from_secs)
}

impl Contract {
    /// How long a claim is held.
    pub fn lease(&self) -> Duration {
        seconds(self.lease_s, DEFAULTS.lease)
    }

    /// How long a sender waits for an answer.
    pub fn client_deadline(&self) -> Duration {
        seconds(self.client_deadline_s, DEFAULTS.client_deadline)
    }

    /// D, as a number for key age and settle. Whether absence may mean anything asks for the declaration itself.
    pub fn arrival_delay(&self) -> Duration {
        seconds(self.max_arrival_delay_s, DEFAULTS.arrival_delay)
    }

    /// The margin on key age.
    pub fn key_age_margin(&self) -> Duration {
        seconds(self.key_age_margin_s, DEFAULTS.key_age_margin)
    }

    /// The watch period.
    pub fn watch(&self) -> Duration {
        seconds(self.watch_s, DEFAULTS.watch)
    }

    /// How long after the last dispatch absence begins to mean something: client deadline + D, or longer
    /// where the tool says so. Never shorter, since K6 rests on that sum.
    pub fn settle(&self) -> Duration {
        let least = self.client_deadline().saturating_add(self.arrival_delay());
        seconds(self.settle_s, least).max(least)
    }

    /// How many look-ups follow an uncertain outcome.
    pub fn look_ups(&self) -> u32 {
        self.lookup_count.unwrap_or(DEFAULTS.look_ups)
    }

    /// Over how long the look-ups are spread.
    pub fn look_ups_over(&self) -> Duration {
        seconds(self.lookup_span_s, DEFAULTS.look_ups_over)
    }

    /// How long an approval lives.
    pub fn approval_life(&self) -> Duration {
        seconds(self.approval_life_s, DEFAULTS.approval_life)
    }

    /// How many attempts one automatic episode may make; never more than the cap.
    pub fn attempts_per_episode(&self) -> u32 {
        self.attempts_per_episode.unwrap_or(DEFAULTS.attempts_per_episode).min(self.attempts_cap())
    }

    /// How many attempts an operation may have at all.
    pub fn attempts_cap(&self) -> u32 {
        self.attempts_cap.unwrap_or(DEFAULTS.attempts_cap)
    }

    /// How long an operation may take.
    pub fn operation_deadline(&self) -> Duration {
        seconds(self.operation_deadline_s, DEFAULTS.operation_deadline)
    }

    /// The longest `Retry-After` that is waited for without a person.
    pub fn retry_after_cap(&self) -> Duration {
        seconds(self.retry_after_cap_s, DEFAULTS.retry_after_cap)
    }

    /// What retries are paid from.
    pub fn budget_kind(&self) -> BudgetKind {
        self.budget_kind.unwrap_or(DEFAULTS.budget_kind)
    }

    /// How well the contract as a whole is known.
    pub fn verification(&self) -> Verification {
        self.verification.unwrap_or(DEFAULTS.verification)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::proof::{proofs, prove};

    proofs! {
        fn every_number_of_4_9_has_the_default_it_is_given() {
            let silent = Contract::default();
            let (minute, hour) = (60, 3_600);
            for (name, value, default_s) in [
                ("lease", silent.lease(), 30),
                ("client deadline", silent.client_deadline(), 30),
                ("D", silent.arrival_delay(), 120),
                ("margin on key age", silent.key_age_margin(), 5 * minute),
                ("watch period", silent.watch(), 24 * hour),
                ("look-ups over", silent.look_ups_over(), 40 * minute),
                ("settle", silent.settle(), 30 + 120),
                ("approval life", silent.approval_life(), 8 * hour),
                ("operation deadline", silent.operation_deadline(), 24 * hour),
                ("Retry-After cap", silent.retry_after_cap(), hour),
            ] {
                prove!("4.9", value, Duration::from_secs(default_s), "{name}");
            }
            prove!("4.9", silent.look_ups(), 6);
            prove!("4.9", silent.attempts_per_episode(), 3);
            prove!("4.9", silent.attempts_cap(), 10);
            prove!("4.9", silent.verification(), Verification::Claimed);
            prove!("4.9", silent.budget_kind(), BudgetKind::Bucket);
        }

        fn a_tool_overrides_each_of_them() {
            let told: Contract = serde_json::from_value(serde_json::json!({
                "lease_s": 1, "client_deadline_s": 2, "max_arrival_delay_s": 3, "key_age_margin_s": 4, "watch_s": 5,
                "lookup_span_s": 6, "settle_s": 7, "approval_life_s": 8, "operation_deadline_s": 9,
                "retry_after_cap_s": 10, "lookup_count": 11, "attempts_per_episode": 12, "attempts_cap": 13,
                "budget_kind": "ratio", "verification": "tested_live",
            }))
            .unwrap();
            for (name, value, told_s) in [
                ("lease", told.lease(), 1),
                ("client deadline", told.client_deadline(), 2),
                ("D", told.arrival_delay(), 3),
                ("margin on key age", told.key_age_margin(), 4),
                ("watch period", told.watch(), 5),
                ("look-ups over", told.look_ups_over(), 6),
                ("settle", told.settle(), 7),
                ("approval life", told.approval_life(), 8),
                ("operation deadline", told.operation_deadline(), 9),
                ("Retry-After cap", told.retry_after_cap(), 10),
            ] {
                prove!("4.9", value, Duration::from_secs(told_s), "{name}");
            }
            prove!("4.9", told.look_ups(), 11);
            prove!("4.9", told.attempts_per_episode(), 12);
            prove!("4.9", told.attempts_cap(), 13);
            prove!("4.9", told.budget_kind(), BudgetKind::Ratio);
            prove!("4.9", told.verification(), Verification::TestedLive);
        }

        fn settle_is_never_shorter_than_the_sum_it_stands_for() {
            let hasty = Contract { settle_s: Some(1), ..Contract::default() };
            prove!("4.9", hasty.settle(), Duration::from_secs(150));
        }

        fn an_episode_stays_under_the_cap() {
            let small = Contract { attempts_cap: Some(2), ..Contract::default() };
            prove!("4.9", small.attempts_per_episode(), 2);
        }
    }

    #[test]
    fn no_other_table_says_otherwise() {
        assert_eq!(crate::budget::BackoffNumbers::default().retry_after_cap(), DEFAULTS.retry_after_cap);
    }

    #[test]
    fn the_longest_numbers_do_not_overflow() {
        let huge = Contract {
            client_deadline_s: Some(u64::MAX),
            max_arrival_delay_s: Some(u64::MAX),
            key_retention_s: Some(u64::MAX),
            ..Contract::default()
        };
        assert_eq!(huge.settle(), Duration::MAX);
        assert_eq!(huge.key_window(), Some(Duration::ZERO));
    }
}

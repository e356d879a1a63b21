//! The guards of transitions by name (semantics 4.3): an answer says which one refused, and on what fact.

use serde::{Deserialize, Serialize};

macro_rules! guards {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $label:literal;)*) => {
        /// A condition that a transition asks for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Guard { $($(#[$doc])* $variant,)* }

        impl Guard {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in answers and the record.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it asks for, in words.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }
        }
    };
}

guards! {
    /// Only guarded operations are claimed and sent (4.0).
    ModeGuarded = "mode_guarded", "the operation is guarded";
    /// The state is one from which the transition goes.
    StateAdmits = "state_admits", "its state admits it";
    /// Nobody holds the operation.
    LeaseFree = "lease_free", "nobody holds a lease on it";
    /// The lease named is the one in force.
    LeaseHeld = "lease_held", "the lease is in force";
    /// This claim has sent nothing.
    NothingSentUnderLease = "nothing_sent_under_lease", "nothing was sent under this lease";
    /// A person's approval, or policy for classes R and N, covers exactly these arguments now.
    ApprovalLive = "approval_live", "a live approval covers these arguments";
    /// The approver is a person.
    ApproverIsPerson = "approver_is_person", "a person approves";
    /// The approver did not propose it.
    ApproverIsNotProposer = "approver_is_not_proposer", "somebody other than the proposer approves";
    /// Whether it is the same intent as another operation has been answered (4.4.3).
    SameIntentAnswered = "same_intent_answered", "the question whether it is the same intent is answered";
    /// Time is left.
    DeadlineLeft = "deadline_left", "its deadline has not passed";
    /// Attempts are left.
    AttemptsLeft = "attempts_left", "attempts are left";
    /// The hard cap is not reached.
    BelowHardCap = "below_hard_cap", "the hard cap of attempts is not reached";
    /// Back-off and `Retry-After` have passed.
    NotBefore = "not_before", "its waiting time is over";
    /// The destination is the same account, region, endpoint and credential.
    ScopeUnchanged = "scope_unchanged", "the destination's scope is that of the open attempts";
    /// Retries of this class are ours.
    RetryOwnerIsUs = "retry_owner_is_us", "no other layer owns its retries";
    /// No newer guarded operation of the intent exists.
    NewestOfIntent = "newest_of_intent", "it is the newest guarded operation of its intent";
    /// The intent holds no evidence of success.
    NoSuccessOfIntent = "no_success_of_intent", "the intent has no effect yet";
    /// Nothing is open, or the key protects a repeat, or the class allows it.
    NothingOpenOrProtected = "nothing_open_or_protected", "nothing is open, or the key protects a repeat";
    /// Nothing is open.
    NothingOpen = "nothing_open", "nothing is open";
    /// The doubt is not one that a repeat cannot settle.
    DoubtAdmitsRepeat = "doubt_admits_repeat", "a repeat can settle the doubt";
    /// A person ordered the repeat, where the class asks for one.
    RepeatOrdered = "repeat_ordered", "a person ordered the repeat";
    /// The steps that it needs have succeeded, and its workflow does not go back.
    StepMayBegin = "step_may_begin", "the steps it needs have succeeded and its workflow goes forward";
    /// A restore was acknowledged.
    RestoreAcknowledged = "restore_acknowledged", "the restored record was acknowledged";
    /// The permit is for this version of the record and of the guards.
    PermitCurrent = "permit_current", "the permit is for the record as it is now";
    /// The permit has not run out.
    PermitInTime = "permit_in_time", "the permit has begun and not run out";
    /// The destination's budget has tokens.
    TokensLeft = "tokens_left", "the destination's budget has tokens";
}

/// One guard with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardResult {
    /// Which one.
    pub guard: Guard,
    /// Whether it holds.
    pub holds: bool,
    /// The fact that says so.
    pub because: String,
}

/// The guards that a transition asked, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked(pub Vec<GuardResult>);

impl Checked {
    /// Asks one guard more.
    pub fn ask(&mut self, guard: Guard, holds: bool, because: impl Into<String>) {
        self.0.push(GuardResult { guard, holds, because: because.into() });
    }

    /// Whether all hold.
    pub fn all_hold(&self) -> bool {
        self.0.iter().all(|result| result.holds)
    }

    /// Those that do not.
    pub fn failed(self) -> Vec<GuardResult> {
        self.0.into_iter().filter(|result| !result.holds).collect()
    }
}

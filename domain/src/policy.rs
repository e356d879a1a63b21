//! Which safety rules are in force: all of them. A test may switch single ones off, to show that each is needed.

macro_rules! safety_rules {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// A rule without which two effects, a lost one, or a false word about one become reachable (semantics §8).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum SafetyRule { $($(#[$doc])* $variant,)* }

        impl SafetyRule {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in semantics §8.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

safety_rules! {
    /// An attempt row is committed before its first byte (E1).
    Wal = "wal";
    /// A lease that ends after a dispatch makes the operation uncertain (T16).
    SweepToUncertain = "sweep_to_uncertain";
    /// A key protects for as long as it is kept (3.7.6).
    KeyFreshness = "key_freshness";
    /// The age of a key is judged with D and a margin (3.7.6).
    KeyMargin = "key_margin";
    /// The age of a key is compared again by the dispatch (4.6).
    RecheckAtDispatch = "recheck_at_dispatch";
    /// Absence means something only after settle (K6).
    SettleWindow = "settle_window";
    /// A new key needs proof that nothing is open, or two people (T28, T43).
    NewKeyNeedsProof = "newkey_needs_proof";
    /// A person's word that it failed proves nothing (I15).
    FailedMarkIsNotProof = "failed_mark_is_not_proof";
    /// Where no key protects, the truth is looked up before another send (3.7).
    ReconcileBeforeRetry = "reconcile_before_retry";
    /// A success needs a receipt or a person (I2).
    SuccessNeedsEvidence = "success_needs_evidence";
    /// An undo waits until the forward operation is settled (I5).
    UndoWaitsResolution = "undo_waits_resolution";
    /// All attempts count, not the last (F14).
    AggregateOverAttempts = "aggregate_over_attempts";
    /// A dispatch compares the epoch of its lease (4.6).
    FencedDispatch = "fenced_dispatch";
    /// A refusal closes its own attempt only (K1, K3).
    RefusalClosesOnlyItself = "refusal_closes_only_itself";
    /// A refusal speaks for earlier attempts only where the key stores it (K3).
    DeclineNeedsStores = "decline_needs_stores";
    /// Keys do not cross scopes (3.7.5).
    ScopeInKey = "scope_in_key";
    /// A key that keeps successes only protects nothing (3.7.1).
    TwoXxOnlyProtectsNothing = "two_xx_only_protects_nothing";
    /// A claim that sent nothing returns to where it came from (T9).
    ReturnToClaimedFrom = "return_to_claimed_from";
    /// Other arguments after a dispatch are a new operation (T5).
    ArgsChangeIsRerunNew = "args_change_is_rerun_new";
    /// Absence is judged at the time its look-up was sent (K6).
    AbsenceBySendTime = "absence_by_send_time";
    /// Absence counts only once the sender's end is known (K6).
    SenderEndProved = "sender_end_proved";
    /// A pick proves nothing to a later guard (T27).
    PickIsNotProof = "pick_is_not_proof";
    /// A cancel that found nothing proves nothing before settle and a second check (K7, 22a).
    NoopCancelWaits = "noop_cancel_waits";
    /// Effects are counted per intent (F3).
    CountPerIntent = "count_per_intent";
    /// Only the newest guarded operation of an intent is sent (T8, T10).
    NewestOfIntentOnly = "newest_of_intent_only";
    /// An observed operation is never sent (I31).
    ObservedNeverDispatched = "observed_never_dispatched";
    /// Nothing is sent before a restore is acknowledged (4.8).
    RestoreHoldsDispatch = "restore_holds_dispatch";
}

/// The rules in force. Outside tests there is only [`Policy::FULL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Policy(u64);

impl Policy {
    /// Everything is in force.
    pub const FULL: Self = Self(u64::MAX);

    /// Whether a rule is in force.
    pub const fn keeps(self, rule: SafetyRule) -> bool {
        self.0 & (1 << rule as u64) != 0
    }

    /// The same without one rule, to show what it prevents.
    #[cfg(any(test, feature = "partial-policy"))]
    #[must_use]
    pub const fn without(self, rule: SafetyRule) -> Self {
        Self(self.0 & !(1 << rule as u64))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::FULL
    }
}

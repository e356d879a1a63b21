//! A model of everything that can happen around one intent: workers that freeze and die, a destination that loses,
//! delays and forgets, people, time. It calls the rules themselves, with single rules switched off by a test's policy.
//!
//! With all rules in force no invariant may break; with one of them off, one must (semantics §8). Tests only.

mod destination;
mod scenarios;
mod world;

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::action::{Action, ActionInput, Pick};
use crate::decision::Verdict;
use crate::operation::{Fact, Mode, State, SuccessBasis};
use crate::policy::Policy;
use crate::policy::SafetyRule;

use destination::Answer;
use scenarios::Scenario;
use world::World;

/// One thing that may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Move {
    /// So many seconds pass.
    Wait(u64),
    /// A worker asks for the lease.
    Claim(usize),
    /// The holder asks for its permit.
    AskPermit(usize),
    /// The holder gives its lease back; a part of it still holds the permit.
    Release(usize),
    /// The holder makes the fenced write.
    Dispatch(usize),
    /// The request leaves the process: at once, or after it was frozen.
    Send(usize),
    /// The destination takes a request.
    Deliver(usize, Answer),
    /// A request is lost on its way.
    Lose(usize),
    /// The sender stops waiting and saves a timeout.
    GiveUp(usize),
    /// A process dies; nothing is saved.
    Die(usize),
    /// Something outside proves that it died.
    ProveDead(usize),
    /// The destination tells of an effect.
    Notify(usize),
    /// A look-up is sent; the destination answers as of now.
    LookUp,
    /// Its answer is read.
    ReadLookUp,
    /// A cancel by key is sent and answered.
    CancelByKey,
    /// People act: one asks, another completes where two are needed.
    Act(Act),
    /// The destination moves to another region.
    ChangeRegion,
    /// A copy of the record is kept.
    BackUp,
    /// The record is replaced by the copy.
    Restore,
    /// Two people acknowledge the restore.
    Acknowledge,
}

/// What people may do in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    RerunNew,
    ChangeArguments,
    MarkFailed,
    PickFailed,
    Compensate,
    Approve,
}

impl Act {
    fn input(self) -> ActionInput {
        match self {
            Self::RerunNew => ActionInput::RerunNew {},
            Self::ChangeArguments => ActionInput::ChangeArguments { arguments: r#"{"amount":101}"#.into() },
            Self::MarkFailed => ActionInput::MarkFailed {},
            Self::PickFailed => ActionInput::PickVerdict { pick: Pick::Failed, receipt: None },
            Self::Compensate => ActionInput::Compensate { receipt: None },
            Self::Approve => ActionInput::Approve {},
        }
    }
}

impl Model for Scenario {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self)]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        moves.extend(self.moves(world));
    }

    fn next_state(&self, world: &World, next: Move) -> Option<World> {
        let mut world = world.clone();
        world.make(self, next).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        INVARIANTS.iter().map(|(name, holds)| Property::always(name, *holds)).collect()
    }
}

type Invariant = (&'static str, fn(&Scenario, &World) -> bool);

/// The invariants of semantics §5 that a world can show.
const INVARIANTS: &[Invariant] = &[
    ("I1 at most one effect", |_, world| world.excess_effects() == 0),
    ("I2 success has an effect", |_, world| {
        world.every(|record, state| {
            state != State::Succeeded(SuccessBasis::Receipt) || world.destination.effects_of(&record.head.intent_id) > 0
        })
    }),
    ("I3 proved failure has none, and none can land", |_, world| {
        world.every(|record, state| {
            let proved = matches!(state, State::Failed(failure) if failure != crate::operation::Failure::Attested);
            !proved || record.head.mode == Mode::Observed || !world.may_have_effect(record)
        })
    }),
    ("I4 no effect without a dispatch on record", |_, world| world.unrecorded_effects() == 0),
    ("I5 no undo while the forward operation is open", |_, world| world.undone_too_early() == 0),
    ("I7 one key, one wording", |_, world| world.keys_with_two_wordings() == 0),
    ("I11 nothing open where it looks settled", |_, world| {
        world.every(|record, state| {
            let settled =
                matches!(state, State::RetryWait(_) | State::Authorized | State::Proposed | State::ApprovalExpired);
            !settled || world.open_of(record) == 0
        })
    }),
    ("I21 two known effects contradict", |_, world| world.hidden_doubles() == 0),
    ("I31 an observed operation is never claimed", |_, world| {
        world.every(|record, _| record.head.mode == Mode::Guarded || record.claims().count() == 0)
    }),
    ("L5 only the newest of an intent is sent", |_, world| world.sends_of_older() == 0),
    ("4.8 nothing is sent before a restore is acknowledged", |_, world| world.sends_before_acknowledgement == 0),
];

/// What came of a search.
pub(super) struct Found {
    pub(super) states: usize,
    pub(super) broken: Vec<&'static str>,
}

pub(super) fn search(scenario: Scenario, threads: usize) -> Found {
    let depth = scenario.depth;
    let checker = scenario.checker().threads(threads).target_max_depth(depth + 2);
    let checker = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let mut broken: Vec<&'static str> = checker.discoveries().into_keys().collect();
    broken.sort_unstable();
    Found { states: checker.unique_state_count(), broken }
}

/// With every rule in force nothing breaks; without this one, what it is there for does.
fn check(rule: SafetyRule, deeper: usize, threads: usize) -> usize {
    let expected = scenarios::breaks(rule);
    let with_all = search(scenarios::of(rule, Policy::FULL, deeper), threads);
    let without = search(scenarios::of(rule, Policy::FULL.without(rule), deeper), threads);
    let name = rule.name();
    println!(
        "{name:<30} {:>8} states {:?}; off {:>7} {:?}",
        with_all.states, with_all.broken, without.states, without.broken
    );
    assert!(with_all.broken.is_empty(), "{name}: broken although every rule is in force: {:?}", with_all.broken);
    let breaks = without.broken.iter().any(|broken| broken.starts_with(expected));
    assert!(breaks, "{name}: off, and {expected} holds all the same (found {:?})", without.broken);
    with_all.states + without.states
}

macro_rules! needed {
    ($($test:ident: $rule:ident;)*) => {
        $(#[test] fn $test() { check(SafetyRule::$rule, 0, 1); })*

        #[test]
        fn every_rule_has_its_test() {
            assert_eq!([$(SafetyRule::$rule,)*].as_slice(), SafetyRule::ALL);
        }
    };
}

// The small twins that run with the other tests.
needed! {
    wal: Wal;
    sweep_to_uncertain: SweepToUncertain;
    key_freshness: KeyFreshness;
    key_margin: KeyMargin;
    recheck_at_dispatch: RecheckAtDispatch;
    settle_window: SettleWindow;
    newkey_needs_proof: NewKeyNeedsProof;
    failed_mark_is_not_proof: FailedMarkIsNotProof;
    reconcile_before_retry: ReconcileBeforeRetry;
    success_needs_evidence: SuccessNeedsEvidence;
    undo_waits_resolution: UndoWaitsResolution;
    aggregate_over_attempts: AggregateOverAttempts;
    fenced_dispatch: FencedDispatch;
    refusal_closes_only_itself: RefusalClosesOnlyItself;
    decline_needs_stores: DeclineNeedsStores;
    scope_in_key: ScopeInKey;
    two_xx_only_protects_nothing: TwoXxOnlyProtectsNothing;
    return_to_claimed_from: ReturnToClaimedFrom;
    args_change_is_rerun_new: ArgsChangeIsRerunNew;
    absence_by_send_time: AbsenceBySendTime;
    sender_end_proved: SenderEndProved;
    pick_is_not_proof: PickIsNotProof;
    noop_cancel_waits: NoopCancelWaits;
    count_per_intent: CountPerIntent;
    newest_of_intent_only: NewestOfIntentOnly;
    observed_never_dispatched: ObservedNeverDispatched;
    restore_holds_dispatch: RestoreHoldsDispatch;
}

/// The large search: `cargo xtask model`.
#[test]
#[ignore = "minutes; run by cargo xtask model"]
fn large() {
    let states: usize = SafetyRule::ALL.iter().map(|&rule| check(rule, 2, 2)).sum();
    println!("{states} states");
}

/// The verdict on an action, as the page shows it; what is forbidden is never pressed.
pub(super) fn is_offered(world: &World, id: &str, action: Action) -> bool {
    world.rig.verdict(id, action) < Verdict::Forbidden
}

/// Whether two people accepted that an open attempt may still succeed.
pub(super) fn is_accepted_by_two(fact: &Fact) -> bool {
    matches!(fact, Fact::RiskAccepted { actors, .. } if actors.len() >= 2)
}

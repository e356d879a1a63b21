//! One scenario for each rule: the smallest world in which switching it off does harm.

use std::time::Duration;

use crate::contract::{Contract, Stores};
use crate::model::destination::Answer;
use crate::model::world::{Worker, World};
use crate::model::{Act, Move};
use crate::operation::{Mode, State};
use crate::policy::{Policy, SafetyRule};
use crate::rig::{LEASE, cancel, keyed, strong_look_up, undo_by};
use crate::tool::Class;

/// A world's beginning and what may happen in it.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(super) policy: Policy,
    pub(super) mode: Mode,
    pub(super) class: Class,
    pub(super) contract: Contract,
    pub(super) workers: usize,
    pub(super) depth: usize,
    /// Whether a process may stand still for longer than D between its dispatch and its first byte. Where a key
    /// protects, D must bound that (3.5); where absence is proof, nothing may (K6).
    pub(super) freezes: bool,
    pub(super) lease: Duration,
    /// Whether the sweeper is prompt: what time alone changes is on record at once.
    pub(super) sweeps: bool,
    /// How long a wait is.
    waits: &'static [u64],
    answers: &'static [Answer],
    acts: &'static [Act],
    looks_up: bool,
    cancels: bool,
    pub(super) moves_region: bool,
    restores: bool,
    dies: bool,
    releases: bool,
    notifies: bool,
}

const HOUR: u64 = 3600;

/// No key, no look-up: only what is known of the sends counts.
fn unkeyed() -> Contract {
    Contract { stores: None, key_retention_s: None, ..keyed() }
}

/// A key that is certain for three minutes and forgotten after ten.
fn short_key() -> Contract {
    Contract { key_retention_s: Some(600), ..keyed() }
}

fn base(policy: Policy, depth: usize) -> Scenario {
    Scenario {
        policy,
        mode: Mode::Guarded,
        class: Class::Reversible,
        contract: unkeyed(),
        workers: 1,
        depth,
        freezes: false,
        lease: LEASE,
        sweeps: true,
        waits: &[60],
        answers: &[Answer::Done, Answer::DoneUnheard],
        acts: &[],
        looks_up: false,
        cancels: false,
        moves_region: false,
        restores: false,
        dies: false,
        releases: false,
        notifies: false,
    }
}

/// The scenario of a rule; `more` makes it deeper than it needs to be.
pub(super) fn of(rule: SafetyRule, policy: Policy, more: usize) -> Scenario {
    let base = |depth: usize| base(policy, depth + more);
    match rule {
        SafetyRule::Wal => base(6),
        SafetyRule::SweepToUncertain => Scenario { dies: true, ..base(7) },
        SafetyRule::KeyFreshness => {
            Scenario { contract: short_key(), waits: &[350], answers: &[Answer::DoneUnheard], ..base(13) }
        }
        SafetyRule::KeyMargin => Scenario {
            contract: Contract { key_retention_s: Some(300), ..keyed() },
            waits: &[150],
            answers: &[Answer::DoneUnheard],
            ..base(14)
        },
        SafetyRule::RecheckAtDispatch => Scenario {
            contract: Contract { key_retention_s: Some(1_100), ..keyed() },
            lease: Duration::from_hours(1),
            sweeps: false,
            waits: &[650],
            answers: &[Answer::DoneUnheard],
            ..base(13)
        },
        SafetyRule::AbsenceBySendTime => Scenario {
            contract: Contract { lookup: strong_look_up(), ..unkeyed() },
            looks_up: true,
            answers: &[Answer::DoneUnheard],
            waits: &[200],
            ..base(9)
        },
        SafetyRule::SettleWindow => Scenario {
            contract: Contract { lookup: strong_look_up(), ..unkeyed() },
            looks_up: true,
            answers: &[Answer::DoneUnheard],
            waits: &[60],
            ..base(8)
        },
        SafetyRule::SenderEndProved => Scenario {
            contract: Contract { lookup: strong_look_up(), ..unkeyed() },
            freezes: true,
            looks_up: true,
            answers: &[Answer::DoneUnheard],
            waits: &[200],
            ..base(7)
        },
        SafetyRule::NewKeyNeedsProof => {
            Scenario { acts: &[Act::RerunNew, Act::Approve], answers: &[Answer::DoneUnheard], waits: &[], ..base(15) }
        }
        SafetyRule::FailedMarkIsNotProof => Scenario { acts: &[Act::MarkFailed], ..base(8) },
        SafetyRule::ReconcileBeforeRetry => Scenario { answers: &[Answer::DoneUnheard], ..base(13) },
        SafetyRule::SuccessNeedsEvidence => Scenario { answers: &[Answer::EmptyOk], ..base(6) },
        SafetyRule::UndoWaitsResolution => Scenario {
            contract: Contract { compensation: undo_by("invoice.void"), ..unkeyed() },
            acts: &[Act::Compensate],
            ..base(8)
        },
        SafetyRule::AggregateOverAttempts | SafetyRule::RefusalClosesOnlyItself => {
            Scenario { contract: keyed(), answers: &[Answer::DoneUnheard, Answer::Throttled], ..base(11) }
        }
        SafetyRule::FencedDispatch => {
            Scenario { workers: 2, releases: true, waits: &[], answers: &[Answer::DoneUnheard], ..base(11) }
        }
        SafetyRule::DeclineNeedsStores => Scenario {
            class: Class::Idempotent,
            contract: Contract { stores: Some(Stores::SuccessesOnly), sole_writer: Some(true), ..keyed() },
            answers: &[Answer::DoneUnheard, Answer::Declined],
            ..base(11)
        },
        SafetyRule::ScopeInKey => {
            Scenario { contract: keyed(), moves_region: true, answers: &[Answer::DoneUnheard], ..base(14) }
        }
        SafetyRule::TwoXxOnlyProtectsNothing => Scenario {
            contract: Contract { stores: Some(Stores::SuccessesOnly), ..keyed() },
            answers: &[Answer::DoneAs500, Answer::Done],
            ..base(11)
        },
        SafetyRule::ReturnToClaimedFrom => Scenario { contract: keyed(), dies: true, workers: 2, ..base(9) },
        SafetyRule::ArgsChangeIsRerunNew => Scenario {
            contract: keyed(),
            acts: &[Act::ChangeArguments, Act::Approve],
            answers: &[Answer::DoneUnheard],
            ..base(12)
        },
        SafetyRule::PickIsNotProof => Scenario {
            answers: &[Answer::DoneUnheard],
            acts: &[Act::MarkFailed, Act::PickFailed],
            notifies: true,
            ..base(11)
        },
        SafetyRule::NoopCancelWaits => Scenario {
            contract: Contract { cancel_by_key: cancel(true, false), ..keyed() },
            cancels: true,
            waits: &[HOUR * 25],
            ..base(9)
        },
        SafetyRule::CountPerIntent => {
            Scenario { waits: &[HOUR * 25], acts: &[Act::RerunNew, Act::Approve], notifies: true, ..base(15) }
        }
        SafetyRule::NewestOfIntentOnly => Scenario {
            class: Class::Read,
            waits: &[5],
            answers: &[Answer::DoneUnheard],
            acts: &[Act::RerunNew],
            ..base(11)
        },
        SafetyRule::ObservedNeverDispatched => Scenario { mode: Mode::Observed, ..base(4) },
        SafetyRule::RestoreHoldsDispatch => Scenario { contract: keyed(), restores: true, ..base(10) },
    }
}

/// The invariant that breaks without the rule.
pub(super) const fn breaks(rule: SafetyRule) -> &'static str {
    match rule {
        SafetyRule::Wal => "I4",
        SafetyRule::SweepToUncertain
        | SafetyRule::AggregateOverAttempts
        | SafetyRule::RefusalClosesOnlyItself
        | SafetyRule::SettleWindow
        | SafetyRule::AbsenceBySendTime
        | SafetyRule::SenderEndProved
        | SafetyRule::ReturnToClaimedFrom => "I11",
        SafetyRule::KeyFreshness
        | SafetyRule::KeyMargin
        | SafetyRule::RecheckAtDispatch
        | SafetyRule::NewKeyNeedsProof
        | SafetyRule::ReconcileBeforeRetry
        | SafetyRule::FencedDispatch
        | SafetyRule::ScopeInKey
        | SafetyRule::TwoXxOnlyProtectsNothing => "I1",
        SafetyRule::FailedMarkIsNotProof
        | SafetyRule::DeclineNeedsStores
        | SafetyRule::PickIsNotProof
        | SafetyRule::NoopCancelWaits => "I3",
        SafetyRule::SuccessNeedsEvidence => "I2",
        SafetyRule::UndoWaitsResolution => "I5",
        SafetyRule::ArgsChangeIsRerunNew => "I7",
        SafetyRule::CountPerIntent => "I21",
        SafetyRule::NewestOfIntentOnly => "L5",
        SafetyRule::ObservedNeverDispatched => "I31",
        SafetyRule::RestoreHoldsDispatch => "4.8",
    }
}

impl Scenario {
    /// What may happen next in a world.
    pub(super) fn moves(&self, world: &World) -> Vec<Move> {
        let mut moves: Vec<Move> = self.waits.iter().map(|&seconds| Move::Wait(seconds)).collect();
        for index in 0..world.workers.len() {
            self.moves_of_worker(world, index, &mut moves);
        }
        for index in 0..world.destination.requests.len() {
            moves.extend(self.answers.iter().map(|&answer| Move::Deliver(index, answer)));
            moves.push(Move::Lose(index));
        }
        if self.notifies {
            let untold = world.destination.effects.iter().enumerate().filter(|(_, effect)| !effect.told);
            moves.extend(untold.map(|(index, _)| Move::Notify(index)));
        }
        if self.looks_up && !world.has_look_up() && world.looked_up < 2 {
            moves.push(Move::LookUp);
        }
        if world.has_look_up() {
            moves.push(Move::ReadLookUp);
        }
        let is_uncertain = matches!(world.state_of_first(), State::Uncertain(_));
        if self.cancels && is_uncertain && world.cancelled < 2 {
            moves.push(Move::CancelByKey);
        }
        let unmade = self.acts.iter().filter(|act| !world.acts_made.contains(act));
        moves.extend(unmade.map(|&act| Move::Act(act)));
        if self.moves_region && world.region == 1 {
            moves.push(Move::ChangeRegion);
        }
        if self.restores && !world.rig.restore_pending {
            moves.push(if world.backup.is_some() { Move::Restore } else { Move::BackUp });
        }
        if world.rig.restore_pending {
            moves.push(Move::Acknowledge);
        }
        moves
    }

    fn moves_of_worker(&self, world: &World, index: usize, moves: &mut Vec<Move>) {
        let worker = &world.workers[index];
        match worker {
            Worker::Idle => moves.push(Move::Claim(index)),
            Worker::Holds { .. } => moves.push(Move::AskPermit(index)),
            Worker::Permitted { .. } => {
                moves.push(Move::Dispatch(index));
                moves.extend(self.releases.then_some(Move::Release(index)));
            }
            Worker::AboutToSend { since, .. } => {
                let is_late = world.rig.now.since(*since) > self.contract.settle();
                moves.extend((self.freezes || !is_late).then_some(Move::Send(index)));
            }
            Worker::Waits { .. } => moves.push(Move::GiveUp(index)),
            Worker::Dead { .. } => {
                moves.push(Move::ProveDead(index));
                return;
            }
            Worker::ProvedDead => return,
        }
        if self.dies && !matches!(worker, Worker::Idle) {
            moves.push(Move::Die(index));
        }
    }
}

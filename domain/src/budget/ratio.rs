//! A share of the first tries (N8, I18): within the window, retries ≤ max(minimum a second × window, per cent of first
//! tries).
//!
//! Sends are counted in slices of the window. A slice that lies only partly inside counts for retries and not for first
//! tries, so that the rule holds for the window ending at each retry exactly, whatever the slices are.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Exhausted, RatioNumbers, SendKind, Settled, Spent, Token};
use crate::time::Timestamp;

/// Into how many slices the window is cut.
const SLICES: i64 = 20;

/// The sends of one destination within the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratio {
    numbers: RatioNumbers,
    slices: Vec<Slice>,
}

/// What was sent within one slice of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Slice {
    from: Timestamp,
    until: Timestamp,
    first_tries: u32,
    retries: u32,
}

impl Ratio {
    /// Nothing sent yet.
    pub const fn unused(numbers: RatioNumbers) -> Self {
        Self { numbers, slices: Vec::new() }
    }

    /// The same sends under other numbers.
    #[must_use]
    pub fn renumbered(&self, numbers: RatioNumbers) -> Self {
        Self { numbers, slices: self.slices.clone() }
    }

    /// The numbers in force.
    pub const fn numbers(&self) -> &RatioNumbers {
        &self.numbers
    }

    /// Retries that count at `now`.
    pub fn retries(&self, now: Timestamp) -> u32 {
        let start = self.window_start(now);
        self.slices.iter().filter(|slice| slice.until > start).map(|slice| slice.retries).sum()
    }

    /// How many may count at `now`.
    pub fn allowed(&self, now: Timestamp) -> u32 {
        let start = self.window_start(now);
        let whole = self.slices.iter().filter(|slice| slice.from > start && slice.from <= now);
        let first_tries: u64 = whole.map(|slice| u64::from(slice.first_tries)).sum();
        let share = first_tries * u64::from(self.numbers.percent) / 100;
        let always = u64::from(self.numbers.min_per_s) * u64::from(self.numbers.window_s);
        u32::try_from(share.max(always)).unwrap_or(u32::MAX)
    }

    /// The first time from `now` on at which a retry can be paid, if nothing is sent until then.
    pub(super) fn pays_again_at(&self, now: Timestamp) -> Option<Timestamp> {
        let ends = self.slices.iter().map(|slice| slice.until.plus(self.window()));
        let mut times: Vec<Timestamp> = ends.chain([now]).filter(|at| *at >= now).collect();
        times.sort_unstable();
        times.into_iter().find(|at| self.retries(*at) < self.allowed(*at))
    }

    pub(super) fn spend(&mut self, kind: SendKind, now: Timestamp) -> Result<Token, Exhausted> {
        self.forget_before(now);
        match kind {
            SendKind::First => {
                let slice = self.slice_at(now);
                slice.first_tries = slice.first_tries.saturating_add(1);
            }
            SendKind::Retry | SendKind::RetryAfterThrottling => {
                let (retries, allowed) = (self.retries(now), self.allowed(now));
                if retries >= allowed {
                    let window_s = self.numbers.window_s;
                    return Err(Exhausted::Ratio { retries, allowed, window_s, free_at: self.free_at() });
                }
                let slice = self.slice_at(now);
                slice.retries = slice.retries.saturating_add(1);
            }
        }
        Ok(Token(Spent::Ratio { at: now, is_first: kind.is_first() }))
    }

    /// A retry that never left stops counting. A first try stays one whatever became of it, or else retries that its
    /// share already paid for would be too many afterwards.
    pub(super) fn take_back(&mut self, at: Timestamp, is_first: bool, settled: Settled) {
        match settled {
            Settled::NotSent if !is_first => {
                if let Some(slice) = self.slices.iter_mut().find(|slice| slice.from <= at && at < slice.until) {
                    slice.retries = slice.retries.saturating_sub(1);
                }
            }
            Settled::NotSent | Settled::Succeeded | Settled::Kept => {}
        }
    }

    fn window(&self) -> Duration {
        Duration::from_secs(self.numbers.window_s.into())
    }

    fn window_start(&self, now: Timestamp) -> Timestamp {
        let micros = i64::from(self.numbers.window_s) * 1_000_000;
        Timestamp::from_micros(now.as_micros().saturating_sub(micros))
    }

    /// Slices that no rule reads any more. A clock that was set back forgets nothing.
    fn forget_before(&mut self, now: Timestamp) {
        let start = self.window_start(now);
        self.slices.retain(|slice| slice.until > start);
    }

    fn free_at(&self) -> Option<Timestamp> {
        let counted = self.slices.iter().filter(|slice| slice.retries > 0);
        counted.map(|slice| slice.until.plus(self.window())).min()
    }

    fn slice_at(&mut self, now: Timestamp) -> &mut Slice {
        let found = self.slices.iter().position(|slice| slice.from <= now && now < slice.until);
        let index = found.unwrap_or_else(|| {
            let length = (i64::from(self.numbers.window_s) * 1_000_000 / SLICES).max(1);
            let from = now.as_micros().div_euclid(length).saturating_mul(length);
            let (from, until) = (Timestamp::from_micros(from), Timestamp::from_micros(from.saturating_add(length)));
            self.slices.push(Slice { from, until, first_tries: 0, retries: 0 });
            self.slices.len() - 1
        });
        &mut self.slices[index]
    }
}

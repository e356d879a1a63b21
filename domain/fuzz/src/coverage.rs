//! Which branches an execution took, counted by the compiler.
//!
//! Stable rustc runs LLVM's `sancov-module` pass when it is asked to (`-Cpasses`), and nothing else is needed: no nightly,
//! no sanitizer runtime, no dependency. The pass gives each branch an 8-bit counter, and before `main` hands over where
//! they lie. Without the flags (`cargo xtask fuzz` sets them) there are no counters and mutation is blind.
//! (`-Cinstrument-coverage` works on stable too, but its counters can only be read from a file at the end of a process.)

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static COUNTERS: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Called by the start-up code of the instrumented program, once: the linker joins the counters of all crates.
#[expect(unsafe_code, reason = "the name is fixed by LLVM")]
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, end: *mut u8) {
    LENGTH.store(end.addr().saturating_sub(start.addr()), Ordering::Relaxed);
    COUNTERS.store(start, Ordering::Relaxed);
}

/// How many counters are passed over at a time.
const STRIDE: usize = 64;

/// The counters, and what was seen of them so far.
pub struct Coverage {
    /// For each counter the hit counts that occurred, as buckets: 1, 2, 3, 4–7, 8–15, 16–31, 32–127, more.
    seen: Vec<u8>,
}

impl Coverage {
    /// Nothing seen.
    pub fn new() -> Self {
        Self { seen: vec![0; LENGTH.load(Ordering::Relaxed)] }
    }

    /// Whether the program counts its branches.
    pub fn is_there(&self) -> bool {
        !self.seen.is_empty()
    }

    /// How many branches were seen.
    pub fn branches(&self) -> usize {
        self.seen.iter().filter(|seen| **seen != 0).count()
    }

    /// Whether a branch was taken since the last call that was never seen before. Sets the counts back to zero.
    pub fn take_branches(&mut self) -> bool {
        let counters = counters(self.seen.len());
        let is_new = counters.iter().zip(&self.seen).any(|(count, seen)| *count != 0 && *seen == 0);
        counters.fill(0);
        is_new
    }

    /// Takes the counts since the last call, sets them back to zero, and says whether one of them was new.
    pub fn take(&mut self) -> bool {
        let mut is_new = false;
        let (chunks, rest) = counters(self.seen.len()).as_chunks_mut::<STRIDE>();
        for (index, chunk) in chunks.iter_mut().enumerate() {
            // Most branches are not taken: many are passed over at a time, which the compiler makes a few instructions.
            if chunk.iter().fold(0, |all, one| all | one) != 0 {
                is_new |= note(chunk, &mut self.seen[index * STRIDE..]);
            }
        }
        let at = self.seen.len() - rest.len();
        is_new | note(rest, &mut self.seen[at..])
    }
}

fn note(counters: &mut [u8], seen: &mut [u8]) -> bool {
    let mut is_new = false;
    for (counter, seen) in counters.iter_mut().zip(seen) {
        let bucket = match *counter {
            0 => continue,
            1 => 1,
            2 => 1 << 1,
            3 => 1 << 2,
            4..=7 => 1 << 3,
            8..=15 => 1 << 4,
            16..=31 => 1 << 5,
            32..=127 => 1 << 6,
            128.. => 1 << 7,
        };
        *counter = 0;
        is_new |= *seen & bucket == 0;
        *seen |= bucket;
    }
    is_new
}

#[expect(unsafe_code, reason = "the compiler's counters are reached by a pointer")]
fn counters(length: usize) -> &'static mut [u8] {
    let start = COUNTERS.load(Ordering::Relaxed);
    if start.is_null() || length == 0 {
        return &mut [];
    }
    // SAFETY: the start-up code gave start and end of one array that lives as long as the program. Instrumented code
    // writes to it only while it runs, on the one thread that executes targets, and that thread is here now.
    unsafe { std::slice::from_raw_parts_mut(start, length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_new_once_for_each_bucket() {
        let mut seen = [0; 2];
        assert!(note(&mut [1, 0], &mut seen));
        assert!(!note(&mut [1, 0], &mut seen));
        assert!(note(&mut [5, 0], &mut seen));
        assert!(!note(&mut [7, 0], &mut seen));
        assert!(note(&mut [1, 200], &mut seen));
    }

    #[test]
    fn taking_sets_the_counts_back() {
        let mut counts = [3, 4];
        note(&mut counts, &mut [0; 2]);
        assert_eq!(counts, [0, 0]);
    }
}

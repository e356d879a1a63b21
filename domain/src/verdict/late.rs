//! Results that come when the lease has moved on (E18): they are told of the attempt that they belong to,
//! and prove by their content what they would have proved in time.

use crate::attempt::End;
use crate::verdict::{Grounds, Judgement, judge, rows};

/// How a result is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The lease epoch whose attempt it tells of: always the one under which it was sent.
    pub epoch: u64,
    /// What it proves, by its content.
    pub judgement: Judgement,
    /// Whether it came from the holder of the lease, so that it may end it. A late one ends nothing and
    /// is evidence.
    pub ends_lease: bool,
}

/// Judges a result that was sent under one epoch and arrives while another may hold the lease.
pub fn keep_result(end: &End, grounds: Grounds<'_>, sent_under: u64, lease: u64) -> Kept {
    let judgement = judge(end, grounds);
    let ends_lease = sent_under == lease;
    let judgement = if ends_lease {
        judgement
    } else {
        Judgement { text: format!("{} ({})", judgement.text, rows::E18.reason).into(), ..judgement }
    };
    Kept { epoch: sent_under, judgement, ends_lease }
}

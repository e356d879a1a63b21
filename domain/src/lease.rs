//! Claims and leases of guarded operations: the right to send, its end, and the epoch that fences out older holders
//! (semantics 1.8, 4.6). What is here says who may send; `attempt` says what was sent.

use serde::{Deserialize, Serialize};

use crate::operation::{Fact, Record, State};
use crate::time::Timestamp;

/// The account, region, endpoint and credential in which a destination key is unique (semantics 3.4.5).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Scope {
    /// The account at the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Its region or zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The endpoint, where keys are unique per endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Which credential, by a name or digest; never the credential itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
}

/// A claim that was taken (T8, T17).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Rises with every claim of this operation (I10).
    pub epoch: u64,
    /// Who holds it.
    pub worker: String,
    /// Which process that is: a restart is another one. K6 asks for its end.
    pub incarnation: String,
    /// When.
    pub at: Timestamp,
    /// Until when, unless renewed; exclusive.
    pub until: Timestamp,
    /// Where the operation was, and returns to if nothing is sent (T9).
    pub from: State,
}

/// The lease in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease<'a> {
    /// The claim that made it.
    pub claim: &'a Claim,
    /// Its end after renewals; exclusive.
    pub until: Timestamp,
}

impl Record {
    /// The claims among its facts.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.facts.acts().filter_map(|fact| match fact {
            Fact::Claimed(claim) => Some(claim),
            _ => None,
        })
    }

    /// The epoch of its newest claim; 0 when there was none. Restoring raises it (4.8).
    pub fn epoch(&self) -> u64 {
        let raised = self.facts.acts().filter_map(|fact| match fact {
            Fact::Restored { epoch, .. } => Some(*epoch),
            _ => None,
        });
        self.claims().map(|claim| claim.epoch).chain(raised).max().unwrap_or(0)
    }

    /// The lease of the newest claim, whether or not it still runs; none if it was released, reported its result, or
    /// died with a restore.
    pub fn newest_lease(&self) -> Option<Lease<'_>> {
        let epoch = self.epoch();
        let claim = self.claims().find(|claim| claim.epoch == epoch)?;
        if self.facts.reports().any(|report| report.ends_guarded(epoch)) {
            return None;
        }
        let released = |fact: &Fact| matches!(fact, Fact::Released { epoch: of, .. } if *of == epoch);
        if self.facts.acts().any(released) {
            return None;
        }
        Some(Lease { claim, until: self.lease_end(claim) })
    }

    /// When the lease of a claim ends, or ended, with its renewals.
    pub fn lease_end(&self, claim: &Claim) -> Timestamp {
        let renewed = self.facts.acts().filter_map(|fact| match fact {
            Fact::LeaseRenewed { epoch, until, .. } if *epoch == claim.epoch => Some(*until),
            _ => None,
        });
        renewed.chain([claim.until]).max().unwrap_or(claim.until)
    }

    /// The lease in force at `now`.
    pub fn live_lease(&self, now: Timestamp) -> Option<Lease<'_>> {
        self.newest_lease().filter(|lease| now < lease.until)
    }

    /// Whether this process is proved to have ended, by something outside it (K6).
    pub fn is_gone(&self, incarnation: &str) -> bool {
        self.facts.acts().any(|fact| matches!(fact, Fact::SenderGone { incarnation: gone, .. } if gone == incarnation))
    }

    /// Whether that was proved at this time or later: what is meant by one name may be other processes each time.
    pub fn is_gone_since(&self, incarnation: &str, since: Timestamp) -> bool {
        let is_meant = |fact: &Fact| match fact {
            Fact::SenderGone { incarnation: gone, at, .. } => gone == incarnation && *at >= since,
            _ => false,
        };
        self.facts.acts().any(is_meant)
    }
}

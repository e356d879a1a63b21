//! The strictest of several versions of a contract (semantics 3.7.6, T35): what may be relied on of a key or a
//! look-up when the contract was corrected after something had been sent.
//!
//! Field by field the unsafe side of both values, so that order and repetition do not matter and the result is
//! never safer than any version. A field that no rule here names is kept where both agree, else unknown.

use std::time::Duration;

use crate::contract::{
    ByField, CancelByKey, Compensation, Consistency, Contract, DEFAULTS, LayerRetries, LookUp, LookUpBy, OnInFlight,
    OnMismatch, RetentionRule, RetentionStarts, ScopePart, Signal, Stores,
};

impl Contract {
    /// The strictest of these versions; of none, a contract of which nothing is known.
    #[must_use]
    pub fn strictest<'a>(versions: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut versions = versions.into_iter();
        let Some(first) = versions.next() else { return Self::default() };
        versions.fold(first.clone(), |strictest, next| stricter(&strictest, next))
    }
}

fn stricter(a: &Contract, b: &Contract) -> Contract {
    if a == b {
        return a.clone();
    }
    // A key that moved, or is written otherwise, is another key to the destination: it protects nothing.
    let moved = differ(a.key_location.as_ref(), b.key_location.as_ref()) || differ(a.key_quoting, b.key_quoting);
    let weaker_default = if default_order(b) < default_order(a) { b } else { a };
    let strict = Contract {
        key_location: least_told(a.key_location.clone(), b.key_location.clone()),
        key_quoting: least_told(a.key_quoting, b.key_quoting),
        key_max_len: least_told(a.key_max_len, b.key_max_len),
        key_charset: a.key_charset.max(b.key_charset),
        key_retention_s: if moved { None } else { both(a.key_retention_s, b.key_retention_s, Ord::min) },
        retention_starts: by_rank(a.retention_starts, b.retention_starts, |starts| match starts {
            RetentionStarts::FirstSeen => 1,
            RetentionStarts::FirstCompleted => 2,
        }),
        retention_rule: shorter_lived(a.retention_rule, b.retention_rule),
        scope: both(a.scope.clone(), b.scope.clone(), union::<ScopePart>),
        on_mismatch: by_rank(a.on_mismatch, b.on_mismatch, |what| match what {
            OnMismatch::Executes => 1,
            OnMismatch::ReplayOld => 2,
            OnMismatch::Error => 3,
        }),
        on_in_flight: by_rank(a.on_in_flight, b.on_in_flight, |what| match what {
            OnInFlight::Codes => 1,
            OnInFlight::Blocks => 2,
        }),
        stores: by_rank(a.stores, b.stores, |stores| match stores {
            Stores::SuccessesOnly => 1,
            Stores::ResumeToCompletion => 2,
            Stores::AnyOnceStarted => 3,
        }),
        negative_signals: in_common(a.negative_signals.as_ref(), b.negative_signals.as_ref()),
        in_flight_signals: in_common(a.in_flight_signals.as_ref(), b.in_flight_signals.as_ref()),
        conflict_signals: in_common(a.conflict_signals.as_ref(), b.conflict_signals.as_ref()),
        precondition_signals: in_common(a.precondition_signals.as_ref(), b.precondition_signals.as_ref()),
        decline_signals: in_common(a.decline_signals.as_ref(), b.decline_signals.as_ref()),
        throttle_signals: in_common(a.throttle_signals.as_ref(), b.throttle_signals.as_ref()),
        gone_signals: in_common(a.gone_signals.as_ref(), b.gone_signals.as_ref()),
        // A mismatch is never retried and never re-keyed, so it is the unsafe reading of an answer.
        mismatch_signals: in_either(a.mismatch_signals.as_ref(), b.mismatch_signals.as_ref()),
        lookup: both(a.lookup, b.lookup, weaker_look_up).map(|lookup| LookUp {
            // Where D was undeclared absence proved nothing; a number from another version must not mend that.
            complete: lookup.complete && a.max_arrival_delay_s.is_some() == b.max_arrival_delay_s.is_some(),
            ..lookup
        }),
        lookup_sees_after_s: both(a.lookup_sees_after_s, b.lookup_sees_after_s, Ord::max),
        cancel_by_key: both(a.cancel_by_key, b.cancel_by_key, |x, y| CancelByKey {
            noop_on_absent: x.noop_on_absent && y.noop_on_absent,
            commutative: x.commutative && y.commutative,
        }),
        compensation: weaker_undo(a, b),
        max_arrival_delay_s: longest(a.max_arrival_delay_s, b.max_arrival_delay_s, DEFAULTS.arrival_delay),
        client_deadline_s: longest(a.client_deadline_s, b.client_deadline_s, DEFAULTS.client_deadline),
        key_age_margin_s: longest(a.key_age_margin_s, b.key_age_margin_s, DEFAULTS.key_age_margin),
        watch_s: longest(a.watch_s, b.watch_s, DEFAULTS.watch),
        settle_s: a.settle_s.max(b.settle_s),
        lookup_count: declared_or(a.lookup_count, b.lookup_count, DEFAULTS.look_ups, Ord::max),
        lookup_span_s: longest(a.lookup_span_s, b.lookup_span_s, DEFAULTS.look_ups_over),
        lease_s: shortest(a.lease_s, b.lease_s, DEFAULTS.lease),
        approval_life_s: shortest(a.approval_life_s, b.approval_life_s, DEFAULTS.approval_life),
        operation_deadline_s: shortest(a.operation_deadline_s, b.operation_deadline_s, DEFAULTS.operation_deadline),
        retry_after_cap_s: shortest(a.retry_after_cap_s, b.retry_after_cap_s, DEFAULTS.retry_after_cap),
        attempts_per_episode: declared_or(
            a.attempts_per_episode,
            b.attempts_per_episode,
            DEFAULTS.attempts_per_episode,
            Ord::min,
        ),
        attempts_cap: declared_or(a.attempts_cap, b.attempts_cap, DEFAULTS.attempts_cap, Ord::min),
        intermediaries: both(a.intermediaries, b.intermediaries, |x, y| x || y),
        layer_retries: by_rank(a.layer_retries, b.layer_retries, |retries| match retries {
            LayerRetries::On => 1,
            LayerRetries::Off => 2,
        }),
        removes: either(a.removes, b.removes),
        partial_success: either(a.partial_success, b.partial_success),
        sole_writer: both(a.sole_writer, b.sole_writer, |x, y| x && y),
        status_suffices: both(a.status_suffices, b.status_suffices, |x, y| x && y),
        volatile_fields: both(a.volatile_fields.as_deref(), b.volatile_fields.as_deref(), intersection),
        // Undeclared means all fields; fewer fields make more operations look alike.
        intent_fields: match (a.intent_fields.as_deref(), b.intent_fields.as_deref()) {
            (Some(x), Some(y)) => Some(intersection(x, y)),
            (told, None) | (None, told) => told.map(|fields| union(fields.to_vec(), Vec::new())),
        },
        secret_fields: Some(union(
            a.secret_fields.clone().unwrap_or_default(),
            b.secret_fields.clone().unwrap_or_default(),
        ))
        .filter(|fields| !fields.is_empty()),
        verification: weaker_default.verification,
        source_url: weaker_default.source_url.clone(),
        checked_at: weaker_default.checked_at.clone(),
        provenance: None,
        ..a.agreed(b)
    };
    let entries = Contract::promises().map(|field| (field, a.provenance_of(field).weaker(b.provenance_of(field))));
    let provenance = ByField::apart_from(&strict.default_provenance(), entries);
    Contract { provenance, ..strict }
}

fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a != b)
}

/// Known only where both are.
fn both<T, U>(a: Option<T>, b: Option<T>, combine: impl Fn(T, T) -> U) -> Option<U> {
    a.zip(b).map(|(a, b)| combine(a, b))
}

/// The lower in rank; unknown is lowest.
fn by_rank<T: Copy>(a: Option<T>, b: Option<T>, rank: impl Fn(T) -> u8) -> Option<T> {
    both(a, b, |a, b| if rank(b) < rank(a) { b } else { a })
}

/// Where one says yes; no only where both do.
const fn either(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, _) | (_, None) => None,
        (Some(false), Some(false)) => Some(false),
    }
}

/// The least of what is told: a restriction that one version knows holds.
fn least_told<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (told, None) | (None, told) => told,
    }
}

/// Of numbers that have a default where they are silent.
fn declared_or<T: Copy>(a: Option<T>, b: Option<T>, default: T, choose: impl Fn(T, T) -> T) -> Option<T> {
    if a.is_none() && b.is_none() { None } else { Some(choose(a.unwrap_or(default), b.unwrap_or(default))) }
}

fn longest(a: Option<u64>, b: Option<u64>, default: Duration) -> Option<u64> {
    declared_or(a, b, default.as_secs(), Ord::max)
}

fn shortest(a: Option<u64>, b: Option<u64>, default: Duration) -> Option<u64> {
    declared_or(a, b, default.as_secs(), Ord::min)
}

fn union<T: Ord>(mut a: Vec<T>, b: Vec<T>) -> Vec<T> {
    a.extend(b);
    a.sort_unstable();
    a.dedup();
    a
}

fn intersection(a: &[String], b: &[String]) -> Vec<String> {
    let shared = a.iter().filter(|item| b.contains(item)).cloned().collect();
    union(shared, Vec::new())
}

/// Signals have no order of their own; that of their text makes equal sets equal lists.
fn in_order(mut signals: Vec<Signal>) -> Option<Vec<Signal>> {
    signals.sort_by_cached_key(|signal| format!("{signal:?}"));
    signals.dedup();
    (!signals.is_empty()).then_some(signals)
}

fn in_common(a: Option<&Vec<Signal>>, b: Option<&Vec<Signal>>) -> Option<Vec<Signal>> {
    in_order(a?.iter().filter(|signal| b.is_some_and(|b| b.contains(signal))).cloned().collect())
}

fn in_either(a: Option<&Vec<Signal>>, b: Option<&Vec<Signal>>) -> Option<Vec<Signal>> {
    in_order(a.into_iter().chain(b).flatten().cloned().collect())
}

/// A key that may end with its object is the shorter-lived; unknown stands between.
fn shorter_lived(a: Option<RetentionRule>, b: Option<RetentionRule>) -> Option<RetentionRule> {
    use RetentionRule::{Constant, MinWithResourceLifetime};
    match (a, b) {
        (Some(MinWithResourceLifetime { after_end_s: x }), Some(MinWithResourceLifetime { after_end_s: y })) => {
            Some(MinWithResourceLifetime { after_end_s: x.min(y) })
        }
        (rule @ Some(MinWithResourceLifetime { .. }), _) | (_, rule @ Some(MinWithResourceLifetime { .. })) => rule,
        (Some(Constant), Some(Constant)) => Some(Constant),
        (None, _) | (_, None) => None,
    }
}

fn weaker_look_up(a: LookUp, b: LookUp) -> LookUp {
    let by = |lookup: LookUp| match lookup.by {
        LookUpBy::NaturalKey => 1,
        LookUpBy::Receipt => 2,
        LookUpBy::Metadata => 3,
        LookUpBy::Key => 4,
    };
    LookUp {
        by: if by(b) < by(a) { b.by } else { a.by },
        consistency: by_rank(a.consistency, b.consistency, |how| match how {
            Consistency::Eventual => 1,
            Consistency::Strong => 2,
        }),
        complete: a.complete && b.complete,
    }
}

/// An undo that both know; it holds for the shorter window. Another tool in one version: none is known.
fn weaker_undo(a: &Contract, b: &Contract) -> Option<Compensation> {
    let (x, y) = a.compensation.as_ref().zip(b.compensation.as_ref())?;
    (x.tool == y.tool).then(|| Compensation {
        tool: x.tool.clone(),
        window_s: least_told(x.window_s, y.window_s),
        partial: both(x.partial, y.partial, |p, q| p && q),
        commutative: both(x.commutative, y.commutative, |p, q| p && q),
    })
}

/// Orders contracts by how much their default provenance suffices for.
fn default_order(contract: &Contract) -> impl Ord + use<> {
    (contract.default_provenance().order(), contract.verification)
}

#[cfg(test)]
mod tests;

//! `key_protects`: whether a repeat under the same destination key is safe (semantics 3.7).

use std::time::Duration;

use crate::contract::{Contract, OnInFlight, OnMismatch, Stores};
use crate::evidence::Trust;
use crate::fingerprint::Hash;
use crate::lease::Scope;
use crate::name::DestinationKey;
use crate::outcome::JudgedAttempt;
use crate::policy::{Policy, SafetyRule};
use crate::time::{Timestamp, span_in_words};
use crate::tool::Class;

/// What is judged about the destination's key (semantics 3.7).
#[derive(Debug, Clone, Copy)]
pub struct KeyUse<'a> {
    /// The promises in force: the strictest of all since the first send.
    pub contract: &'a Contract,
    /// The side-effect class in force.
    pub class: Class,
    /// Whether somebody stated that the original sender sends no more (needed for observed sends).
    pub sender_stopped: bool,
    /// The key a repeat would carry; none where it is only asked whether the sends cover each other.
    pub key: Option<&'a DestinationKey>,
    /// Hash of the bytes a repeat would send, where they are known.
    pub wire_hash: Option<Hash>,
    /// Where a repeat would go, where that is known.
    pub scope: Option<&'a Scope>,
    /// Which rules are in force.
    pub policy: Policy,
}

/// That a repeat is protected, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// The last moment at which the key is certain to be known; none when nothing is open.
    pub until: Option<Timestamp>,
}

/// `key_protects` (semantics 3.7): whether a repeat under the same key is safe although `open` attempts
/// may still have happened. The error names the first condition that fails, in words.
pub fn key_protects(of: KeyUse<'_>, open: &[&JudgedAttempt], now: Timestamp) -> Result<Protection, String> {
    let Some(first) = open.first() else { return Ok(Protection { until: None }) };
    if !of.policy.keeps(SafetyRule::ReconcileBeforeRetry) {
        return Ok(Protection { until: None });
    }
    promises_cover(of)?;
    same_request(of, first, open)?;
    let until = key_age(of, open, now)?;
    if !of.sender_stopped {
        return no("nobody has stated that the original sender sends no more");
    }
    // 3.7.7
    let unverified = of.contract.unverified_for(of.class);
    if !unverified.is_empty() {
        let fields = unverified.join(", ");
        return no(&format!(
            "the contract is not verified well enough for this class, nor accepted as it stands: {fields}"
        ));
    }
    Ok(Protection { until })
}

/// 3.7.1–3.7.3: what the destination keeps, and what it does with a repeat.
fn promises_cover(of: KeyUse<'_>) -> Result<(), String> {
    match of.contract.stores {
        Some(Stores::AnyOnceStarted | Stores::ResumeToCompletion) => {}
        Some(Stores::SuccessesOnly) if !of.policy.keeps(SafetyRule::TwoXxOnlyProtectsNothing) => {}
        Some(Stores::SuccessesOnly) => return no("the key keeps successes only; a failed first try would run again"),
        None => return no("it is unknown which answers the key keeps"),
    }
    match of.contract.on_in_flight {
        Some(OnInFlight::Blocks) => {}
        Some(OnInFlight::Codes) if of.contract.in_flight_signals.as_ref().is_some_and(|codes| !codes.is_empty()) => {}
        Some(OnInFlight::Codes) => return no("no code is declared for a repeat while the first is running"),
        None => return no("it is unknown what a repeat does while the first is running"),
    }
    if of.contract.on_mismatch != Some(OnMismatch::Error) {
        return no("a repeat with other parameters is not known to be refused");
    }
    Ok(())
}

/// 3.7.4 and 3.7.5: the same key, the same bytes, the same scope.
fn same_request(of: KeyUse<'_>, first: &JudgedAttempt, open: &[&JudgedAttempt]) -> Result<(), String> {
    let Some(key) = of.key.or(first.dest_key.as_ref()) else { return no("no key was sent") };
    if open.iter().any(|attempt| attempt.dest_key.is_none()) {
        return no("no key was sent");
    }
    if open.iter().any(|attempt| attempt.dest_key.as_ref() != Some(key)) {
        return no("the open attempts went out under different keys");
    }
    let sent = || open.iter().filter_map(|attempt| attempt.sent.as_ref());
    // Adopted and restored sends, whose bytes are unknown, are covered by the key and 3.7.3.
    let wire_hash = of.wire_hash.or_else(|| sent().find_map(|sent| sent.wire_hash));
    if sent().any(|sent| sent.wire_hash.is_some() && sent.wire_hash != wire_hash) {
        return no("the open attempts went out with other bytes");
    }
    let scope = of.scope.or_else(|| sent().find_map(|sent| sent.scope.as_ref()));
    if of.policy.keeps(SafetyRule::ScopeInKey)
        && sent().any(|sent| sent.scope.is_some() && sent.scope.as_ref() != scope)
    {
        return no(
            "the destination’s account, region, endpoint or credential is another than that of the open attempts",
        );
    }
    Ok(())
}

/// 3.7.6: the age of the key against the strictest retention.
fn key_age(of: KeyUse<'_>, open: &[&JudgedAttempt], now: Timestamp) -> Result<Option<Timestamp>, String> {
    if open.iter().any(|attempt| attempt.sent.is_none() && !attempt.is_restored && attempt.trust < Trust::Declared) {
        return no("nobody vouches for the source that tells when the first send was");
    }
    let Some(window) = window(of) else {
        return no("the key's retention is unknown, so it protects nothing");
    };
    if window.is_zero() && of.policy.keeps(SafetyRule::KeyFreshness) {
        return no("the key is kept for too short a time to be sure of it");
    }
    let first_sent = open.iter().map(|attempt| attempt.key_from).min().unwrap_or(now);
    let until = first_sent.plus(window);
    if now > until && of.policy.keeps(SafetyRule::KeyFreshness) {
        return no(&format!(
            "the key is too old: sent {} ago, certain for {}",
            span_in_words(now.since(first_sent)),
            span_in_words(window)
        ));
    }
    Ok(Some(until).filter(|_| of.policy.keeps(SafetyRule::KeyFreshness)))
}

fn window(of: KeyUse<'_>) -> Option<Duration> {
    if of.policy.keeps(SafetyRule::KeyMargin) {
        of.contract.key_window()
    } else {
        of.contract.key_retention_s.map(Duration::from_secs)
    }
}

fn no<T>(reason: &str) -> Result<T, String> {
    Err(reason.into())
}

//! `key_protects`: whether a repeat under the same destination key is safe (semantics 3.7).

use crate::contract::{Contract, OnMismatch, Stores};
use crate::outcome::JudgedAttempt;
use crate::time::{Timestamp, span_in_words};
use crate::tool::Class;

/// What is judged about the destination's key (semantics 3.7).
#[derive(Debug, Clone, Copy)]
pub struct KeyUse<'a> {
    /// The promises in force.
    pub contract: &'a Contract,
    /// The side-effect class in force.
    pub class: Class,
    /// Whether somebody stated that the original sender sends no more (needed for observed sends).
    pub sender_stopped: bool,
}

/// `key_protects` (semantics 3.7): whether a repeat under the same key is safe although `open` attempts
/// may still have happened. The error names the first condition that fails, in words.
pub fn key_protects(of: KeyUse<'_>, open: &[&JudgedAttempt], now: Timestamp) -> Result<(), String> {
    let contract = of.contract;
    let Some(first) = open.first() else { return Ok(()) };
    // 1
    match contract.stores {
        Some(Stores::AnyOnceStarted | Stores::ResumeToCompletion) => {}
        Some(Stores::SuccessesOnly) => return no("the key keeps successes only; a failed first try would run again"),
        None => return no("it is unknown which answers the key keeps"),
    }
    // 2
    if contract.on_in_flight.is_none() {
        return no("it is unknown what a repeat does while the first is running");
    }
    // 3
    if contract.on_mismatch != Some(OnMismatch::Error) {
        return no("a repeat with other parameters is not known to be refused");
    }
    // 4
    let Some(key) = &first.dest_key else { return no("no key was sent") };
    if open.iter().any(|attempt| attempt.dest_key.as_ref() != Some(key)) {
        return no("the open attempts went out under different keys");
    }
    // 6
    let Some(window) = contract.key_window() else {
        return no("the key's retention is unknown, so it protects nothing");
    };
    let first_sent = open.iter().map(|attempt| attempt.dispatched_at).min().unwrap_or(now);
    if now.since(first_sent) > window {
        return no(&format!(
            "the key is too old: sent {} ago, certain for {}",
            span_in_words(now.since(first_sent)),
            span_in_words(window)
        ));
    }
    if !of.sender_stopped {
        return no("nobody has stated that the original sender sends no more");
    }
    // 7
    if contract.verification.is_none_or(|known| known < of.class.needs_verification()) {
        return no("the contract is not verified well enough for this class");
    }
    Ok(())
}

fn no(reason: &str) -> Result<(), String> {
    Err(reason.into())
}

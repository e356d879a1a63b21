//! The rules of Tallystick: what is known about an operation, and what may be done now.
//!
//! Pure: no IO, no async, no clock (`now` is an argument). Compiles to native code and to WebAssembly.
//!
//! # Glossary
//!
//! | word | meaning |
//! |---|---|
//! | **operation** | one logical action on somebody else's system, with a stable *operation key* |
//! | **intent** | the root of a chain of operations that mean the same thing (supersedes, retries, adopts); effects are counted per intent |
//! | **guarded / observed** | we authorise and send it / somebody else did, and we only read about it |
//! | **attempt** | one transport send of an operation, counted apart from its outcome |
//! | **report** | one line that says something about an attempt: it was claimed, it started, it ended |
//! | **verdict** | what one attempt's answer proves (`unknown` is a verdict, not an error) |
//! | **phase** | the point at which a send failed, from making the request to the head of the answer |
//! | **circumstance** | what else was in play beside a send and voids what it would prove: a hidden retry, hedging, a failover |
//! | **closer** | the rule (K1–K7) that makes an attempt no longer *open* |
//! | **evidence** | a fact about the outcome from elsewhere: a delivery, a look-up, a statement; strength hint, P0..P3 |
//! | **webhook** | a place to which a destination delivers, with the secrets that prove who sent it |
//! | **delivery** | what a destination tells by itself, known by an id that is the same however often it comes; *unmatched* while it names no operation on record |
//! | **receipt** | the destination's own name for the object an attempt made |
//! | **effect** | a distinct receipt at the destination; an **alias** is another name of the same one, where the contract declares it |
//! | **outcome, fold** | what all attempts and evidence together say; never depends on the order of arrival |
//! | **uncertain** | a state: an attempt is open. Neither success nor failure, nor an error |
//! | **contract** | what a tool's destination promises about keys, look-ups and receipts |
//! | **provenance** | where one promise of a contract is known from, and how well: claimed, tested on a stand-in, tested live, or *accepted* as it stands |
//! | **signal** | an answer whose meaning the contract declares |
//! | **tool** | a named kind of action with a side-effect class and a contract |
//! | **destination** | the system that a tool acts on, named in configuration |
//! | **destination key** | the idempotency key that was sent to the destination |
//! | **key window** | how long the destination key still protects a repeat |
//! | **source, trust** | where facts come from, and how far they are believed |
//! | **stream** | one source's lines, told one after the other to the rules without a store |
//! | **action** | an operator's act, with its own key |
//! | **bulk action** | one action on many operations: a *preview* freezes the list (its *items*), starting confirms that list, never a filter |
//! | **decision, ruling** | the verdict on each action, and why |
//! | **budget** | how many retries a destination bears: a *bucket* of tokens, or a *ratio* to first tries |
//! | **shortage** | a time in which a destination's budget paid for no retry |
//! | **token** | what one send costs the destination's budget; it comes back at most once |
//! | **second person** | dual control: an act that two different people must make |
//! | **finding** | something an auditor should see, beside the state |
//! | **layer** | something that may send again by itself: transport, adapter, workflow, agent, or a product by its name |
//! | **retry class** | a kind of failure that is retried; each tool has exactly one layer that owns it |
//! | **hidden retry** | a send that the layer below made and did not report |
//! | **claim, lease, epoch** | the right to send, its end, and the number that fences out older holders |
//! | **compensation** | an operation of its own that undoes another |
//! | **pivot** | the step of a workflow after which nothing is undone |
//! | **workflow, step** | several operations that belong together, and one of them |
//! | **unwinding** | going back through a workflow: undoing each step after all that builds on it |
//! | **hold** | why a step is not undone now |
//! | **sum** | figures of many operations added up, by tool, destination, state, layer and mark, and by quarter of an hour; an operation counts where its first attempt was made |
//! | **likeness** | why two values that differ look alike or mean the same: composition, spelling, instant |
//! | **repeat** | what came again and was answered from the record: a proposal, a delivery |

pub mod action;
pub mod approval;
pub mod attempt;
pub mod backoff;
pub mod budget;
pub mod bulk;
#[cfg(test)]
pub(crate) mod cases;
pub mod contract;
pub mod counting;
#[cfg(test)]
mod coverage;
pub mod decision;
pub mod delivery;
pub mod difference;
pub mod evidence;
pub mod facts;
pub mod fingerprint;
pub mod guard;
pub mod intake;
pub mod json;
pub mod layers;
pub mod lease;
pub mod look_up;
#[cfg(test)]
mod model;
pub mod name;
pub mod operation;
pub mod outcome;
pub mod permission;
pub mod policy;
#[cfg(test)]
pub(crate) mod proof;
pub mod query;
pub mod refusal;
pub mod request;
#[cfg(test)]
pub(crate) mod rig;
pub mod stream;
pub mod sums;
pub mod time;
pub mod tool;
pub mod transition;
pub mod verdict;
pub mod view;
pub mod workflow;

/// The edition of the rules that judged a journal entry. It goes into every entry; `verify` replays
/// entries and never judges them again.
pub const RULES_VERSION: u32 = 3;

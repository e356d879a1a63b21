//! Server functions: get who asks, call the use case, say the answer in `domain::view`'s types.
//!
//! Every one has a fixed address under `/ui`, checks its caller itself, and answers in a typed error.

pub mod action;
pub mod approvals;
pub mod budgets;
pub mod bulk;
pub mod deliveries;
pub mod error;
pub mod fragment;
pub mod layers;
pub mod operation;
pub mod outcomes;
pub mod views;
pub mod workflows;
pub mod workspace;

#[cfg(feature = "ssr")]
pub mod ssr;

pub use error::ApiError;

/// Name and value pairs of a page's address.
pub type Pairs = Vec<(String, String)>;

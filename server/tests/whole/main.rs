//! The whole router over a real record: what callers of each kind see, for good input and for bad.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that meets what it does not expect must fail")]

mod api;
mod arguments;
mod bad_input;
mod budgets;
mod bulk;
mod canaries;
mod cases;
mod cases_live;
mod cases_live_more;
mod chaos;
mod cluster;
mod cuts;
mod executing;
mod exporting;
mod killing;
mod live;
mod localstripe;
mod moto;
mod operations;
mod oracle;
mod outside;
mod process;
mod rates;
mod roles;
mod scene;
mod security;
mod sign_in;
mod support;
mod tools;
mod webhooks;
mod workflows;

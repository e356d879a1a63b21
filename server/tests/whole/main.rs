//! The whole router over a real record: what callers of each kind see, for good input and for bad.

mod bad_input;
mod cases;
mod live;
mod operations;
mod oracle;
mod process;
mod roles;
mod security;
mod sign_in;
mod support;

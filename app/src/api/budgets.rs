//! Reading what destinations bear; pausing and resuming them; going on after a restore.

#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use super::fragment::Fragment;
use super::{ApiError, Pairs};

/// Destinations with their budgets, retries, limits, and the processes that took work.
#[server(prefix = "/ui", endpoint = "get_budgets", input = Json)]
pub async fn get_budgets(pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.budgets(&pairs).await?;
    Ok(super::ssr::rendered("Budgets", "", || crate::pages::budgets::content(view, &pairs)))
}

/// Stops sending to a destination, or goes on. It says which, so pressing twice does it once.
#[server(prefix = "/ui", endpoint = "pause_destination")]
pub async fn pause_destination(name: String, is_paused: bool) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.pause_destination(name, is_paused).await
}

/// A person has read what a restored copy may lack.
#[server(prefix = "/ui", endpoint = "acknowledge_restore")]
pub async fn acknowledge_restore(declared_at: String) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.acknowledge_restore(&declared_at).await
}

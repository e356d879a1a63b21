//! Bulk actions: freezing what was chosen, reading one, starting and stopping it. Each write ends in a redirect.

#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use super::fragment::Fragment;
use super::{ApiError, Pairs};

/// One bulk action with a page of its list.
#[server(prefix = "/ui", endpoint = "get_bulk", input = Json)]
pub async fn get_bulk(id: String, pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.bulk(&id, &pairs).await?;
    let (title, sequence) = (view.title.clone(), view.sequence.clone());
    Ok(super::ssr::rendered(&title, &sequence, || crate::pages::bulk::content(view, &pairs)))
}

/// Freezes what was chosen on a list: these rows, or all that match its filter (`scope`). Nothing is done to them.
#[server(prefix = "/ui", endpoint = "preview_bulk")]
pub async fn preview_bulk(
    list: String,
    filter: String,
    scope: String,
    action: String,
    #[server(default)] to: String,
    #[server(default)] ids: Vec<String>,
) -> Result<(), ApiError> {
    let chosen = super::ssr::Chosen { list, filter, scope, action, to, ids };
    super::ssr::Reader::from_context().await?.preview_bulk(chosen).await
}

/// Starts what was previewed. The hash says which list was read.
#[server(prefix = "/ui", endpoint = "start_bulk")]
pub async fn start_bulk(id: String, hash: String, #[server(default)] reason: String) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.start_bulk(&id, &hash, &reason).await
}

/// Stops a bulk action: no further item begins.
#[server(prefix = "/ui", endpoint = "abort_bulk")]
pub async fn abort_bulk(id: String) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.abort_bulk(&id).await
}

//! Saving a list as a person likes to see it.

#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;

use super::ApiError;

/// Saves the list that this query shows, in place of the view with this name. Leads back to the list.
#[server(prefix = "/ui", endpoint = "save_view")]
pub async fn save_view(place: String, query: String, name: String) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.save_view(&place, query, name).await
}

/// Forgets a view. Leads back to the list.
#[server(prefix = "/ui", endpoint = "forget_view")]
pub async fn forget_view(place: String, query: String, name: String) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.forget_view(&place, &query, &name).await
}

//! Reading what destinations told by themselves.

#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use super::fragment::Fragment;
use super::{ApiError, Pairs};

/// A page of deliveries.
#[server(prefix = "/ui", endpoint = "get_deliveries", input = Json)]
pub async fn get_deliveries(pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.deliveries(&pairs).await?;
    Ok(super::ssr::rendered("Deliveries", "", || crate::pages::deliveries::content(view, &pairs)))
}

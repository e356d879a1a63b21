//! Reading which retry layer owns what.

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use super::ApiError;
use super::fragment::Fragment;

/// Every tool with the layers above it.
#[server(prefix = "/ui", endpoint = "get_layers", input = Json)]
pub async fn get_layers() -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.layers().await?;
    let sequence = view.sequence.clone();
    Ok(super::ssr::rendered("Layers", &sequence, || crate::pages::layers::content(view)))
}

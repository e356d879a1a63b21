//! Reading the queue, the operations, and one of them.

#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use super::fragment::Fragment;
use super::{ApiError, Pairs};

/// A page of the queue, with the decision of the chosen row.
#[server(prefix = "/ui", endpoint = "get_queue", input = Json)]
pub async fn get_queue(pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.queue(&pairs).await?;
    Ok(super::ssr::rendered("Queue", &view.sequence.clone(), || crate::pages::queue::content(view, &pairs)))
}

/// A page of all operations.
#[server(prefix = "/ui", endpoint = "get_operations", input = Json)]
pub async fn get_operations(pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.operations(&pairs).await?;
    Ok(super::ssr::rendered("Operations", &view.sequence.clone(), || crate::pages::operations::content(view, &pairs)))
}

/// One operation with everything known about it. The pair `timeline` is how many of its newest entries are passed over.
#[server(prefix = "/ui", endpoint = "get_operation", input = Json)]
pub async fn get_operation(id: String, pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.operation(&id, &pairs).await?;
    let (title, sequence) = (view.row.key.clone(), view.sequence.clone());
    Ok(super::ssr::rendered(&title, &sequence, || crate::pages::operation::content(view, &pairs)))
}

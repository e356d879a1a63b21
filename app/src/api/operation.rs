//! Reading the queue, the operations, and one of them.

#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use tallystick_domain::view::list::{OperationsView, QueueView};
use tallystick_domain::view::operation::OperationView;

use super::{ApiError, Pairs};

/// A page of the queue, with the decision of the chosen row.
#[server(prefix = "/ui", endpoint = "get_queue", input = Json)]
pub async fn get_queue(pairs: Pairs) -> Result<QueueView, ApiError> {
    super::ssr::Reader::from_context().await?.queue(&pairs).await
}

/// A page of all operations.
#[server(prefix = "/ui", endpoint = "get_operations", input = Json)]
pub async fn get_operations(pairs: Pairs) -> Result<OperationsView, ApiError> {
    super::ssr::Reader::from_context().await?.operations(&pairs).await
}

/// One operation with everything known about it.
#[server(prefix = "/ui", endpoint = "get_operation", input = Json)]
pub async fn get_operation(id: String) -> Result<OperationView, ApiError> {
    super::ssr::Reader::from_context().await?.operation(&id).await
}

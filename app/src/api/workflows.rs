//! Reading workflows, and saying who undoes one.

#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use super::fragment::Fragment;
use super::{ApiError, Pairs};

/// A page of workflows.
#[server(prefix = "/ui", endpoint = "get_workflows", input = Json)]
pub async fn get_workflows(pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.workflows(&pairs).await?;
    let sequence = view.sequence.clone();
    Ok(super::ssr::rendered("Workflows", &sequence, || crate::pages::workflows::content(view, &pairs)))
}

/// One workflow with its steps.
#[server(prefix = "/ui", endpoint = "get_workflow", input = Json)]
pub async fn get_workflow(name: String, pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.workflow(&name).await?;
    let sequence = view.sequence.clone();
    Ok(super::ssr::rendered("Workflow", &sequence, || crate::pages::workflow::content(&view, &pairs)))
}

/// Says who undoes a workflow and who owns it. It says which, so pressing twice does it once.
#[server(prefix = "/ui", endpoint = "declare_workflow")]
pub async fn declare_workflow(name: String, unwinds: String, owner: String) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.declare_workflow(&name, &unwinds, &owner).await
}

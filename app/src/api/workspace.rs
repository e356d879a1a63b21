//! Reading what frames the pages, tools and settings; setting the zone.

#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use tallystick_domain::view::workspace::FrameView;

use super::fragment::Fragment;
use super::{ApiError, Pairs};

/// What stands around every page.
#[server(prefix = "/ui", endpoint = "get_frame", input = Json)]
pub async fn get_frame() -> Result<FrameView, ApiError> {
    super::ssr::Reader::from_context().await?.frame().await
}

/// Every declared tool.
#[server(prefix = "/ui", endpoint = "get_tools", input = Json)]
pub async fn get_tools() -> Result<Fragment, ApiError> {
    let tools = super::ssr::Reader::from_context().await?.tools().await?;
    Ok(super::ssr::rendered("Tools", "", || crate::pages::tools::content(tools)))
}

/// One tool with everything that is declared about it.
#[server(prefix = "/ui", endpoint = "get_tool", input = Json)]
pub async fn get_tool(name: String) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.tool(&name).await?;
    let (title, sequence) = (view.tool.name.clone(), view.sequence.clone());
    Ok(super::ssr::rendered(&title, &sequence, || crate::pages::tool::content(view)))
}

/// The settings, people and the reader's permissions.
#[server(prefix = "/ui", endpoint = "get_settings", input = Json)]
pub async fn get_settings(pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.settings().await?;
    Ok(super::ssr::rendered("Settings", "", || crate::pages::settings::content(view, &pairs)))
}

/// Sets the workspace zone.
#[server(prefix = "/ui", endpoint = "set_zone")]
pub async fn set_zone(zone: String, seen_version: String) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.set_zone(&zone, &seen_version).await
}

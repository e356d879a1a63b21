//! Reading what frames the pages, tools and settings; setting the zone.

#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use tallystick_domain::view::operation::ToolView;
use tallystick_domain::view::workspace::{FrameView, SettingsView};

use super::ApiError;

/// What stands around every page.
#[server(prefix = "/ui", endpoint = "get_frame", input = Json)]
pub async fn get_frame() -> Result<FrameView, ApiError> {
    super::ssr::Reader::from_context().await?.frame().await
}

/// Every declared tool.
#[server(prefix = "/ui", endpoint = "get_tools", input = Json)]
pub async fn get_tools() -> Result<Vec<ToolView>, ApiError> {
    super::ssr::Reader::from_context().await?.tools().await
}

/// The settings, people and the reader's permissions.
#[server(prefix = "/ui", endpoint = "get_settings", input = Json)]
pub async fn get_settings() -> Result<SettingsView, ApiError> {
    super::ssr::Reader::from_context().await?.settings().await
}

/// Sets the workspace zone.
#[server(prefix = "/ui", endpoint = "set_zone")]
pub async fn set_zone(zone: String, seen_version: String) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.set_zone(&zone, &seen_version).await
}

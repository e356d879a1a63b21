//! Reading what waits for an authorization.

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use super::ApiError;
use super::fragment::Fragment;

/// What waits for an authorization, in groups.
#[server(prefix = "/ui", endpoint = "get_approvals", input = Json)]
pub async fn get_approvals() -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.approvals().await?;
    let sequence = view.sequence.clone();
    Ok(super::ssr::rendered("Approvals", &sequence, || crate::pages::approvals::content(view)))
}

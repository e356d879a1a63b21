//! Reading attempts and outcomes.

#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use super::fragment::Fragment;
use super::{ApiError, Pairs};

/// Attempts beside outcomes, in the window that the pairs name.
#[server(prefix = "/ui", endpoint = "get_outcomes", input = Json)]
pub async fn get_outcomes(pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.outcomes(&pairs).await?;
    let sequence = view.sequence.clone();
    Ok(super::ssr::rendered("Outcomes", &sequence, || crate::pages::outcomes::content(view)))
}

//! Reading the audit log, and acting. Acting always ends in a redirect, so that a form works alike with and without script.

#![expect(
    clippy::too_many_arguments,
    reason = "a plain form's fields are flat, and all forms of actions are sent to one function"
)]
#![expect(
    missing_docs,
    reason = "the macro makes a struct of each function's arguments; the functions say what they mean"
)]

use leptos::prelude::*;
use leptos::server_fn::codec::Json;

use super::fragment::Fragment;
use super::{ApiError, Pairs};

/// A page of the audit log.
#[server(prefix = "/ui", endpoint = "get_actions", input = Json)]
pub async fn get_actions(pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.actions(&pairs).await?;
    Ok(super::ssr::rendered("Actions", "", || crate::pages::actions::content(view, &pairs)))
}

/// One action's life. The pair `refused` is the key of a press on its page that was refused.
#[server(prefix = "/ui", endpoint = "get_action", input = Json)]
pub async fn get_action(key: String, pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.action(&key, &pairs).await?;
    let title = format!("{} · {}", view.line.label, view.line.operation_key);
    Ok(super::ssr::rendered(&title, "", || crate::pages::action::content(view, &pairs)))
}

/// The form of an action on an operation. The pair `refused` is the key of the press before, when that was refused.
#[server(prefix = "/ui", endpoint = "get_action_form", input = Json)]
pub async fn get_action_form(id: String, action: String, pairs: Pairs) -> Result<Fragment, ApiError> {
    let view = super::ssr::Reader::from_context().await?.form(&id, &action, &pairs).await?;
    let title = format!("{} · {}", view.label, view.operation_key);
    Ok(super::ssr::rendered(&title, "", || crate::pages::form::content(view, &pairs)))
}

/// Makes an action. Answers with a redirect to the action, or back to its form when it was refused.
#[server(prefix = "/ui", endpoint = "submit_action")]
pub async fn submit_action(
    operation_id: String,
    action: String,
    action_key: String,
    seen_version: String,
    #[server(default)] reason: String,
    #[server(default)] confirmation: String,
    #[server(default)] receipt: String,
    #[server(default)] reference: String,
    #[server(default)] statement: String,
    #[server(default)] pick: String,
    #[server(default)] to: String,
    #[server(default)] arguments: String,
    #[server(default)] attempts: String,
    #[server(default)] deadline: String,
    #[server(default)] code: String,
) -> Result<(), ApiError> {
    let fields = super::ssr::Fields { receipt, reference, statement, pick, to, arguments, attempts, deadline, code };
    let press = super::ssr::Press { operation_id, action, action_key, seen_version, reason, confirmation, fields };
    super::ssr::Reader::from_context().await?.submit(press).await
}

/// Completes a dual action as the second person.
#[server(prefix = "/ui", endpoint = "complete_action")]
pub async fn complete_action(
    awaited: String,
    action_key: String,
    seen_version: String,
    #[server(default)] confirmation: String,
) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.complete(&awaited, &action_key, &seen_version, confirmation).await
}

/// Declines a dual action as the second person, or takes it back as the first.
#[server(prefix = "/ui", endpoint = "decline_action")]
pub async fn decline_action(
    awaited: String,
    action_key: String,
    seen_version: String,
    #[server(default)] reason: String,
) -> Result<(), ApiError> {
    super::ssr::Reader::from_context().await?.decline(&awaited, &action_key, &seen_version, reason).await
}

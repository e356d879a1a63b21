//! The process: one binary that serves the console's pages, the API and the live feed over one record.
//!
//! Nothing here decides. A request becomes a call of one [`Ledger`] use case, and its answer becomes a document or a page.

pub mod auth;
pub mod cli;
pub mod config;
pub mod demo;
pub mod destination;
pub mod executor;
pub mod http;
pub mod intake;
pub mod state;
pub mod tasks;
pub mod telemetry;

use std::sync::Arc;

use axum::Router;
use leptos::prelude::LeptosOptions;
use tallystick_ledger::Ledger;
use tokio::sync::watch;

use crate::auth::limits::SignInLimits;
use crate::auth::password::{PasswordError, Passwords};
use crate::config::{Config, ConfigError};
use crate::destination::Destinations;
use crate::http::metrics::Metrics;
use crate::intake::webhooks::Webhooks;
use crate::state::AppState;

/// Why the router cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Passwords cannot be checked.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// A destination or a webhook cannot be used as it is configured.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// The whole router over a record, as the process serves it and as tests call it.
pub async fn build(config: &Config, ledger: Ledger) -> Result<Router, BuildError> {
    // Nobody ends this one: it is for callers that end by dropping the router.
    let (_, ending) = watch::channel(false);
    build_until(config, ledger, ending).await
}

/// The same, with live streams that end when `ending` turns true.
pub async fn build_until(config: &Config, ledger: Ledger, ending: watch::Receiver<bool>) -> Result<Router, BuildError> {
    // Making the dummy hash takes as long as a sign-in.
    let passwords = tokio::task::spawn_blocking(Passwords::new)
        .await
        .map_err(|error| PasswordError::Failed(error.to_string()))??;
    let state = AppState {
        ledger,
        faces: Arc::new(Destinations::from_config(&config.destinations)?.faces()),
        webhooks: Webhooks::from_config(&config.webhooks)?,
        config: Arc::new(config.clone()),
        passwords,
        sign_in_limits: Arc::new(SignInLimits::default()),
        metrics: Arc::new(Metrics::default()),
        ending,
        leptos: LeptosOptions::builder().output_name("tallystick").build(),
    };
    Ok(http::router(state))
}

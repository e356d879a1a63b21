//! What every handler may use. A cheap handle; clone it freely.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::FromRef;
use leptos::prelude::LeptosOptions;
use tallystick_domain::request::Face;
use tallystick_ledger::Ledger;
use tokio::sync::watch;

use crate::auth::limits::SignInLimits;
use crate::auth::password::Passwords;
use crate::config::Config;
use crate::http::metrics::Metrics;
use crate::intake::webhooks::Webhooks;

/// What every handler may use.
#[derive(Clone)]
pub struct AppState {
    /// The record.
    pub ledger: Ledger,
    /// What the process was told.
    pub config: Arc<Config>,
    /// How requests to each destination begin, for previews.
    pub faces: Arc<BTreeMap<String, Face>>,
    /// Places to which destinations deliver.
    pub webhooks: Webhooks,
    /// Checks passwords.
    pub passwords: Passwords,
    /// Failed sign-ins.
    pub sign_in_limits: Arc<SignInLimits>,
    /// Counts what this process did.
    pub metrics: Arc<Metrics>,
    /// Turns true when the process is ending; streams end then.
    pub ending: watch::Receiver<bool>,
    /// What the pages' router wants to know.
    pub leptos: LeptosOptions,
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.leptos.clone()
    }
}

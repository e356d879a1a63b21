//! The screens of the console: one page a place, components they share, and the server functions that fill them.
//!
//! Everything is rendered on the server and works with links and forms alone. In the browser the same pages
//! hydrate, and `live` keeps them current. Nothing here decides: pages show what the rules returned.

pub mod api;
pub mod components;
pub mod document;
pub mod keys;
pub mod live;
pub mod morph;
pub mod pages;
pub mod palette;

use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::components::{ParentRoute, Route, Router, Routes};
use leptos_router::{SsrMode, path};

use crate::components::frame::Frame;
use crate::components::icon::provide_icons;
use crate::pages::{
    action::ActionPage, actions::ActionsPage, approvals::ApprovalsPage, budgets::BudgetsPage, bulk::BulkPage,
    deliveries::DeliveriesPage, form::FormPage, layers::LayersPage, not_found::NotFound, operation::OperationPage,
    operations::OperationsPage, outcomes::OutcomesPage, queue::QueuePage, settings::SettingsPage, sign_in::SignInPage,
    tool::ToolPage, tools::ToolsPage, workflow::WorkflowPage, workflows::WorkflowsPage,
};

/// The console: its places and what frames them. Every place with data is rendered whole before it is sent.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    provide_icons();
    live::provide_live();
    view! {
        <Router>
            <Routes fallback=NotFound>
                <Route path=path!("/sign-in") view=SignInPage ssr=SsrMode::Async />
                <ParentRoute path=path!("") view=Frame ssr=SsrMode::Async>
                    <Route path=path!("/") view=QueuePage ssr=SsrMode::Async />
                    <Route path=path!("/operations") view=OperationsPage ssr=SsrMode::Async />
                    <Route path=path!("/operations/:id") view=OperationPage ssr=SsrMode::Async />
                    <Route path=path!("/operations/:id/:action") view=FormPage ssr=SsrMode::Async />
                    <Route path=path!("/actions") view=ActionsPage ssr=SsrMode::Async />
                    <Route path=path!("/actions/:key") view=ActionPage ssr=SsrMode::Async />
                    <Route path=path!("/approvals") view=ApprovalsPage ssr=SsrMode::Async />
                    <Route path=path!("/outcomes") view=OutcomesPage ssr=SsrMode::Async />
                    <Route path=path!("/layers") view=LayersPage ssr=SsrMode::Async />
                    <Route path=path!("/budgets") view=BudgetsPage ssr=SsrMode::Async />
                    <Route path=path!("/workflows") view=WorkflowsPage ssr=SsrMode::Async />
                    <Route path=path!("/workflows/:name") view=WorkflowPage ssr=SsrMode::Async />
                    <Route path=path!("/deliveries") view=DeliveriesPage ssr=SsrMode::Async />
                    <Route path=path!("/bulk/:id") view=BulkPage ssr=SsrMode::Async />
                    <Route path=path!("/tools") view=ToolsPage ssr=SsrMode::Async />
                    <Route path=path!("/tools/:name") view=ToolPage ssr=SsrMode::Async />
                    <Route path=path!("/settings") view=SettingsPage ssr=SsrMode::Async />
                </ParentRoute>
            </Routes>
        </Router>
    }
}

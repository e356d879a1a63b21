//! Tools: what is declared about them.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use tallystick_domain::contract::Contract;
use tallystick_domain::delivery::DeliveryTemplate;
use tallystick_domain::layers::RetryClass;
use tallystick_domain::look_up::LookUpTemplate;
use tallystick_domain::name::{DestinationName, LayerName, ToolName};
use tallystick_domain::request::RequestTemplate;
use tallystick_domain::tool::{Class, Stake, Tool};
use utoipa::ToSchema;

use crate::auth::SignedIn;
use crate::http::body::read_json;
use crate::http::problem::{Answer, Problem};
use crate::state::AppState;

/// What `PUT /tools/{name}` takes. A destination is named, never a host.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDeclaration {
    /// `read`, `idempotent`, `reversible` or `irreversible`.
    #[schema(value_type = String)]
    pub class: Class,
    /// The name of a destination.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub destination: Option<DestinationName>,
    /// What the destination promises; whatever is missing is unknown, and unknown is unsafe.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub contract: Contract,
    /// Which arguments tell what is at stake.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub stake: Stake,
    /// The amount in minor units from which two people are needed.
    #[serde(default)]
    pub dual_threshold_minor: Option<i64>,
    /// Whether a guarded operation of this tool could be sent by us.
    #[serde(default)]
    pub executable: bool,
    /// The request that is sent for it; with one the tool is executable.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub request: Option<RequestTemplate>,
    /// How the truth is looked up.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub look_up: Option<LookUpTemplate>,
    /// How what the destination tells by itself (webhooks) is read.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub deliveries: Option<DeliveryTemplate>,
    /// Which layer owns each class of retries: `connection`, `temporary`, `restart`, `replanning`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub retry_owners: BTreeMap<RetryClass, LayerName>,
    /// Whether policy approves by itself what this tool proposes; counts for `read` and `idempotent` alone.
    #[serde(default)]
    pub auto_approve: bool,
}

impl ToolDeclaration {
    /// The tool of this name.
    pub fn named(self, name: ToolName) -> Tool {
        Tool {
            name,
            class: self.class,
            destination: self.destination,
            contract: self.contract,
            stake: self.stake,
            dual_threshold_minor: self.dual_threshold_minor,
            executable: self.executable || self.request.is_some(),
            request: self.request,
            look_up: self.look_up,
            deliveries: self.deliveries,
            retry_owners: self.retry_owners,
            auto_approve: self.auto_approve,
            declared: true,
            version: 0,
        }
    }
}

/// A tool as declared.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolDocument {
    /// Its name.
    pub name: String,
    /// `read`, `idempotent`, `reversible` or `irreversible`.
    pub class: &'static str,
    /// The name of its destination.
    pub destination: Option<String>,
    /// What the destination promises.
    #[schema(value_type = Object)]
    pub contract: Contract,
    /// Which arguments tell what is at stake.
    #[schema(value_type = Object)]
    pub stake: Stake,
    /// The amount in minor units from which two people are needed, as a string.
    pub dual_threshold_minor: Option<String>,
    /// Whether a guarded operation of this tool could be sent by us.
    pub executable: bool,
    /// The request that is sent for it.
    #[schema(value_type = Option<Object>)]
    pub request: Option<RequestTemplate>,
    /// How the truth is looked up.
    #[schema(value_type = Option<Object>)]
    pub look_up: Option<LookUpTemplate>,
    /// How what the destination tells by itself (webhooks) is read.
    #[schema(value_type = Option<Object>)]
    pub deliveries: Option<DeliveryTemplate>,
    /// Which layer owns each class of retries.
    #[schema(value_type = Object)]
    pub retry_owners: BTreeMap<RetryClass, LayerName>,
    /// Whether policy approves by itself what it proposes.
    pub auto_approve: bool,
    /// Counts declarations.
    pub version: u64,
}

impl From<Tool> for ToolDocument {
    fn from(tool: Tool) -> Self {
        Self {
            name: tool.name.to_string(),
            class: tool.class.name(),
            destination: tool.destination.map(|name| name.to_string()),
            contract: tool.contract,
            stake: tool.stake,
            dual_threshold_minor: tool.dual_threshold_minor.map(|amount| amount.to_string()),
            executable: tool.executable,
            request: tool.request,
            look_up: tool.look_up,
            deliveries: tool.deliveries,
            retry_owners: tool.retry_owners,
            auto_approve: tool.auto_approve,
            version: tool.version,
        }
    }
}

/// Declares a tool.
#[utoipa::path(put, path = "/api/v1/tools/{name}", request_body = ToolDeclaration,
    params(("name" = String, Path, description = "The tool's name")),
    responses((status = 200, body = ToolDocument), (status = 400, description = "A problem"), (status = 403, description = "Administrators only")))]
pub async fn declare(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<ToolDocument>> {
    let declaration: ToolDeclaration = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let tool = declaration.named(ToolName::parse(name)?);
    Ok(Json(state.ledger.declare_tool(&actor, tool).await?.into()))
}

/// One tool.
#[utoipa::path(get, path = "/api/v1/tools/{name}", params(("name" = String, Path, description = "The tool's name")),
    responses((status = 200, body = ToolDocument), (status = 404, description = "No such tool")))]
pub async fn one(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(name): Path<String>,
) -> Answer<Json<ToolDocument>> {
    let tool = state.ledger.tool(&actor, &ToolName::parse(name.as_str())?).await?;
    tool.map(|tool| Json(tool.into())).ok_or_else(|| Problem::unknown("tool", &name))
}

/// Every tool, by name.
#[utoipa::path(get, path = "/api/v1/tools", responses((status = 200, body = Vec<ToolDocument>)))]
pub async fn list(SignedIn(actor): SignedIn, State(state): State<AppState>) -> Answer<Json<Vec<ToolDocument>>> {
    let tools = state.ledger.tools(&actor).await?;
    Ok(Json(tools.into_iter().map(Into::into).collect()))
}

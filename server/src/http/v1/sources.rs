//! Sources: how far they are believed. Saying so is an act on record.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::SourceName;
use tallystick_ledger::tools::Source;
use utoipa::ToSchema;

use crate::auth::SignedIn;
use crate::http::body::read_json;
use crate::http::problem::Answer;
use crate::state::AppState;

/// What `PUT /sources/{name}` takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceDeclaration {
    /// `unknown`, `declared` or `verified`.
    #[schema(value_type = String)]
    pub trust: Trust,
}

/// A source with its trust.
#[derive(Debug, Serialize, ToSchema)]
pub struct SourceDocument {
    /// Its name.
    pub name: String,
    /// How far it is believed.
    pub trust: &'static str,
    /// When that was last said.
    pub declared_at: String,
    /// Who said it.
    pub declared_by: String,
}

impl From<Source> for SourceDocument {
    fn from(source: Source) -> Self {
        Self {
            name: source.name.to_string(),
            trust: source.trust.name(),
            declared_at: source.declared_at.to_string(),
            declared_by: source.declared_by,
        }
    }
}

/// Says how far a source is believed.
#[utoipa::path(put, path = "/api/v1/sources/{name}", request_body = SourceDeclaration,
    params(("name" = String, Path, description = "The source's name")),
    responses((status = 200, body = SourceDocument), (status = 403, description = "Administrators only")))]
pub async fn declare(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<SourceDocument>> {
    let declaration: SourceDeclaration = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let name = SourceName::parse(name)?;
    Ok(Json(state.ledger.declare_source(&actor, &name, declaration.trust).await?.into()))
}

/// Every source on record, by name.
#[utoipa::path(get, path = "/api/v1/sources", responses((status = 200, body = Vec<SourceDocument>)))]
pub async fn list(SignedIn(actor): SignedIn, State(state): State<AppState>) -> Answer<Json<Vec<SourceDocument>>> {
    let sources = state.ledger.sources(&actor).await?;
    Ok(Json(sources.into_iter().map(Into::into).collect()))
}

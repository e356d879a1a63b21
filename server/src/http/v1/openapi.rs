//! The API's own description, made from the handlers.

use axum::Json;
use utoipa::OpenApi;

use super::{actions, document, events, live, operations, sources, tools};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tallystick",
        description = "Report, propose and act on operations. Errors are RFC 9457 problem documents; their types are listed at /problems/. \
                       Event lines follow /api/v1/events/schema.json."
    ),
    paths(
        events::take,
        events::schema,
        tools::declare,
        tools::one,
        tools::list,
        sources::declare,
        sources::list,
        operations::propose,
        operations::one,
        operations::arguments,
        operations::list,
        operations::queue,
        actions::act,
        actions::complete,
        actions::decline,
        actions::one,
        actions::list,
        live::follow,
        self::document,
    ),
    components(schemas(
        document::OperationDocument,
        document::OperationSummary,
        document::ActionDocument,
        live::ChangeDocument
    ))
)]
struct Api;

/// `GET /openapi.json`.
#[utoipa::path(get, path = "/api/v1/openapi.json", responses((status = 200, description = "This document")))]
pub async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(Api::openapi())
}

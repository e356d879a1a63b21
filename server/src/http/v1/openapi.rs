//! The API's own description, made from the handlers.

use axum::Json;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{
    actions, bulk, deliveries, destinations, document, events, executing, live, operations, sources, tools, workflows,
};

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
        bulk::preview,
        bulk::start,
        bulk::abort,
        bulk::one,
        executing::claim,
        executing::lease,
        executing::dispatch,
        executing::outcome,
        executing::evidence,
        destinations::list,
        destinations::pause,
        destinations::workers,
        destinations::restore,
        destinations::acknowledge,
        workflows::list,
        workflows::one,
        workflows::declare,
        deliveries::list,
        live::follow,
        self::document,
    ),
    components(schemas(
        document::OperationDocument,
        document::OperationSummary,
        document::ActionDocument,
        live::ChangeDocument
    )),
    modifiers(&Bearer),
    // What every call needs, unless it says otherwise itself.
    security(("bearer" = []))
)]
struct Api;

/// The API's tokens, as a scheme of the description.
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some(
            "An API token. Make one with `tallystick token new`; what it may do is what its person may do.".into(),
        );
        api.components.get_or_insert_default().add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}

/// `GET /openapi.json`.
#[utoipa::path(get, path = "/api/v1/openapi.json", security(()), responses((status = 200, description = "This document")))]
pub async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(Api::openapi())
}

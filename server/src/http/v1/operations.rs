//! Operations: proposing them, reading one, reading pages of them.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, LINK};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tallystick_domain::json::Json as StrictJson;
use tallystick_domain::name::{OperationId, OperationKey, ToolName, WorkflowName};
use tallystick_domain::query::{OperationQuery, QueryError, QueueQuery};
use tallystick_domain::time::Timestamp;
use tallystick_domain::workflow::Place;
use tallystick_ledger::operations::{NewProposal, NewStep, QueuePage};
use utoipa::ToSchema;

use super::document::{OperationDocument, OperationSummary, PageDocument};
use super::headers::{IDEMPOTENCY_REPLAYED, etag};
use crate::auth::SignedIn;
use crate::http::body::{check_is_json, from_json, members, missing, read_limited, required_text, text};
use crate::http::problem::{Answer, BAD_FIELD, BAD_QUERY, INTERNAL, Problem};
use crate::http::url;
use crate::state::AppState;

/// Room for the other members beside the arguments.
const ROOM_BYTES: usize = 64 * 1024;

/// What a list of operations can be filtered by.
pub const FILTERS: [&str; 10] =
    ["state", "tool", "destination", "mode", "search", "without_key", "since", "until", "layer", "mark"];

/// Query parameters as they came.
pub type Pairs = Result<Query<Vec<(String, String)>>, QueryRejection>;

/// What `POST /operations` takes.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the body; it is read member by member, so that arguments keep their bytes")]
pub struct Proposal {
    /// The business name, unique per workspace, 1 to 255 characters. It makes the call repeatable: the same key with the same
    /// arguments gives the operation that is there.
    operation_key: String,
    /// The name of a declared tool.
    tool: String,
    /// The arguments. They are kept byte for byte; numbers are never rounded.
    #[schema(value_type = Object)]
    arguments: (),
    /// When it must be done, RFC 3339.
    deadline: Option<String>,
    /// The tool call that proposed it; correlation only.
    tool_call_id: Option<String>,
    /// Its place in a workflow, if it is a step of one.
    step: Option<StepBody>,
}

/// The place of an operation in a workflow. It never changes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepBody {
    /// The workflow's name; it begins with its first step.
    workflow: String,
    /// The step's number, from 1. Steps of one number stand side by side.
    number: u32,
    /// Whether it is the point of no return.
    #[serde(default)]
    is_pivot: bool,
    /// The operation keys of the steps whose results it uses; they must be there. Not told: every step with a lower number.
    needs: Option<Vec<String>>,
}

impl StepBody {
    fn read(self) -> Answer<NewStep> {
        let needs = self.needs.map(|needs| needs.into_iter().map(OperationKey::parse).collect::<Result<_, _>>());
        let place = Place { number: self.number, is_pivot: self.is_pivot, needs: needs.transpose()? };
        Ok(NewStep { workflow: WorkflowName::parse(self.workflow)?, place })
    }
}

/// Proposes a guarded operation. Nothing is sent: a proposal waits for an authorisation.
#[utoipa::path(post, path = "/api/v1/operations", request_body = Proposal,
    responses((status = 201, body = OperationSummary), (status = 200, description = "Replayed: it was there", body = OperationSummary),
        (status = 409, description = "The key belongs to an observed operation"),
        (status = 413, description = "Arguments above 8 MiB"),
        (status = 422, description = "The key is there with other arguments; the proposal is kept beside it")))]
pub async fn propose(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Response> {
    check_is_json(&headers)?;
    let limit = state.config.limits.arguments_bytes;
    let bytes = read_limited(&headers, body, limit + ROOM_BYTES).await?;
    let answer = state.ledger.propose_operation(&actor, read_proposal(&bytes, limit)?).await?;
    let document = Json(OperationSummary::of_listed(&answer.operation));
    let tag = etag(answer.operation.version);
    Ok(if answer.replayed {
        (StatusCode::OK, [tag, (IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"))], document).into_response()
    } else {
        (StatusCode::CREATED, [tag], document).into_response()
    })
}

fn read_proposal(bytes: &[u8], limit: usize) -> Answer<NewProposal> {
    let members = members(bytes, &["operation_key", "tool", "arguments", "deadline", "tool_call_id", "step"])?;
    let arguments = members.iter().find(|member| member.name == "arguments").ok_or_else(|| missing("arguments"))?;
    if arguments.span.len() > limit {
        return Err(Problem::too_large("The member \"arguments\"", limit));
    }
    if !matches!(arguments.value, StrictJson::Object(_)) {
        return Err(bad_field("arguments", &format!("it is {}, not an object", arguments.value.kind())));
    }
    let deadline = text(&members, "deadline")?.map(|text| {
        Timestamp::parse_rfc3339(text)
            .ok_or_else(|| bad_field("deadline", "it is not an RFC 3339 time such as 2026-10-05T09:00:00Z"))
    });
    let step = members.iter().find(|member| member.name == "step" && member.value != StrictJson::Null);
    let step = step.map(|member| from_json::<StepBody>(bytes.get(member.span.clone()).unwrap_or_default())?.read());
    Ok(NewProposal {
        key: OperationKey::parse(required_text(&members, "operation_key")?)?,
        tool: ToolName::parse(required_text(&members, "tool")?)?,
        arguments: bytes.get(arguments.span.clone()).unwrap_or_default().to_vec(),
        deadline: deadline.transpose()?,
        tool_call_id: text(&members, "tool_call_id")?.map(str::to_owned),
        step: step.transpose()?,
    })
}

fn bad_field(field: &str, problem: &str) -> Problem {
    Problem::new(BAD_FIELD, format!("{field}: {problem}. Nothing was done.")).with("field", field)
}

/// One operation with everything the rules say about it now.
#[utoipa::path(get, path = "/api/v1/operations/{id}", params(("id" = String, Path, description = "The operation's id")),
    responses((status = 200, body = OperationDocument), (status = 404, description = "No such operation")))]
pub async fn one(SignedIn(actor): SignedIn, State(state): State<AppState>, Path(id): Path<String>) -> Answer<Response> {
    let unknown = || Problem::unknown("operation", &id);
    let examined = state.ledger.operation(&actor, &OperationId::parse(id.as_str())?).await?.ok_or_else(unknown)?;
    let version = examined.record.version;
    let document = OperationDocument::of(examined).ok_or_else(|| {
        Problem::new(INTERNAL, "The operation has no row. Nothing was done. Run `tallystick verify`.")
    })?;
    Ok(([etag(version)], Json(document)).into_response())
}

/// The arguments of an operation, byte for byte as received.
#[utoipa::path(get, path = "/api/v1/operations/{id}/arguments", params(("id" = String, Path, description = "The operation's id")),
    responses((status = 200, description = "The arguments"), (status = 404, description = "No such operation, or no arguments on record")))]
pub async fn arguments(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Answer<Response> {
    let found = state.ledger.operation_arguments(&actor, &OperationId::parse(id.as_str())?).await?;
    let bytes = found.ok_or_else(|| Problem::unknown("arguments of operation", &id))?;
    // Others wrote them: a browser keeps them as a file and opens nothing.
    let disposition = format!("attachment; filename=\"arguments-{id}.json\"");
    Ok(([(CONTENT_TYPE, "application/json"), (CONTENT_DISPOSITION, disposition.as_str())], bytes).into_response())
}

/// A page of operations, newest first. Filters: `state`, `tool`, `destination`, `mode`, `search`, `without_key`; what was
/// sent and counted: `since` and `until` (first attempt), `layer`, `mark` (of one of its attempts); paging: `after`, `limit`.
/// What `search` finds (the start of a key, a whole receipt or id, a source's name) comes by key. With further filters a page may
/// have few rows, or none, and still name the next one: follow `next` until there is none.
#[utoipa::path(get, path = "/api/v1/operations",
    params(("state" = Option<String>, Query), ("tool" = Option<String>, Query), ("destination" = Option<String>, Query),
        ("mode" = Option<String>, Query), ("search" = Option<String>, Query), ("without_key" = Option<bool>, Query),
        ("since" = Option<String>, Query), ("until" = Option<String>, Query), ("layer" = Option<String>, Query),
        ("mark" = Option<String>, Query),
        ("after" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = PageDocument<OperationSummary>)))]
pub async fn list(SignedIn(actor): SignedIn, State(state): State<AppState>, pairs: Pairs) -> Answer<Response> {
    let known = [&FILTERS[..], &["after", "limit"]].concat();
    let pairs = known_pairs(pairs, &known)?;
    let mut query = OperationQuery::from_pairs(borrowed(&pairs)).map_err(bad_query)?;
    let page = state.ledger.operations(&actor, &query).await?;
    query.after.clone_from(&page.next);
    let link = page.next.as_ref().map(|_| next_link("/api/v1/operations", &query.to_pairs()));
    let document = PageDocument::of(page, |listed| OperationSummary::of_listed(&listed));
    Ok(with_link(link, Json(document).into_response()))
}

/// The queue: a page and the counts above it.
#[derive(Debug, Serialize, ToSchema)]
pub struct QueueDocument {
    /// The page.
    #[serde(flatten)]
    pub page: PageDocument<OperationSummary>,
    /// How many wait for each reason; 1000 stands for more than 999.
    #[schema(value_type = Object)]
    pub counts: serde_json::Map<String, serde_json::Value>,
    /// Since when the oldest waits.
    pub oldest_since: Option<String>,
    /// How many lose their safe option within the hour.
    pub losing_soon: u32,
}

/// A page of what waits for a person, most urgent first. Filters: `reason`, `assignee`, `tool`, `destination`, `cause`
/// (what the newest open answer was judged by, with its error). `order` is `urgency`, `age` or `stake`.
#[utoipa::path(get, path = "/api/v1/queue",
    params(("reason" = Option<String>, Query), ("assignee" = Option<String>, Query), ("tool" = Option<String>, Query),
        ("destination" = Option<String>, Query), ("cause" = Option<String>, Query), ("order" = Option<String>, Query),
        ("after" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = QueueDocument)))]
pub async fn queue(SignedIn(actor): SignedIn, State(state): State<AppState>, pairs: Pairs) -> Answer<Response> {
    let pairs = known_pairs(pairs, &["reason", "assignee", "tool", "destination", "cause", "order", "after", "limit"])?;
    let mut query = QueueQuery::from_pairs(borrowed(&pairs)).map_err(bad_query)?;
    let QueuePage { page, counts, oldest_since, losing_soon } = state.ledger.queue(&actor, &query).await?;
    query.after.clone_from(&page.next);
    let link = page.next.as_ref().map(|_| next_link("/api/v1/queue", &query.to_pairs()));
    let document = QueueDocument {
        page: PageDocument::of(page, |listed| OperationSummary::of_listed(&listed)),
        counts: counts.into_iter().map(|(reason, count)| (reason.name().to_owned(), count.into())).collect(),
        oldest_since: oldest_since.map(|at| at.to_string()),
        losing_soon,
    };
    Ok(with_link(link, Json(document).into_response()))
}

/// The pairs of a query, all of them known: a filter that is misspelt must not answer with everything.
pub fn known_pairs(pairs: Pairs, known: &[&str]) -> Answer<Vec<(String, String)>> {
    let Query(pairs) = pairs
        .map_err(|error| Problem::new(BAD_QUERY, format!("The query is not understood: {error}. Nothing was done.")))?;
    match pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        None => Ok(pairs),
        Some((name, _)) => Err(Problem::new(
            BAD_QUERY,
            format!("The parameter {name:?} is not known. Nothing was done. Known are {}.", known.join(", ")),
        )
        .with("parameter", name.as_str())),
    }
}

/// Pairs as a query is read from.
pub fn borrowed(pairs: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// What is wrong with a query, as a problem.
#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
pub fn bad_query(error: QueryError) -> Problem {
    Problem::new(BAD_QUERY, format!("{error}. Nothing was done.")).with("parameter", error.parameter.as_str())
}

/// The address of the next page.
pub fn next_link(path: &str, pairs: &[(&'static str, String)]) -> String {
    format!("<{path}?{}>; rel=\"next\"", url::query(pairs.iter().map(|(name, value)| (*name, value.as_str()))))
}

/// Adds the link to an answer.
pub fn with_link(link: Option<String>, mut response: Response) -> Response {
    if let Some(link) = link.and_then(|link| HeaderValue::from_str(&link).ok()) {
        response.headers_mut().insert(LINK, link);
    }
    response
}

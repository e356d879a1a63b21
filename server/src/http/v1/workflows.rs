//! Workflows: their steps as they are now, who undoes them, and who owns one that is stuck.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tallystick_domain::name::{PrincipalId, WorkflowName};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::workflow::{Unwinds, Workflow};
use tallystick_ledger::workflows::{Declared, SeenWorkflow};
use utoipa::ToSchema;

use super::document::PageDocument;
use super::operations::{Pairs, known_pairs, next_link, with_link};
use crate::auth::SignedIn;
use crate::http::body::read_json;
use crate::http::problem::{Answer, BAD_QUERY, Problem};
use crate::state::AppState;

/// A workflow.
#[derive(Debug, Serialize, ToSchema)]
pub struct WorkflowDocument {
    /// Its name.
    name: String,
    /// When its first step was recorded, RFC 3339.
    begun_at: String,
    /// Who undoes its steps: `by_people` or `by_itself`.
    unwinds: &'static str,
    /// The id of the person who recovers it when an undo is stuck.
    owner: Option<String>,
    /// Which way it goes: `forward`, `back`, `escalate`, with the step because of which.
    #[schema(value_type = Object)]
    direction: serde_json::Value,
    /// How it ended: `succeeded`, `undone`, `stuck`; nothing while it has not.
    #[schema(value_type = Option<Object>)]
    ending: Option<serde_json::Value>,
    /// Its steps, each after all that it needs.
    steps: Vec<StepDocument>,
    /// What is wrong with its steps, if they do not make a workflow.
    problem: Option<String>,
}

/// A step: the newest operation of its intent.
#[derive(Debug, Serialize, ToSchema)]
pub struct StepDocument {
    /// That operation.
    operation_id: String,
    /// Its operation key.
    operation_key: String,
    /// Its number.
    number: u32,
    /// `compensable`, `pivot` or `retriable`.
    kind: Option<&'static str>,
    /// Its state.
    state: String,
    /// How far its undo has come.
    compensation: &'static str,
    /// Why it is not sent yet.
    waits: Option<String>,
    /// Why it is not undone now.
    #[schema(value_type = Option<Object>)]
    hold: Option<serde_json::Value>,
}

impl From<SeenWorkflow> for WorkflowDocument {
    fn from(seen: SeenWorkflow) -> Self {
        let SeenWorkflow { declared, steps, unwinding, .. } = seen;
        let told = |value: Result<serde_json::Value, serde_json::Error>| value.unwrap_or_default();
        let step = |workflow: &Workflow, step: &tallystick_domain::workflow::StepView| StepDocument {
            operation_id: step.id.to_string(),
            operation_key: step.key.to_string(),
            number: step.step_no,
            kind: workflow.kind(&step.id).map(tallystick_domain::workflow::StepKind::name),
            state: step.state.to_string(),
            compensation: step.compensation.name(),
            waits: workflow.around(&step.id).wait.map(|wait| wait.words()),
            hold: unwinding
                .holds
                .iter()
                .find(|(id, _)| *id == step.id)
                .map(|(_, hold)| told(serde_json::to_value(hold))),
        };
        let workflow = steps.as_ref().ok();
        Self {
            begun_at: declared.begun_at.to_string(),
            unwinds: declared.unwinds.name(),
            owner: declared.owner.as_ref().map(ToString::to_string),
            direction: workflow.map(|all| told(serde_json::to_value(all.direction()))).unwrap_or_default(),
            ending: workflow
                .and_then(|all| all.ending(declared.owner.as_ref()))
                .map(|ending| told(serde_json::to_value(ending))),
            steps: workflow.map(|all| all.steps().iter().map(|one| step(all, one)).collect()).unwrap_or_default(),
            problem: steps.as_ref().err().cloned(),
            name: declared.name,
        }
    }
}

/// A page of workflows, the newest first. Paging: `after`, `limit`.
#[utoipa::path(get, path = "/api/v1/workflows",
    params(("after" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = PageDocument<WorkflowDocument>)))]
pub async fn list(SignedIn(actor): SignedIn, State(state): State<AppState>, pairs: Pairs) -> Answer<Response> {
    let pairs = known_pairs(pairs, &["after", "limit"])?;
    let value = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let limit = value("limit").map(str::parse::<u32>).transpose().map_err(|_| {
        Problem::new(BAD_QUERY, "The parameter \"limit\" is not a number. Nothing was done.").with("parameter", "limit")
    })?;
    let page = state.ledger.workflows(&actor, value("after"), limit).await?;
    let next: Vec<(&'static str, String)> = page.next.iter().map(|after| ("after", after.clone())).collect();
    let link = page.next.as_ref().map(|_| next_link("/api/v1/workflows", &next));
    Ok(with_link(link, Json(PageDocument::of(page, WorkflowDocument::from)).into_response()))
}

/// One workflow.
#[utoipa::path(get, path = "/api/v1/workflows/{name}", params(("name" = String, Path, description = "The workflow's name")),
    responses((status = 200, body = WorkflowDocument), (status = 404, description = "No such workflow")))]
pub async fn one(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(name): Path<String>,
) -> Answer<Json<WorkflowDocument>> {
    let seen = state.ledger.workflow(&actor, &name).await?.ok_or_else(|| Problem::unknown("workflow", &name))?;
    Ok(Json(seen.into()))
}

/// What `PUT /workflows/{name}` takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowBody {
    /// Who undoes its steps when it goes back: `by_people`, or `by_itself`: each undo is proposed when its turn has come,
    /// with an approval of its own, and what has not begun is cancelled.
    unwinds: String,
    /// The id of the person who recovers it when an undo is stuck.
    owner: Option<String>,
}

/// What is on record of who undoes a workflow.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeclaredDocument {
    /// Its name.
    name: String,
    /// Who undoes its steps.
    unwinds: &'static str,
    /// Who recovers it.
    owner: Option<String>,
}

/// Says who undoes a workflow and who owns it; it need not have begun.
#[utoipa::path(put, path = "/api/v1/workflows/{name}", request_body = WorkflowBody,
    params(("name" = String, Path, description = "The workflow's name")),
    responses((status = 200, body = DeclaredDocument), (status = 403, description = "Not for viewers")))]
pub async fn declare(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<DeclaredDocument>> {
    let asked: WorkflowBody = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let unwinds = Unwinds::parse(&asked.unwinds).ok_or_else(|| Refusal::BadField {
        field: "unwinds".into(),
        problem: "is neither by_people nor by_itself".into(),
    })?;
    let owner = asked.owner.map(PrincipalId::parse).transpose()?;
    let Declared { name, unwinds, owner, .. } =
        state.ledger.declare_workflow(&actor, &WorkflowName::parse(name)?, unwinds, owner).await?;
    Ok(Json(DeclaredDocument { name, unwinds: unwinds.name(), owner: owner.map(|owner| owner.to_string()) }))
}

//! Operator actions over the API: the same enum, the same decision and the same keys as the console's buttons. The
//! `Idempotency-Key` header is the action's key, `If-Match` the version that its sender saw.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tallystick_domain::action::{Act, Action, ActionInput};
use tallystick_domain::json::{Json as StrictJson, Member};
use tallystick_domain::name::{ActionKey, OperationId};
use tallystick_domain::query::{PAGE_LIMIT, PAGE_SIZE, QueryError};
use tallystick_ledger::actions::{ActionAnswer, ActionStatus};
use utoipa::ToSchema;

use super::document::{ActionDocument, PageDocument};
use super::headers::{IDEMPOTENCY_REPLAYED, action_key, seen_version};
use super::operations::{Pairs, bad_query, known_pairs, next_link, with_link};
use crate::auth::SignedIn;
use crate::http::body::{check_is_json, from_json, missing, read_json, read_limited};
use crate::http::problem::{Answer, BAD_BODY, Problem};
use crate::state::AppState;

/// What `POST /operations/{id}/actions` takes; beside these the members of the action's own input: `receipt`, `reference`
/// (`mark_succeeded`), `statement` (`adopt`), `pick` and `receipt` (`pick_verdict`), `to` (`assign`), `arguments`
/// (`change_arguments`, kept byte for byte), `attempts` and `deadline` (`grant_attempts`), `receipt` (`attach_evidence`,
/// `compensate`, `waive`), `code` (`dismiss_finding`).
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the body; the input's members differ from action to action")]
pub struct ActionRequest {
    /// The action's name.
    action: String,
    /// Why; needed for all but `look_up` and `assign`.
    reason: Option<String>,
    /// What was typed to confirm, where the decision asks for it.
    confirmation: Option<String>,
}

/// Makes an operator action.
#[utoipa::path(post, path = "/api/v1/operations/{id}/actions", request_body = ActionRequest,
    params(("id" = String, Path, description = "The operation's id"), ("Idempotency-Key" = String, Header, description = "The action's key"),
        ("If-Match" = String, Header, description = "The version seen")),
    responses((status = 200, description = "Done, or already recorded", body = ActionDocument),
        (status = 202, description = "Waits for a second person", body = ActionDocument),
        (status = 403, description = "The role does not admit it"), (status = 409, description = "Forbidden now, or a confirmation is missing"),
        (status = 412, description = "The operation changed"), (status = 422, description = "Reason missing, bad field, key reused"),
        (status = 428, description = "If-Match is missing")))]
pub async fn act(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Response> {
    let key = action_key(&headers)?;
    let seen_version = seen_version(&headers)?;
    check_is_json(&headers)?;
    // Changed arguments may be as large as proposed ones.
    let limits = &state.config.limits;
    let bytes = read_limited(&headers, body, limits.arguments_bytes + limits.body_bytes).await?;
    let asked = read_request(&bytes)?;
    let act =
        Act { key, actor, seen_version, input: asked.input, reason: asked.reason, confirmation: asked.confirmation };
    let answer = state.ledger.act(&OperationId::parse(id)?, act).await?;
    Ok(answered(&answer))
}

struct Asked {
    input: ActionInput,
    reason: String,
    confirmation: Option<String>,
}

/// Splits the body into what every action has and the input of this one.
fn read_request(bytes: &[u8]) -> Answer<Asked> {
    let members = StrictJson::parse_members(bytes)?;
    let name = crate::http::body::required_text(&members, "action")?;
    let action = Action::parse(name).ok_or_else(|| {
        let known = Action::ALL.iter().map(|action| action.name()).collect::<Vec<_>>().join(", ");
        Problem::new(BAD_BODY, format!("There is no action {name:?}. Nothing was done. Known are {known}."))
            .with("member", "action")
    })?;
    Ok(Asked {
        input: read_input(bytes, &members, action)?,
        reason: crate::http::body::text(&members, "reason")?.unwrap_or_default().to_owned(),
        confirmation: crate::http::body::text(&members, "confirmation")?.map(str::to_owned),
    })
}

/// Changed arguments are kept byte for byte as they stand in the body.
fn read_input(bytes: &[u8], members: &[Member], action: Action) -> Answer<ActionInput> {
    if action == Action::ChangeArguments {
        crate::http::body::members(bytes, &["action", "arguments", "reason", "confirmation"])?;
        let arguments = members.iter().find(|member| member.name == "arguments").ok_or_else(|| missing("arguments"))?;
        let text = bytes.get(arguments.span.clone()).unwrap_or_default();
        return Ok(ActionInput::ChangeArguments { arguments: String::from_utf8_lossy(text).into_owned() });
    }
    from_json(&without(bytes, members, &["reason", "confirmation"]))
}

/// The object without some members, the others as they were written.
fn without(bytes: &[u8], members: &[Member], names: &[&str]) -> Vec<u8> {
    let mut out = vec![b'{'];
    for member in members.iter().filter(|member| !names.contains(&member.name.as_str())) {
        if out.len() > 1 {
            out.push(b',');
        }
        // A string is always JSON.
        out.extend(serde_json::to_vec(&member.name).unwrap_or_default());
        out.push(b':');
        out.extend(bytes.get(member.span.clone()).unwrap_or_default());
    }
    out.push(b'}');
    out
}

/// A refusal is an answer too: it is on record, with the same problem each time it is asked for.
fn answered(answer: &ActionAnswer) -> Response {
    let document = ActionDocument::from(&answer.record);
    let mut response = match (&answer.record.refusal, answer.record.status) {
        (Some(refusal), ActionStatus::Refused) => {
            Problem::from(refusal.clone()).with("action_key", document.key).into_response()
        }
        (_, ActionStatus::AwaitsSecondPerson) => (StatusCode::ACCEPTED, Json(document)).into_response(),
        (_, ActionStatus::Refused | ActionStatus::Declined | ActionStatus::Done) => Json(document).into_response(),
    };
    if answer.already_recorded {
        response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// What `POST /actions/{key}/complete` takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// What was typed to confirm, where the decision asks for it.
    #[serde(default)]
    pub confirmation: Option<String>,
}

/// Completes a dual action as the second person.
#[utoipa::path(post, path = "/api/v1/actions/{key}/complete", request_body = Completion,
    params(("key" = String, Path, description = "The key of the waiting action"), ("Idempotency-Key" = String, Header, description = "This press's own key"), ("If-Match" = String, Header, description = "The version seen")),
    responses((status = 200, body = ActionDocument), (status = 403, description = "The second person must be somebody else"), (status = 409, description = "It no longer waits")))]
pub async fn complete(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(awaited): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Response> {
    let (key, seen) = (action_key(&headers)?, seen_version(&headers)?);
    let asked: Completion = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let awaited = ActionKey::parse(awaited)?;
    let answer = state.ledger.complete_action(&actor, &awaited, &key, seen, asked.confirmation).await?;
    Ok(answered(&answer))
}

/// What `POST /actions/{key}/decline` takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Declining {
    /// Why.
    pub reason: String,
}

/// Declines a dual action as the second person, or takes it back as the first.
#[utoipa::path(post, path = "/api/v1/actions/{key}/decline", request_body = Declining,
    params(("key" = String, Path, description = "The key of the waiting action"), ("Idempotency-Key" = String, Header, description = "This press's own key"), ("If-Match" = String, Header, description = "The version seen")),
    responses((status = 200, body = ActionDocument), (status = 409, description = "It no longer waits")))]
pub async fn decline(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(awaited): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Response> {
    let (key, seen) = (action_key(&headers)?, seen_version(&headers)?);
    let asked: Declining = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let awaited = ActionKey::parse(awaited)?;
    let answer = state.ledger.decline_action(&actor, &awaited, &key, seen, asked.reason).await?;
    Ok(answered(&answer))
}

/// One action of the audit log.
#[utoipa::path(get, path = "/api/v1/actions/{key}", params(("key" = String, Path, description = "The action's key")),
    responses((status = 200, body = ActionDocument), (status = 404, description = "No such action")))]
pub async fn one(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(key): Path<String>,
) -> Answer<Json<ActionDocument>> {
    let found = state.ledger.action(&actor, &ActionKey::parse(key.as_str())?).await?;
    found.map(|record| Json((&record).into())).ok_or_else(|| Problem::unknown("action", &key))
}

/// A page of the audit log, newest first. Filters: `operation`, `action`.
#[utoipa::path(get, path = "/api/v1/actions",
    params(("operation" = Option<String>, Query), ("action" = Option<String>, Query), ("after" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = PageDocument<ActionDocument>)))]
pub async fn list(SignedIn(actor): SignedIn, State(state): State<AppState>, pairs: Pairs) -> Answer<Response> {
    let pairs = known_pairs(pairs, &["operation", "action", "after", "limit"])?;
    let find = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let operation = find("operation").map(OperationId::parse).transpose()?;
    let action = find("action").map(read_action).transpose()?;
    let limit = find("limit").map_or(Ok(PAGE_SIZE), read_limit)?;
    let page = state.ledger.actions(&actor, operation.as_ref(), action, find("after"), limit).await?;
    let link = page.next.as_ref().map(|after| {
        let mut next: Vec<(&'static str, String)> = vec![("after", after.clone()), ("limit", limit.to_string())];
        next.extend(operation.iter().map(|id| ("operation", id.to_string())));
        next.extend(action.iter().map(|action| ("action", action.name().to_owned())));
        next_link("/api/v1/actions", &next)
    });
    let document = PageDocument::of(page, |record| ActionDocument::from(&record));
    Ok(with_link(link, Json(document).into_response()))
}

fn read_action(name: &str) -> Answer<Action> {
    Action::parse(name).ok_or_else(|| unread("action", name, "use the name of an action"))
}

/// How many rows a page has, as asked for.
pub(super) fn read_limit(text: &str) -> Answer<u32> {
    let limit = text.parse().ok().filter(|limit| (1..=PAGE_LIMIT).contains(limit));
    limit.ok_or_else(|| unread("limit", text, "use a whole number from 1 to 200"))
}

fn unread(parameter: &str, value: &str, expected: &str) -> Problem {
    bad_query(QueryError { parameter: parameter.into(), value: value.into(), expected: expected.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_keeps_its_members_as_they_were_written() {
        let body = br#"{"action":"mark_succeeded", "receipt" : "pi_\u0041","reason":"seen"}"#;
        let members = StrictJson::parse_members(body).unwrap();
        let input = without(body, &members, &["reason"]);
        assert_eq!(String::from_utf8(input).unwrap(), r#"{"action":"mark_succeeded","receipt":"pi_\u0041"}"#);
    }
}

//! Signing in and out: by password, by one-time link. The session's id is drawn anew at each sign-in, and the answer to a
//! wrong login is the same, and as slow, as the answer to a wrong password.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::rejection::FormRejection;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Form, Router};
use secrecy::SecretString;
use serde::Deserialize;
use tallystick_domain::permission::Role;
use tallystick_domain::time::span_in_words;
use tallystick_ledger::people::Principal;
use tower_sessions::Session;

use super::{SESSION_PRINCIPAL, token, wants_html};
use crate::http::notice::Notice;
use crate::http::problem::{Answer, BAD_BODY, INTERNAL, Problem, TOO_MANY_ATTEMPTS, WRONG_CREDENTIALS};
use crate::http::url;
use crate::state::AppState;

/// What the sign-in form sends.
#[derive(Debug, Deserialize)]
pub struct SignInForm {
    login: String,
    #[serde(deserialize_with = "read_secret")]
    password: SecretString,
    #[serde(default)]
    next: Option<String>,
}

fn read_secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    String::deserialize(deserializer).map(SecretString::from)
}

/// Sign-in, sign-out and one-time links.
pub fn router() -> Router<AppState> {
    Router::new()
        .route("/sign-in", post(sign_in))
        .route("/sign-in/link/{secret}", get(follow_link))
        .route("/sign-out", post(sign_out))
}

async fn sign_in(
    State(state): State<AppState>,
    session: Session,
    headers: HeaderMap,
    address: Option<Extension<ConnectInfo<SocketAddr>>>,
    form: Result<Form<SignInForm>, FormRejection>,
) -> Response {
    let is_page = wants_html(&headers);
    let next = form.as_ref().ok().and_then(|form| form.next.clone());
    let address =
        address.map_or_else(|| "unknown".to_owned(), |Extension(ConnectInfo(address))| address.ip().to_string());
    let signed_in = match form {
        Ok(Form(form)) => check_and_enter(&state, &session, form, &address).await,
        Err(rejection) => {
            Err(Problem::new(BAD_BODY, format!("The form is not understood ({rejection}). Nobody was signed in.")))
        }
    };
    match signed_in {
        Ok(()) => Redirect::to(&next.and_then(|next| url::local_path(&next)).unwrap_or_else(|| "/".to_owned()))
            .into_response(),
        Err(problem) if is_page => refused_page(&problem, next.as_deref()),
        Err(problem) => problem.into_response(),
    }
}

async fn check_and_enter(state: &AppState, session: &Session, form: SignInForm, address: &str) -> Answer<()> {
    let now = state.ledger.now().await?;
    if let Some(wait) = state.sign_in_limits.wait(&form.login, address, now) {
        return Err(too_many(wait));
    }
    let found = state.ledger.credentials(&form.login).await?;
    let (principal, hash) = found.map_or((None, None), |(principal, hash)| (Some(principal), hash));
    let is_right = state.passwords.matches(form.password, hash).await;
    let entering = principal.filter(|principal| is_right && principal.role != Role::Automation);
    if let Some(principal) = entering {
        state.sign_in_limits.forget(&form.login);
        return enter(session, &principal).await;
    }
    state.sign_in_limits.count_failure(&form.login, address, now);
    tracing::warn!(client.address = address, "A sign-in failed from {address}");
    Err(Problem::new(
        WRONG_CREDENTIALS,
        "Login or password is wrong. Nobody was signed in. Check both, or ask an administrator for a one-time link.",
    ))
}

fn too_many(wait: Duration) -> Problem {
    // Never in less time than is left.
    let wait = Duration::from_secs(wait.as_secs() + 1);
    let words = span_in_words(wait.max(Duration::from_mins(1)));
    Problem::new(
        TOO_MANY_ATTEMPTS,
        format!(
            "Too many sign-ins failed. Nobody was signed in, and the password was not looked at. Try again in {words}."
        ),
    )
    .retry_after(wait.as_secs())
}

/// Puts a person into the session under a new id.
async fn enter(session: &Session, principal: &Principal) -> Answer<()> {
    let entered = async {
        session.cycle_id().await?;
        session.insert(SESSION_PRINCIPAL, &principal.id).await
    };
    entered.await.map_err(|error: tower_sessions::session::Error| {
        tracing::error!(%error, "A session could not be written: {error}");
        Problem::new(INTERNAL, "The session could not be written. Nobody was signed in. Try again.")
    })?;
    tracing::info!(principal.id = %principal.id, "Signed in {}", principal.id);
    Ok(())
}

async fn sign_out(session: Session) -> Response {
    if let Err(error) = session.flush().await {
        tracing::error!(%error, "A session could not be ended: {error}");
        return Problem::new(INTERNAL, "The session could not be ended. You may still be signed in. Try again.")
            .into_response();
    }
    Redirect::to("/sign-in").into_response()
}

/// Follows a one-time link. Mail scanners, chat previews and prefetching browsers open links too; they must not use it up.
/// So it is redeemed only by a navigation: `Sec-Fetch-Dest: document` and no prefetch, or a client that sends no such header.
async fn follow_link(
    State(state): State<AppState>,
    session: Session,
    Path(secret): Path<String>,
    request: Request,
) -> Response {
    if !is_navigation(request.method(), request.headers()) {
        return Notice::new(200, "Sign in", "Open this link in a browser to sign in. It has not been used.")
            .into_response();
    }
    let entered = match state.ledger.redeem_sign_in_link(token::hash(&secret)).await {
        Ok(Some(principal)) => enter(&session, &principal).await.map(|()| true),
        Ok(None) => Ok(false),
        Err(error) => Err(error.into()),
    };
    match entered {
        Ok(true) => Redirect::to("/").into_response(),
        Ok(false) => spent_link(),
        Err(problem) => refused_page(&problem, None),
    }
}

fn is_navigation(method: &Method, headers: &HeaderMap) -> bool {
    let says = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_prefetch =
        says("sec-purpose").or_else(|| says("purpose")).is_some_and(|purpose| purpose.contains("prefetch"));
    *method == Method::GET && !is_prefetch && says("sec-fetch-dest").is_none_or(|target| target == "document")
}

fn spent_link() -> Response {
    Notice::new(
        410,
        "This link is no longer good",
        "A sign-in link works once and for one hour. Nobody was signed in. Sign in with your password, or ask for another link.",
    )
    .link("/sign-in", "Sign in")
    .into_response()
}

fn refused_page(problem: &Problem, next: Option<&str>) -> Response {
    let back = super::sign_in_address(&next.and_then(url::local_path).unwrap_or_else(|| "/".to_owned()));
    Notice::about(problem).link(back, "Try again").into_response()
}

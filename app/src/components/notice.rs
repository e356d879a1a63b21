//! Five different texts: nothing there, still coming, failed, only a part, and only the newest were searched.

use leptos::prelude::*;

use crate::api::{ApiError, Pairs};

/// Nothing is there, and why that is so.
pub fn empty(title: &'static str, text: &'static str) -> AnyView {
    view! {
        <div class="empty">
            <p class="empty__title">{title}</p>
            <p>{text}</p>
        </div>
    }
    .into_any()
}

/// It is still coming. Seen only when a page changes inside the browser.
pub fn loading() -> AnyView {
    view! { <p class="loading" role="status">"Reading the record…"</p> }.into_any()
}

/// It failed: what happened, what was not done, what to do next.
pub fn failed(error: &ApiError) -> AnyView {
    let way_on = match error {
        ApiError::SignedOut => view! { <a class="button" rel="external" href="/sign-in">"Sign in"</a> }.into_any(),
        ApiError::Refused { .. } | ApiError::NotFound { .. } | ApiError::BadAddress { .. } => {
            view! { <a class="button" href="/">"To the queue"</a> }.into_any()
        }
        ApiError::Contended
        | ApiError::StoreUnavailable
        | ApiError::TookTooLong
        | ApiError::Unreachable
        | ApiError::Outdated
        | ApiError::Failed => view! { <a class="button" rel="external" href="">"Reload"</a> }.into_any(),
    };
    view! {
        <section class="notice notice--failed" role="alert">
            <h1>{error.title()}</h1>
            <p>{error.text()}</p>
            <p class="notice__way">{way_on}</p>
        </section>
    }
    .into_any()
}

/// A message above a page's content.
pub fn banner(tone: &'static str, title: String, text: String) -> AnyView {
    view! {
        <div class=format!("banner banner--{tone}") role="status">
            <p class="banner__title">{title}</p>
            <p>{text}</p>
        </div>
    }
    .into_any()
}

/// A form without script comes back to its page with a mark when it failed before it could be recorded. The mark's
/// content is anybody's, so only our own words are shown.
pub fn failed_submission(pairs: &Pairs) -> Option<AnyView> {
    pairs.iter().any(|(name, _)| name == "__err").then(|| {
        banner(
            "bad",
            "The form did not go through".into(),
            "The server did not take it, and the audit log has no entry of it. Fill it in again; if it fails again, look at the operation's page first.".into(),
        )
    })
}

/// A list of which only a part was looked through, and how to look on. What was found in it may be nothing.
pub fn searched(words: String, next: String) -> AnyView {
    view! {
        <nav class="more" aria-label="Look on">
            <span>{words}</span>
            <a class="button" rel="next" href=next>"Look on"</a>
        </nav>
    }
    .into_any()
}

/// A list that shows only a part, and how to see the rest.
pub fn more(next: Option<String>, shown: usize) -> AnyView {
    match next {
        Some(address) => view! {
            <nav class="more" aria-label="Pages">
                <span>{format!("{shown} rows shown; there are more.")}</span>
                <a class="button" rel="next" href=address>"Next rows"</a>
            </nav>
        }
        .into_any(),
        None => ().into_any(),
    }
}

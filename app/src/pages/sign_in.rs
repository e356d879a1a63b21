//! `/sign-in`: a plain form that the process answers.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::components::field::hidden;
use crate::components::icon::icon;

/// The sign-in form.
#[component]
pub fn SignInPage() -> impl IntoView {
    let query = use_query_map();
    // The process checks that it leads to a place of ours.
    let next = query.with_untracked(|query| query.get("next")).unwrap_or_default();
    view! {
        <Title text="Sign in · Tallystick" />
        <main id="main" class="sign-in">
            <div class="brand">
                {icon("tally")} <span>"Tallystick"</span>
            </div>
            <form class="box form" method="post" action="/sign-in">
                <h1>"Sign in"</h1>
                {hidden("next", next)}
                <label class="field">
                    <span class="field__label">"Login"</span>
                    <input type="text" name="login" required=true maxlength="120" autocomplete="username" autocapitalize="off" spellcheck="false" />
                </label>
                <label class="field">
                    <span class="field__label">"Password"</span>
                    <input type="password" name="password" required=true maxlength="500" autocomplete="current-password" />
                </label>
                <div class="form__foot">
                    <button class="button button--first">"Sign in"</button>
                </div>
            </form>
            <p class="quiet">"No password yet? An administrator can make a one-time link with the command `tallystick user link`."</p>
        </main>
    }
    .into_any()
}

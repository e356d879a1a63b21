//! A place that does not exist.

use leptos::prelude::*;
use leptos_meta::Title;

/// Not a place.
#[component]
pub fn NotFound() -> impl IntoView {
    view! {
        <Title text="Not a place · Tallystick" />
        <main id="main" class="sign-in">
            <section class="notice">
                <h1>"Not a place"</h1>
                <p>"There is nothing at this address. Nothing was done."</p>
                <p class="notice__way">
                    <a class="button" href="/">
                        "To the queue"
                    </a>
                </p>
            </section>
        </main>
    }
    .into_any()
}

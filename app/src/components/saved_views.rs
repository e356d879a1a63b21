//! A person's own views of a list: addresses under names.

use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use tallystick_domain::view::encoded;
use tallystick_domain::view::list::SavedViewLine;

use super::field::hidden;
use super::notice::banner;
use crate::api::Pairs;
use crate::api::views::{ForgetView, SaveView};

/// Pairs of an address that are no part of a view: where one is in it, and what was said last.
const PASSING: [&str; 6] = ["after", "selected", "choose", "back", "view", "not_saved"];

/// What came of the last form.
pub fn said(pairs: &Pairs) -> Option<AnyView> {
    let told = |name: &str| pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
    if let Some(field) = told("not_saved") {
        let text = match field {
            "query" => "The whole list has an address already. Filter or order it first, then save that.",
            _ => "A view needs a name of 1 to 60 characters, and there may be 50 of them at the most.",
        };
        return Some(banner("bad", "The view was not saved".into(), text.into()));
    }
    match told("view")? {
        "saved" => Some(banner("good", "The view is saved".into(), "It stands under \"Views\", for you alone.".into())),
        "forgotten" => Some(banner("good", "The view is forgotten".into(), "Operations are as they were.".into())),
        _ => None,
    }
}

/// The views of a list, and saving the one that is shown. `place` is the list's name, `path` its address.
pub fn saved_views(views: Vec<SavedViewLine>, place: &'static str, path: &'static str, pairs: &Pairs) -> AnyView {
    let query = query_of(pairs);
    let count = views.len();
    let lines = views
        .into_iter()
        .map(|view| {
            let is_shown = view.query == query;
            let forget = format!("Forget the view {}", view.name);
            view! {
                <li class="views__line">
                    <a
                        class="views__link"
                        href=format!("{path}?{}", view.query)
                        aria-current=is_shown.then_some("true")
                    >
                        {view.name.clone()}
                    </a>
                    <form method="post" action=ForgetView::url()>
                        {hidden("place", place.to_owned())} {hidden("query", query.clone())}
                        {hidden("name", view.name)}
                        <button class="button button--small" aria-label=forget>
                            "Forget"
                        </button>
                    </form>
                </li>
            }
        })
        .collect_view();
    let save = if query.is_empty() {
        view! { <p class="quiet">"Filter or order the list, and it can be saved here under a name."</p> }.into_any()
    } else {
        view! {
            <form class="views__save" method="post" action=SaveView::url()>
                {hidden("place", place.to_owned())} {hidden("query", query)} <label>
                    <span class="unseen">"Name of this view"</span>
                    <input name="name" required=true maxlength="60" placeholder="Name of this view" autocomplete="off" />
                </label> <button class="button button--small">"Save"</button>
            </form>
        }
        .into_any()
    };
    view! {
        <details class="views">
            <summary>
                "Views" {(count > 0).then(|| view! { " " <span class="quiet">{count.to_string()}</span> })}
            </summary>
            <div class="views__panel">
                <ul>{lines}</ul>
                {save}
            </div>
        </details>
    }
    .into_any()
}

/// What of an address makes a view, as a query.
fn query_of(pairs: &Pairs) -> String {
    let kept = pairs
        .iter()
        .filter(|(name, value)| !value.is_empty() && !name.starts_with("__") && !PASSING.contains(&name.as_str()));
    kept.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_the_filter_and_not_the_place_in_it() {
        let pairs = |list: &[(&str, &str)]| -> Pairs {
            list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let shown =
            pairs(&[("reason", "timed_out"), ("after", "1.x"), ("selected", "y"), ("tool", "a&b"), ("__err", "x")]);
        assert_eq!(query_of(&shown), "reason=timed_out&tool=a%26b");
        assert_eq!(query_of(&pairs(&[("after", "1.x")])), "");
    }
}

//! Choosing rows of a list and an action for all of them. A plain form: boxes in the rows belong to it by its id.

use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use tallystick_domain::view::bulk::{Choice, ChoosingView};

use super::field::hidden;
use super::notice::banner;
use crate::api::Pairs;
use crate::api::bulk::PreviewBulk;

/// The form's id, which the boxes name.
pub const FORM: &str = "choosing";
/// The pair of an address that says what is chosen.
pub const PARAMETER: &str = "choose";

/// The box of one row.
pub fn row_box(id: &str, key: &str, is_checked: bool) -> AnyView {
    view! {
        <label class="rows__box">
            <span class="unseen">{format!("Choose {key}")}</span>
            <input type="checkbox" name="ids[]" value=id.to_owned() form=FORM checked=is_checked />
        </label>
    }
    .into_any()
}

/// Whether rows have boxes, and whether these are checked to begin with.
pub fn boxes(view: Option<&ChoosingView>) -> Option<bool> {
    match view?.choice {
        Choice::Rows { all } => Some(all),
        Choice::Matching { .. } => None,
    }
}

/// What stands above the list. `here` makes the address of the list with another choice; `rows` is how many it shows.
pub fn choosing(view: &ChoosingView, pairs: &Pairs, here: impl Fn(&str) -> String, rows: usize) -> AnyView {
    let nothing = pairs.iter().any(|(name, value)| name == PARAMETER && value == "nothing").then(|| {
        let text = "Nothing was frozen and nothing was done. Choose at least one row, or filter the list so that it has 1 to 1,000 operations, and choose all that match.";
        banner("bad", "Nothing to act on".into(), text.into())
    });
    let scope = match view.choice {
        Choice::Rows { .. } => "rows",
        Choice::Matching { .. } => "matching",
    };
    let (what, button) = match view.choice {
        Choice::Rows { all } => (row_choice(view, all, here, rows), Some("Preview for the chosen rows".to_owned())),
        Choice::Matching { count } => (matching(view, count, here), count.map(preview_all)),
    };
    let press = button.map(|label| {
        view! {
            {action_field(view)}
            {owner_field(view)}
            <button class="button">{label}</button>
        }
    });
    view! {
        {nothing}
        <form id=FORM class="choosing" method="post" action=PreviewBulk::url() aria-label="Act on many">
            {hidden("list", view.list.clone())}
            {hidden("filter", view.filter.clone())}
            {hidden("scope", scope.to_owned())}
            <div class="choosing__what">
                {what} " " <span class="choosing__count" role="status" data-kept=""></span>
            </div>
            <div class="choosing__press">{press}</div>
        </form>
    }
    .into_any()
}

fn preview_all(count: u32) -> String {
    if count == 1 { "Preview for the one".into() } else { format!("Preview for all {count}") }
}

/// Row by row: the page at once, and, as a step of its own, everything that matches.
fn row_choice(view: &ChoosingView, all: bool, here: impl Fn(&str) -> String, rows: usize) -> AnyView {
    let page = if all {
        view! { <a href=here("")>"Choose none"</a> }.into_any()
    } else {
        view! { <a href=here("page")>{format!("Choose this page ({rows})")}</a> }.into_any()
    };
    let matching = if view.filter_words.is_empty() {
        view! { <span class="quiet">"filter the list to choose more than a page"</span> }.into_any()
    } else {
        view! { <a href=here("matching")>"Choose all that match the filter …"</a> }.into_any()
    };
    view! {
        {page}
        " · "
        {matching}
    }
    .into_any()
}

fn matching(view: &ChoosingView, count: Option<u32>, here: impl Fn(&str) -> String) -> AnyView {
    let words = view.filter_words.join(", ");
    let sentence = match count {
        Some(1) => format!("The one operation that matches now: {words}."),
        Some(count) => format!("All {count} operations that match now, on every page: {words}."),
        None => format!(
            "More than 1,000 operations match: {words}. Narrow the filter; one bulk action takes 1,000 at the most."
        ),
    };
    view! {
        <strong>{sentence}</strong>
        " "
        <a href=here("")>"Back to choosing rows"</a>
    }
    .into_any()
}

fn action_field(view: &ChoosingView) -> AnyView {
    let options = view.actions.clone().into_iter().map(|(name, label)| view! { <option value=name>{label}</option> });
    view! {
        <label class="choosing__field">
            <span class="unseen">"Action"</span>
            <select name="action">{options.collect_view()}</select>
        </label>
    }
    .into_any()
}

/// Read only where the action is to assign; the style sheet hides it otherwise.
fn owner_field(view: &ChoosingView) -> AnyView {
    let options = view.people.iter().map(|(id, name)| {
        let is_own = *id == view.own_id;
        let label = if is_own { format!("{name} (you)") } else { name.clone() };
        view! {
            <option value=id.clone() selected=is_own>
                {label}
            </option>
        }
    });
    view! {
        <label class="choosing__field choosing__owner">
            <span>"to"</span>
            <select name="to">
                {options.collect_view()} <option value="">"nobody"</option>
            </select>
        </label>
    }
    .into_any()
}

//! `/deliveries`: what destinations told by themselves, newest first: when it came, how late and how often, and which
//! operation it speaks of.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use tallystick_domain::query::DeliveryFilter;
use tallystick_domain::view::counted;
use tallystick_domain::view::deliveries::{DeliveriesView, DeliveryLine, MatchLine, filter_words};

use super::loading::{Asked, Coming, Place, shown};
use super::{address, pairs_of, with};
use crate::api::Pairs;
use crate::api::deliveries::get_deliveries;
use crate::components::notice::{empty, more, searched};
use crate::components::time::{full_time, time};

/// Inbound deliveries.
#[component]
pub fn DeliveriesPage() -> impl IntoView {
    let query = use_query_map();
    shown(Place {
        asked: Memo::new(move |_| Asked { names: vec![], pairs: query.with(pairs_of) }),
        fetch: |asked| -> Coming { Box::pin(get_deliveries(asked.pairs)) },
        // An operation that learns a receipt may match one that waited.
        concerns: |change, _| matches!(change.topic.as_str(), "delivery" | "operation"),
        announces: false,
    })
}

/// What the page shows.
pub fn content(view: DeliveriesView, pairs: &Pairs) -> AnyView {
    let DeliveriesView { rows, next, only, searched: looked_through } = view;
    let count = rows.len();
    let list = if rows.is_empty() && only.is_some() {
        let text = match looked_through {
            Some(_) => "Older ones were not looked through yet.",
            None => "All were looked through. Take the filter away to see the others.",
        };
        empty("No delivery is like that here", text)
    } else if rows.is_empty() {
        empty(
            "No delivery is on record",
            "Write a place for them into the configuration under [[webhook]], and say with each tool how they are read. \
             What comes without a valid signature is turned away and leaves nothing here.",
        )
    } else {
        table(rows)
    };
    let next = next.map(|after| address("/deliveries", &with(pairs, "after", &after)));
    let rest = match (next, looked_through) {
        (Some(next), Some(number)) => {
            let found = counted(count, "delivery was found", "deliveries were found");
            searched(format!("{found} in the newest {number} from here on; older ones were not looked through."), next)
        }
        (next, _) => more(next, count),
    };
    view! {
        <section class="page" aria-labelledby="deliveries-title">
            <div class="head">
                <h1 id="deliveries-title">"Deliveries"</h1>
                <p class="head__note">
                    "what destinations told by themselves, newest first; what comes without a valid signature is turned away and is not here"
                </p>
            </div>
            {filters(only)}
            {list}
            {rest}
        </section>
    }
    .into_any()
}

fn filters(chosen: Option<DeliveryFilter>) -> AnyView {
    let chips = DeliveryFilter::ALL
        .iter()
        .map(|only| {
            let is_chosen = chosen == Some(*only);
            let href = if is_chosen { "/deliveries".to_owned() } else { format!("/deliveries?only={}", only.name()) };
            view! {
                <li>
                    <a class="filter" href=href aria-current=is_chosen.then_some("true")>
                        {filter_words(*only)}
                    </a>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="filters" aria-label="Only some">{chips}</ul> }.into_any()
}

fn table(rows: Vec<DeliveryLine>) -> AnyView {
    let rows = rows.into_iter().map(row).collect_view();
    view! {
        <table class="rows rows--log">
            <caption class="unseen">"Deliveries, newest first"</caption>
            <thead>
                <tr>
                    <th scope="col">"Received"</th>
                    <th scope="col">"Event"</th>
                    <th scope="col">"From"</th>
                    <th scope="col">"Came"</th>
                    <th scope="col">"Operation"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

fn row(line: DeliveryLine) -> AnyView {
    let of = (line.destination != line.webhook).then(|| format!(" of {}", line.destination));
    let happened = line.happened_at.map(|at| view! { <span class="rows__target">"happened " {time(at)}</span> });
    let again = line.repeated_at.map(|at| view! { <span class="rows__target">"last " {time(at)}</span> });
    view! {
        <tr>
            <td>{full_time(line.received_at)} {happened}</td>
            <th scope="row">
                <span class="code">{line.event.unwrap_or_else(|| "no type told".into())}</span>
                <span class="rows__target code">{line.id}</span>
            </th>
            <td>
                {line.webhook} {of} <span class="rows__target">{format!("✓ {}", line.verified)}</span>
            </td>
            <td>
                <span class:doubtful=line.is_late>{line.late}</span>
                <span class="rows__target">{line.came}</span>
                {again}
            </td>
            <td>{matched(line.matched)}</td>
        </tr>
    }
    .into_any()
}

fn matched(operations: Vec<MatchLine>) -> AnyView {
    if operations.is_empty() {
        return view! { <span class="quiet">"not matched"</span> }.into_any();
    }
    operations
        .into_iter()
        .map(|one| {
            view! {
                <a class="code" href=format!("/operations/{}", one.operation_id)>
                    {one.operation_key}
                </a>
                <span class="rows__target">{one.link}</span>
            }
        })
        .collect_view()
        .into_any()
}

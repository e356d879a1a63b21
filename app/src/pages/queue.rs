//! `/`: everything that waits for a person, uncertain first, and the decision of the chosen row beside it.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use tallystick_domain::query::QueueOrder;
use tallystick_domain::view::list::{GroupView, PanelView, QueueView, ReasonChip};

use super::loading::{Asked, Coming, Place, shown};
use super::{address, pairs_of, value, with, without};
use crate::api::Pairs;
use crate::api::operation::get_queue;
use crate::components::badge::state_phrase;
use crate::components::choosing::{PARAMETER, boxes, choosing};
use crate::components::decision::{action_cards, awaited, known};
use crate::components::notice::{empty, more};
use crate::components::rows::{LinkedRow, OrderLink, Orders, operation_table};
use crate::components::saved_views::{said, saved_views};
use crate::components::time::time;
use crate::morph::is_shown;

/// The queue.
#[component]
pub fn QueuePage() -> impl IntoView {
    let query = use_query_map();
    shown(Place {
        asked: Memo::new(move |_| Asked { names: vec![], pairs: query.with(pairs_of) }),
        fetch: |asked| -> Coming { Box::pin(get_queue(asked.pairs)) },
        concerns: |change, _| change.topic == "operation" && is_shown(&change.id),
        announces: true,
    })
}

/// What the page shows.
pub fn content(view: QueueView, asked: &Pairs) -> AnyView {
    // What is chosen belongs to these rows and no others: it goes into no link but those that choose.
    let pairs = &without(asked, &[PARAMETER, "view", "not_saved"]);
    let boxes = boxes(view.choosing.as_ref());
    let chosen_id = view.chosen.as_ref().map(|panel| panel.row.id.clone());
    let here = address("/", pairs);
    let count = view.rows.len();
    let rows: Vec<LinkedRow> = view
        .rows
        .into_iter()
        .map(|row| LinkedRow {
            href: address(&format!("/operations/{}", row.id), &vec![("back".into(), here.clone())]),
            select_href: Some(address("/", &with(pairs, "selected", &row.id))),
            is_chosen: chosen_id.as_ref() == Some(&row.id),
            has_box: boxes,
            row,
        })
        .collect();
    let list = match (rows.is_empty(), view.total == "0") {
        (true, true) => empty(
            "Nothing waits for a person",
            "Every operation on record is settled, or something that is under way will settle it. New doubts appear here by themselves.",
        ),
        (true, false) => empty("Nothing waits for this reason", "Others do: take the filter away to see them."),
        (false, _) => operation_table(caption(view.order), rows, orders(view.order, pairs)),
    };
    let is_grouped = view.groups.is_some();
    let list = match view.groups {
        Some((groups, is_cut)) => groups_of(groups, is_cut, pairs),
        None => list,
    };
    let next = view
        .next
        .filter(|_| !is_grouped)
        .map(|after| address("/", &with(&without(pairs, &["selected"]), "after", &after)));
    let earlier = value(pairs, "after").map(|_| {
        let first = address("/", &without(pairs, &["after", "selected"]));
        view! {
            <p class="part">
                "This is not the first page. "
                <a href=first>"To the most urgent"</a>
            </p>
        }
    });
    let choosing = view
        .choosing
        .filter(|_| count > 0 && !is_grouped)
        .map(|view| choosing(&view, asked, |to| address("/", &with(pairs, PARAMETER, to)), count));
    let panel = view.chosen.map(|chosen| panel(chosen, &here, &view.total));
    view! {
        <div class="split">
            <section class="split__list" aria-labelledby="queue-title">
                <div class="head">
                    <h1 id="queue-title">{title(&view.total)}</h1>
                    <p class="head__note">{note(view.oldest.as_deref(), view.losing_soon)}</p>
                    {grouping(is_grouped, pairs)}
                    {saved_views(view.views, "queue", "/", pairs)}
                </div>
                {said(asked)}
                {chips(view.chips, pairs)}
                {alike(pairs)}
                {earlier}
                {choosing}
                {list}
                {more(next, count)}
            </section>
            {panel}
        </div>
    }
    .into_any()
}

fn title(total: &str) -> String {
    match total {
        "0" => "No outcome needs a person".into(),
        "1" => "1 outcome needs a person".into(),
        many => format!("{many} outcomes need a person"),
    }
}

fn note(oldest: Option<&str>, losing_soon: u32) -> String {
    let oldest = oldest.map(|age| format!("oldest {age}"));
    let losing = match losing_soon {
        0 => None,
        1 => Some("1 loses its safe option within the hour".to_owned()),
        some => Some(format!("{some} lose their safe option within the hour")),
    };
    oldest.into_iter().chain(losing).collect::<Vec<_>>().join(" · ")
}

const fn caption(order: QueueOrder) -> &'static str {
    match order {
        QueueOrder::Urgency => "Operations that wait for a person, most urgent first",
        QueueOrder::Age => "Operations that wait for a person, those that wait longest first",
        QueueOrder::Stake => "Operations that wait for a person, the largest amounts first",
    }
}

/// The same list in other orders: from its start, and with nothing chosen.
fn orders(current: QueueOrder, pairs: &Pairs) -> Orders {
    let begun = without(pairs, &["after", "selected"]);
    let link = |order: QueueOrder, sorted| {
        let name = if order == QueueOrder::default() { "" } else { order.name() };
        Some(OrderLink {
            href: address("/", &with(&begun, "order", name)),
            sorted: (order == current).then_some(sorted),
        })
    };
    Orders {
        stake: link(QueueOrder::Stake, "descending"),
        window: link(QueueOrder::Urgency, "ascending"),
        age: link(QueueOrder::Age, "descending"),
    }
}

fn grouping(is_grouped: bool, pairs: &Pairs) -> AnyView {
    let others = without(pairs, &["after", "selected", "order", "grouped"]);
    let (value, label) = if is_grouped { ("", "One line each") } else { ("true", "Group equal ones") };
    view! { <a class="head__act" href=address("/", &with(&others, "grouped", value))>{label}</a> }.into_any()
}

/// What the list is narrowed to beside its reason, and the way out.
fn alike(pairs: &Pairs) -> Option<AnyView> {
    let names = ["tool", "destination", "cause"];
    let words: Vec<String> =
        names.iter().filter_map(|name| value(pairs, name).map(|value| format!("{name} {value}"))).collect();
    (!words.is_empty()).then(|| {
        let all = address("/", &without(pairs, &["tool", "destination", "cause", "after", "selected"]));
        view! {
            <p class="part">
                "Only " <strong>{words.join(" · ")}</strong> ". " <a href=all>"Show the others too"</a>
            </p>
        }
        .into_any()
    })
}

/// One line a group, with its members behind a link.
fn groups_of(groups: Vec<GroupView>, is_cut: bool, pairs: &Pairs) -> AnyView {
    if groups.is_empty() {
        return empty("Nothing to group", "No operation waits for a person here.");
    }
    let shown: usize = groups.len();
    let whole = without(pairs, &["grouped", "after", "selected", "order", "reason", "tool", "destination", "cause"]);
    let lines = groups.into_iter().map(|group| group_line(group, &whole)).collect_view();
    let cut = is_cut.then(|| {
        view! {
            <p class="part">
                {format!("Only the {shown} groups of the 10,000 most urgent operations were counted; more wait.")}
            </p>
        }
    });
    view! {
        {cut}
        <table class="rows rows--groups">
            <caption class="unseen">"Operations that wait for the same reason and failed in the same way"</caption>
            <thead>
                <tr>
                    <th scope="col">"Failed by"</th>
                    <th scope="col">"Waits for"</th>
                    <th scope="col">"Tool and destination"</th>
                    <th scope="col" class="number">"Operations"</th>
                    <th scope="col">"First"</th>
                    <th scope="col">"Last fact"</th>
                </tr>
            </thead>
            <tbody>{lines}</tbody>
        </table>
    }
    .into_any()
}

fn group_line(group: GroupView, whole: &Pairs) -> AnyView {
    let GroupView { filter, reason, target, cause, rule, count, first, last } = group;
    let members = filter.into_iter().fold(whole.clone(), |pairs, (name, value)| with(&pairs, &name, &value));
    let cause = cause.unwrap_or_else(|| "no answer on record".into());
    view! {
        <tr>
            <th scope="row" class="rows__operation">
                <a class="rows__key code" href=address("/", &members)>
                    {cause}
                </a>
                <span class="rows__target">{rule}</span>
            </th>
            <td>{reason}</td>
            <td>{target}</td>
            <td class="number">{count}</td>
            <td>{time(first)}</td>
            <td>{time(last)}</td>
        </tr>
    }
    .into_any()
}

fn chips(chips: Vec<ReasonChip>, pairs: &Pairs) -> AnyView {
    if chips.is_empty() {
        return ().into_any();
    }
    let unfiltered = without(pairs, &["reason", "tool", "destination", "cause", "after", "selected"]);
    let chips = chips
        .into_iter()
        .map(|chip| {
            let wanted = if chip.is_chosen { "" } else { chip.name.as_str() };
            let href = address("/", &with(&unfiltered, "reason", wanted));
            view! {
                <li>
                    <a class="filter" href=href aria-current=chip.is_chosen.then_some("true")>
                        {chip.label}
                        " "
                        <strong>{chip.count}</strong>
                    </a>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="filters" aria-label="Only one reason">{chips}</ul> }.into_any()
}

fn panel(panel: PanelView, here: &str, total: &str) -> AnyView {
    let href = address(&format!("/operations/{}", panel.row.id), &vec![("back".into(), here.to_owned())]);
    let position =
        panel.position.map_or_else(|| "not on this page".to_owned(), |position| format!("{position} of {total}"));
    let stake = panel.row.stake.map(|stake| format!(" · {stake}")).unwrap_or_default();
    let mut decision = panel.decision;
    let waiting = decision.awaited.take().map(awaited);
    // Only what is recommended gets the first button; where that cannot be pressed here, looking closer comes first.
    let recommended = decision.actions.iter().find(|action| action.is_recommended);
    let primary = recommended.and_then(|action| action.href.clone().map(|href| (href, action.label.clone())));
    let opens_first = primary.is_none();
    let primary = primary.map(|(href, label)| view! { <a class="button button--first" href=href>{label}</a> });
    let assign = format!("/operations/{}/assign", panel.row.id);
    view! {
        <aside class="split__side" aria-label="The chosen operation">
            <div class="panel__top">
                {state_phrase(panel.row.badge)} <span class="quiet">{position}</span>
            </div>
            <h2 class="panel__key code">{panel.row.key}</h2>
            <p class="quiet">{format!("{} · {}{stake}", panel.row.target, panel.class)}</p>
            {waiting}
            {known(&decision.known)}
            {action_cards(decision)}
            <div class="panel__foot">
                {primary} <a class="button" class:button--first=opens_first href=href>
                    "Open"
                </a> <a class="button panel__assign" href=assign>
                    "Assign"
                </a>
            </div>
        </aside>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_counts_in_words() {
        assert_eq!(title("0"), "No outcome needs a person");
        assert_eq!(title("1"), "1 outcome needs a person");
        assert_eq!(title("1004+"), "1004+ outcomes need a person");
        assert_eq!(note(Some("26 h"), 5), "oldest 26 h · 5 lose their safe option within the hour");
        assert_eq!(note(None, 0), "");
    }
}

//! `/budgets`: what each destination still bears, pausing and resuming it, and which processes took work.

use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use leptos_router::hooks::use_query_map;
use tallystick_domain::view::budgets::{BudgetView, BudgetsView, DestinationView, ExecutorView, HeldView};
use tallystick_domain::view::encoded;

use super::loading::{Asked, Coming, Place, shown};
use super::{pairs_of, value};
use crate::api::Pairs;
use crate::api::budgets::{AcknowledgeRestore, PauseDestination, get_budgets};
use crate::components::field::hidden;
use crate::components::notice::{banner, empty, failed_submission};
use crate::components::tally::share_bar;
use crate::components::time::{full_time, time};

/// The budgets.
#[component]
pub fn BudgetsPage() -> impl IntoView {
    let query = use_query_map();
    shown(Place {
        asked: Memo::new(move |_| Asked { names: vec![], pairs: query.with(pairs_of) }),
        fetch: |asked| -> Coming { Box::pin(get_budgets(asked.pairs)) },
        // Every send may change a budget.
        concerns: |_, _| true,
        announces: false,
    })
}

/// What came of the last form. The name in the address is anybody's, so it is looked for among the destinations.
fn said(pairs: &Pairs, destinations: &[DestinationView], is_held: bool) -> Option<AnyView> {
    if value(pairs, "acknowledged").is_some() {
        return Some(if is_held {
            let text = "Another restore was declared since you opened the page. Read this one, then acknowledge it.";
            banner("bad", "Not acknowledged".into(), text.into())
        } else {
            banner("good", "Acknowledged".into(), "What is authorised may be sent again.".into())
        });
    }
    let name = value(pairs, "changed")?;
    let one = destinations.iter().find(|one| one.name == name)?;
    Some(if one.is_paused {
        let text = "Nothing new is sent to it. What was on its way is not stopped, and its outcome is still recorded.";
        banner("good", format!("{name} is paused"), text.into())
    } else {
        banner("good", format!("{name} is not paused"), "What is authorised may be sent to it.".into())
    })
}

/// What the page shows.
pub fn content(view: BudgetsView, pairs: &Pairs) -> AnyView {
    let BudgetsView { destinations, executors, held, may_administer } = view;
    view! {
        <section class="page" aria-labelledby="budgets-title">
            <div class="head">
                <h1 id="budgets-title">"Budgets"</h1>
                <p class="head__note">"what retries each destination bears, shared by all processes"</p>
            </div>
            {said(pairs, &destinations, held.is_some())}
            {failed_submission(pairs)}
            {held.map(|held| hold(held, may_administer))}
            {list(destinations, may_administer)}
            {took_work(executors)}
        </section>
    }
    .into_any()
}

fn hold(held: HeldView, may: bool) -> AnyView {
    let why = (!may).then(|| view! { <p class="quiet">"Only an administrator acknowledges it."</p> });
    view! {
        <form class="box form" method="post" action=AcknowledgeRestore::url()>
            {hidden("declared_at", held.declared_at.utc.clone())}
            <h2 class="box__title">"Nothing is sent: the record is a restored copy"</h2>
            <p>
                "It is a copy of " {full_time(held.backup_at)} ", declared " {full_time(held.declared_at)}
                ". What was proposed, approved or sent after that time is not in it. Every operation that was not over is uncertain; look at the queue before anything is sent again."
            </p>
            {why}
            <div class="form__foot">
                <a class="button" href="/">"To the queue"</a>
                <button class="button" disabled=!may>"I have read what may be missing; go on sending"</button>
            </div>
        </form>
    }
    .into_any()
}

fn list(destinations: Vec<DestinationView>, may: bool) -> AnyView {
    if destinations.is_empty() {
        let text = "Write it into the configuration under [[destination]]; until then nothing is sent anywhere.";
        return empty("No destination is configured", text);
    }
    view! { <ul class="tools">{destinations.into_iter().map(|one| destination(one, may)).collect_view()}</ul> }
        .into_any()
}

fn destination(one: DestinationView, may: bool) -> AnyView {
    let DestinationView { name, scope, is_paused, budget, tools } = one;
    let operations = format!("/operations?destination={}", encoded(&name));
    let (state, press) = if is_paused { ("paused", "Resume") } else { ("sending", "Pause") };
    let tools = if tools.is_empty() {
        view! { <p class="quiet">"No tool acts on it."</p> }.into_any()
    } else {
        view! { <p>"Tools: " <span class="code">{tools.join(", ")}</span></p> }.into_any()
    };
    view! {
        <li class="box destination">
            <div class="tool__head">
                <h2 class="code">{name.clone()}</h2>
                <span class="tag" class:tag--strong=is_paused>{state}</span>
            </div>
            {bears(budget)}
            <p class="quiet">{scope}</p>
            {tools}
            <p>
                <a href=operations>"Its operations"</a>
            </p>
            <form method="post" action=PauseDestination::url()>
                {hidden("name", name.clone())} {hidden("is_paused", (!is_paused).to_string())}
                <button class="button" disabled=!may aria-label=format!("{press} {name}")>{press}</button>
                {(!may).then(|| view! { <span class="quiet">" Only an administrator does."</span> })}
            </form>
        </li>
    }
    .into_any()
}

fn bears(budget: Option<BudgetView>) -> AnyView {
    let Some(BudgetView { left, percent, rule, is_exhausted }) = budget else {
        return view! { <p>"No retry was paid for yet."</p> }.into_any();
    };
    let waits = is_exhausted.then(|| view! { <p class="doubtful">"The next retry waits."</p> });
    view! {
        <div class="budget" class:window--urgent=is_exhausted>
            <p class="budget__left">{left}</p>
            {share_bar(percent)}
        </div>
        {waits}
        <p class="quiet">{rule}</p>
    }
    .into_any()
}

fn took_work(executors: Vec<ExecutorView>) -> AnyView {
    if executors.is_empty() {
        return ().into_any();
    }
    let rows = executors
        .into_iter()
        .map(|one| {
            view! {
                <tr>
                    <th scope="row" class="code">{one.name}</th>
                    <td class="code">{one.incarnation}</td>
                    <td>{one.age} " ago, " {time(one.seen_at)}</td>
                    <td>{one.clock}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section class="box" aria-labelledby="executors-title">
            <h2 id="executors-title" class="box__title">"Processes that took work"</h2>
            <table class="plain">
                <thead>
                    <tr>
                        <th scope="col">"Worker"</th>
                        <th scope="col">"Process"</th>
                        <th scope="col">"Last spoke"</th>
                        <th scope="col">"Its clock"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
            <p class="quiet">"Nothing is decided by a worker's clock; it explains times that a worker reported."</p>
        </section>
    }
    .into_any()
}

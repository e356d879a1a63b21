//! `/budgets`: what each destination still bears and what that kept from being sent, pausing and resuming it, retries beside
//! first attempts, what limits each tool, and which processes took work.

use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use leptos_router::hooks::use_query_map;
use tallystick_domain::view::budgets::{
    BudgetView, BudgetsView, DestinationView, ExecutorView, HeldView, RefusedView, RetriesLine, RetriesView,
    ShortageView, ToolLimits,
};
use tallystick_domain::view::encoded;

use super::loading::{Asked, Coming, Place, shown};
use super::outcomes::{hatch, named, windows};
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
    let BudgetsView { destinations, retries, limits, executors, held, may_administer } = view;
    view! {
        <section class="page budgets" aria-labelledby="budgets-title">
            <div class="head">
                <h1 id="budgets-title">"Budgets"</h1>
                <p class="head__note">"what retries each destination bears, shared by all processes"</p>
            </div>
            {said(pairs, &destinations, held.is_some())}
            {failed_submission(pairs)}
            {held.map(|held| hold(held, may_administer))}
            {list(destinations, may_administer)}
            {retries_box(retries)}
            {limits_box(limits)}
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
    let DestinationView { name, scope, is_paused, budget, tools, shortage, waiting, refused } = one;
    let operations = format!("/operations?destination={}", encoded(&name));
    let (state, press) = if is_paused { ("paused", "Resume") } else { ("sending", "Pause") };
    view! {
        <li class="box destination">
            <div class="tool__head">
                <h2 class="code">{name.clone()}</h2>
                <span class="tag" class:tag--strong=is_paused>{state}</span>
            </div>
            {bears(budget)}
            <dl class="promises">
                {empty_line(shortage)}
                {waiting.map(|count| waiting_line(&name, &count))}
                {refused_line(&refused)}
                <div>
                    <dt>"Keys"</dt>
                    <dd>{scope}</dd>
                </div>
                <div>
                    <dt>"Tools"</dt>
                    <dd>{tool_links(tools)}</dd>
                </div>
            </dl>
            {refusals(refused)}
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

fn tool_links(tools: Vec<String>) -> AnyView {
    if tools.is_empty() {
        return "none acts on it".into_any();
    }
    let links = tools.into_iter().map(|name| {
        view! {
            <a class="code" href=format!("/tools/{}", encoded(&name))>
                {name.clone()}
            </a>
            " "
        }
    });
    links.collect_view().into_any()
}

fn bears(budget: Option<BudgetView>) -> AnyView {
    let Some(BudgetView { left, percent, costs, refill, is_exhausted }) = budget else {
        return view! { <p>"No retry was paid for yet."</p> }.into_any();
    };
    let waits = is_exhausted.then(|| view! { <p class="doubtful">"The next retry waits."</p> });
    view! {
        <div class="budget" class:window--urgent=is_exhausted>
            <p class="budget__left">{left}</p>
            {share_bar(percent)}
        </div>
        {waits}
        <dl class="promises">
            <div>
                <dt>"Costs"</dt>
                <dd>{costs}</dd>
            </div>
            <div>
                <dt>"Refill"</dt>
                <dd>{refill}</dd>
            </div>
        </dl>
    }
    .into_any()
}

fn empty_line(shortage: ShortageView) -> AnyView {
    let since = shortage.since.map(|at| view! { " since " {time(at)} });
    view! {
        <div>
            <dt>"Last empty"</dt>
            <dd>
                <span class:doubtful=shortage.is_now>{shortage.words}</span>
                {since}
            </dd>
        </div>
    }
    .into_any()
}

fn waiting_line(name: &str, count: &str) -> AnyView {
    let href = format!("/operations?destination={}&state=retry_wait", encoded(name));
    view! {
        <div>
            <dt>"Wait for it"</dt>
            <dd>
                {format!("{count} retries that are due, of ")} <a href=href>"those that wait to retry"</a>
            </dd>
        </div>
    }
    .into_any()
}

fn refused_line(refused: &RefusedView) -> AnyView {
    view! {
        <div>
            <dt>"Refused"</dt>
            <dd>{format!("{} dispatches in the window below; nothing was sent", refused.count)}</dd>
        </div>
    }
    .into_any()
}

fn refusals(refused: RefusedView) -> AnyView {
    if refused.newest.is_empty() {
        return ().into_any();
    }
    let lines = refused
        .newest
        .into_iter()
        .map(|one| {
            view! {
                <li>
                    <a class="code" href=one.href>
                        {one.key}
                    </a>
                    " "
                    {time(one.at)}
                    <span class="rows__target">{one.why}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <details>
            <summary>"The newest that it refused"</summary>
            <ul class="facts">{lines}</ul>
        </details>
    }
    .into_any()
}

fn retries_box(view: RetriesView) -> AnyView {
    let RetriesView { window, span, zone, standing, rows, left_out } = view;
    let parts = if window.is_by_hour() { "Hours" } else { "Days" };
    let content = if rows.is_empty() {
        empty("Nothing was attempted in this window", "Choose a longer one.")
    } else {
        table_of_retries(rows, left_out)
    };
    view! {
        <section class="box outcomes" aria-labelledby="retries-title">
            <h2 id="retries-title" class="box__title">"Retries as a share of first attempts, by destination"</h2>
            {windows("/budgets", window)}
            <p class="outcomes__rule">
                {format!(
                    "{parts} of {zone}, the workspace's zone. {span}. First attempts: operations whose first attempt is in the window. Retries: their further attempts, whenever they were made, ours and those that others reported. ",
                )} <span class:doubtful=standing.is_partial>{standing.words}</span>
            </p>
            {content}
        </section>
    }
    .into_any()
}

fn table_of_retries(rows: Vec<RetriesLine>, left_out: usize) -> AnyView {
    let rows = rows.into_iter().map(retries_row).collect_view();
    let part = (left_out > 0).then(
        || view! { <p class="quiet">{format!("{left_out} more are left out, those with the fewest retries.")}</p> },
    );
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Retries by destination">
            <table class="plain" id="retries">
                <thead>
                    <tr>
                        <th scope="col">"Destination"</th>
                        <th scope="col" class="number">"First attempts"</th>
                        <th scope="col" class="number">"Retries"</th>
                        <th scope="col" class="number">"Retries ÷ first attempts"</th>
                        <th scope="col">
                            <span class="unseen">"Drawn"</span>
                        </th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {part}
        <p class="legend">
            <span class="legend__one">
                <svg class="legend__sign" viewBox="0 0 12 12" aria-hidden="true">
                    <defs>{hatch("retries-hatch")}</defs>
                    <rect class="chart__solid" width="12" height="12" rx="2"></rect>
                </svg>
                "first attempts"
            </span>
            <span class="legend__one">
                <svg class="legend__sign" viewBox="0 0 12 12" aria-hidden="true">
                    <rect class="chart__ground" width="12" height="12" rx="2"></rect>
                    <rect class="chart__hatched" width="12" height="12" rx="2" fill="url(#retries-hatch)"></rect>
                </svg>
                "retries, on the same scale"
            </span>
        </p>
    }
    .into_any()
}

fn retries_row(line: RetriesLine) -> AnyView {
    // Something is never drawn as nothing.
    let drawn = |thousandths: u32, is_there: bool| (thousandths * 240 / 1_000).max(if is_there { 2 } else { 0 });
    let solid = drawn(line.solid, true);
    let hatched = drawn(line.hatched, line.retries != "0");
    view! {
        <tr>
            <th scope="row">{named(line.name, line.href)}</th>
            <td class="number">{line.firsts}</td>
            <td class="number">{line.retries}</td>
            <td class="number" class:loud=line.is_loud>
                {line.share}
            </td>
            <td>
                <svg class="strip" viewBox="0 0 244 12" aria-hidden="true">
                    <rect class="chart__solid" width=solid.to_string() height="12"></rect>
                    <rect class="chart__ground" x=solid.to_string() width=hatched.to_string() height="12"></rect>
                    <rect
                        class="chart__hatched"
                        x=solid.to_string()
                        width=hatched.to_string()
                        height="12"
                        fill="url(#retries-hatch)"
                    ></rect>
                </svg>
            </td>
        </tr>
    }
    .into_any()
}

fn limits_box(tools: Vec<ToolLimits>) -> AnyView {
    let Some(first) = tools.first() else { return ().into_any() };
    let heads = first.limits.iter().map(|limit| limit.name.clone());
    let heads = heads.map(|name| view! { <th scope="col" class="number">{name}</th> }).collect_view();
    let rows = tools.into_iter().map(limits_row).collect_view();
    view! {
        <section class="box" aria-labelledby="limits-title">
            <h2 id="limits-title" class="box__title">
                "What limits an operation, by class " <span class="quiet">"* by default, where the tool is silent"</span>
            </h2>
            <div class="table-wrap" tabindex="0" role="region" aria-label="What limits an operation">
                <table class="plain limits">
                    <thead>
                        <tr>
                            <th scope="col">"Class"</th>
                            <th scope="col">"Tool → destination"</th>
                            {heads}
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <p class="quiet">
                "Attempts by itself: in one episode, before a person is asked. Attempts at most: what grants can never lift. Deadline: from when it is recorded, where its proposal names none."
            </p>
        </section>
    }
    .into_any()
}

fn limits_row(one: ToolLimits) -> AnyView {
    let cells = one
        .limits
        .into_iter()
        .map(|limit| {
            let default = limit.is_default.then_some(" *");
            view! {
                <td class="number" class:quiet=limit.is_default>
                    {limit.value}
                    {default}
                </td>
            }
        })
        .collect_view();
    view! {
        <tr>
            <td>{one.class}</td>
            <th scope="row">
                <a class="code" href=format!("/tools/{}", encoded(&one.tool))>
                    {one.tool.clone()}
                </a>
                {one.destination.map(|name| view! { <span class="quiet">{format!(" → {name}")}</span> })}
            </th>
            {cells}
        </tr>
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

//! `/workflows/{name}`: the steps of one workflow, what each waits for, and who undoes it.

use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use leptos_router::hooks::{use_params_map, use_query_map};
use tallystick_domain::view::encoded;
use tallystick_domain::view::workflows::{StepLine, WorkflowView};

use super::loading::{Asked, Coming, Place, shown};
use super::workflows::way;
use super::{pairs_of, value};
use crate::api::Pairs;
use crate::api::workflows::{DeclareWorkflow, get_workflow};
use crate::components::badge::state_badge;
use crate::components::field::hidden;
use crate::components::notice::{banner, empty, failed_submission};
use crate::components::time::full_time;

/// One workflow.
#[component]
pub fn WorkflowPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    shown(Place {
        asked: Memo::new(move |_| Asked {
            names: vec![params.with(|params| params.get("name").unwrap_or_default())],
            pairs: query.with(pairs_of),
        }),
        fetch: |asked| -> Coming { Box::pin(get_workflow(asked.name(0), asked.pairs)) },
        // A step that changes may change what every other waits for.
        concerns: |change, _| change.topic == "operation",
        announces: false,
    })
}

/// What the page shows.
pub fn content(view: &WorkflowView, pairs: &Pairs) -> AnyView {
    let WorkflowView { line, steps, problem, .. } = view;
    let saved = value(pairs, "saved").map(|_| {
        banner("good", "Saved".into(), "From now on the workflow is undone and owned as the form says.".into())
    });
    let problem = problem.clone().map(|problem| {
        banner(
            "bad",
            "These steps do not make a workflow".into(),
            format!("{problem}. Nothing of it is undone by itself."),
        )
    });
    view! {
        <section class="page workflow" aria-labelledby="workflow-title">
            <p class="back">
                <a href="/workflows">"← Workflows"</a>
            </p>
            <div class="head">
                <h1 id="workflow-title" class="operation__key code">
                    {line.name.clone()}
                </h1>
                {way(line.word.clone(), line.needs_person)}
            </div>
            <p>{format!("{} {}. Begun ", line.sentence, line.done)} {full_time(line.begun_at.clone())} "."</p>
            {saved}
            {failed_submission(pairs)}
            {problem}
            {steps_of(steps.clone())}
            {declaration(view)}
        </section>
    }
    .into_any()
}

fn steps_of(steps: Vec<StepLine>) -> AnyView {
    if steps.is_empty() {
        return empty(
            "No step is on record",
            "A step is an operation that was proposed with a place in this workflow.",
        );
    }
    let rows = steps.into_iter().map(step).collect_view();
    view! {
        <div class="box table-wrap" tabindex="0" role="region" aria-label="Steps">
            <table class="plain">
                <thead>
                    <tr>
                        <th scope="col">"Step"</th>
                        <th scope="col">"Operation"</th>
                        <th scope="col">"State"</th>
                        <th scope="col">"Kind"</th>
                        <th scope="col">"Undo"</th>
                        <th scope="col">"What it waits for"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn step(step: StepLine) -> AnyView {
    let undo = match (step.undo, step.undo_id) {
        (Some(words), Some(id)) => view! { <a href=format!("/operations/{id}")>{words}</a> }.into_any(),
        (Some(words), None) => words.into_any(),
        (None, _) => view! { <span class="quiet">"none"</span> }.into_any(),
    };
    view! {
        <tr>
            <td>{step.number}</td>
            <th scope="row">
                <a class="code" href=format!("/operations/{}", encoded(&step.id))>
                    {step.key}
                </a>
                <span class="quiet">" "{step.tool}</span>
            </th>
            <td>{state_badge(step.state)}</td>
            <td>{step.kind}</td>
            <td>{undo}</td>
            <td class:doubtful=step.needs_person>{step.note.unwrap_or_else(|| "nothing".into())}</td>
        </tr>
    }
    .into_any()
}

fn declaration(view: &WorkflowView) -> AnyView {
    let (by_itself, may) = (view.unwinds_by_itself, view.may_declare);
    let owner = view.owner_id.clone();
    let options = view
        .people
        .clone()
        .into_iter()
        .map(|(id, name)| {
            let is_owner = owner.as_deref() == Some(id.as_str());
            view! {
                <option value=id selected=is_owner>
                    {name}
                </option>
            }
        })
        .collect_view();
    let why = (!may).then(|| view! { <p class="quiet">"A viewer does not change this."</p> });
    view! {
        <form class="box form" method="post" action=DeclareWorkflow::url() aria-labelledby="undoing-title">
            {hidden("name", view.line.name.clone())}
            <h2 id="undoing-title" class="box__title">"When it has to go back"</h2>
            <label class="field">
                <span class="field__label">"Who undoes its steps"</span>
                <select name="unwinds" disabled=!may>
                    <option value="by_people" selected=!by_itself>
                        "People, step by step"
                    </option>
                    <option value="by_itself" selected=by_itself>
                        "Tallystick proposes each undo in its turn"
                    </option>
                </select>
                <span class="field__hint">
                    "Either way each undo is an operation of its own and is sent only when a person has approved it. Nothing past the point of no return is undone by itself."
                </span>
            </label>
            <label class="field">
                <span class="field__label">"Who recovers it when an undo is stuck"</span>
                <select name="owner" disabled=!may>
                    <option value="">"nobody"</option>
                    {options}
                </select>
            </label>
            {why}
            <div class="form__foot">
                <button class="button" disabled=!may>"Save"</button>
            </div>
        </form>
    }
    .into_any()
}

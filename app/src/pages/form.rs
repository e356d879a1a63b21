//! `/operations/{id}/{action}`: the form of one action. It says what pressing does before it is pressed; the server
//! judges again on submit. A plain form: it works alike with and without script.

use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use leptos_router::hooks::{use_params_map, use_query_map};
use tallystick_domain::view::action::{ArgumentsForm, FormView, PreviewView, RefusedView, Typed};

use super::loading::{Asked, Coming, Place, shown, unconcerned};
use super::pairs_of;
use crate::api::Pairs;
use crate::api::action::{SubmitAction, get_action_form};
use crate::components::badge::{state_badge, verdict_badge};
use crate::components::difference::difference;
use crate::components::field::{self, TextField, hidden};
use crate::components::notice::failed_submission;
use crate::components::time::full_time;
use crate::components::timeline::journal;

/// The form of one action.
#[component]
pub fn FormPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    shown(Place {
        asked: Memo::new(move |_| Asked {
            names: params.with(|params| ["id", "action"].map(|name| params.get(name).unwrap_or_default()).to_vec()),
            pairs: query.with(pairs_of),
        }),
        fetch: |asked| -> Coming { Box::pin(get_action_form(asked.name(0), asked.name(1), asked.pairs)) },
        // The form shows one version, and the server tells when it is not the newest any more.
        concerns: unconcerned,
        announces: false,
    })
}

/// What the page shows.
pub fn content(mut view: FormView, pairs: &Pairs) -> AnyView {
    let back = format!("/operations/{}", view.operation_id);
    let refused = view.refused.take().map(refused);
    let consequence = view.consequence.drain(..).map(|line| view! { <li>{line}</li> }).collect_view();
    let why = view! {
        <p>{view.why.clone()}</p>
        <p class="quiet">{view.grounds.join(" · ")} " · as of " {full_time(view.as_of.clone())}</p>
    };
    let head = view! {
        <nav class="back" aria-label="Back">
            <a href=back.clone()>{format!("← {}", view.operation_key)}</a>
        </nav>
        <div class="operation__top">
            <h1>{view.label.clone()}</h1>
            {verdict_badge(view.verdict)}
        </div>
        <p class="form__about">
            {state_badge(view.badge.clone())}
            " "
            <span class="code">{view.operation_key.clone()}</span>
            {format!(" · {} · {}", view.target, view.stake)}
        </p>
    };
    let request = view.preview.take().map(preview);
    let body = match (view.obstacle.take(), view.arguments.take()) {
        (Some(obstacle), _) => closed(&view.label, obstacle, &back),
        (None, Some(ArgumentsForm::ByApi { why, calls })) => by_api(why, calls, back),
        (None, Some(ArgumentsForm::Field(text))) => open_form(view, arguments_field(&text), back),
        (None, None) => {
            let fields = fields_of(&view);
            open_form(view, fields, back)
        }
    };
    view! {
        <article class="page page--narrow">
            {failed_submission(pairs)}
            {head}
            {refused}
            <section class="box">
                <h2 class="box__title">"What this does"</h2>
                <ul class="consequence">{consequence}</ul>
                <details class="card__why">
                    <summary>"why this verdict"</summary>
                    {why}
                </details>
            </section>
            {request}
            {body}
        </article>
    }
    .into_any()
}

/// A button that may not be pressed stays, with the reason.
fn closed(label: &str, obstacle: String, back: &str) -> AnyView {
    view! {
        <section class="box">
            <p>{obstacle}</p>
            <div class="form__foot">
                <button class="button" disabled=true>
                    {label.to_owned()}
                </button>
                <a class="button" href=back.to_owned()>
                    "Back to the operation"
                </a>
            </div>
        </section>
    }
    .into_any()
}

/// No field, and no button: what a page can show of these arguments is not what they are.
fn by_api(why: String, calls: String, back: String) -> AnyView {
    view! {
        <section class="box">
            <p>{why}</p>
            <pre class="code-box code-box--copied" tabindex="0"><code>{calls}</code></pre>
            <div class="form__foot">
                <a class="button" href=back>
                    "Back to the operation"
                </a>
            </div>
        </section>
    }
    .into_any()
}

fn refused(view: RefusedView) -> AnyView {
    let changes = (!view.changes.is_empty()).then(|| {
        view! {
            <h3 class="label">{format!("What changed since version {}, which you had seen", view.seen_version)}</h3>
            {journal(view.changes)}
        }
    });
    let differs = view.difference.map(|differs| {
        view! {
            <h3 class="label">"How what you typed differs from the arguments in force"</h3>
            {difference(differs)}
        }
    });
    let title = if view.is_stale { "Not done: the operation changed while you were deciding" } else { "Not done" };
    view! {
        <section class="banner banner--bad" role="alert">
            <p class="banner__title">{title}</p>
            <p>{view.text}</p>
            {changes}
            {differs}
            <p class="quiet">"What you typed is kept below. The refusal is in the audit log."</p>
        </section>
    }
    .into_any()
}

fn open_form(view: FormView, fields: AnyView, back: String) -> AnyView {
    let reason = reason_field(&view);
    let confirmation = view.confirm_text.clone().map(confirmation_field);
    let button = if view.verdict == tallystick_domain::decision::Verdict::Dual {
        format!("Ask for a second person: {}", view.label)
    } else {
        view.label.clone()
    };
    view! {
        <form class="box form" method="post" action=SubmitAction::url()>
            {hidden("operation_id", view.operation_id)}
            {hidden("action", view.name)}
            {hidden("action_key", view.action_key)}
            {hidden("seen_version", view.seen_version)}
            {fields}
            {reason}
            {confirmation}
            <div class="form__foot">
                <button class="button button--first">{button}</button>
                <a class="button" href=back>
                    "Cancel"
                </a>
            </div>
            <p class="quiet">"Pressing twice does it once: this form has its own key."</p>
        </form>
    }
    .into_any()
}

fn reason_field(view: &FormView) -> AnyView {
    let is_remark = view.name == "comment";
    let (label, hint) = match (is_remark, view.needs_reason) {
        (true, _) => ("Comment", "It stays on the timeline and in the audit log."),
        (false, true) => ("Reason", "It goes into the audit log, with your name."),
        (false, false) => ("Reason (optional)", "It goes into the audit log, with your name."),
    };
    field::reason_field(label, hint, &view.typed.reason, view.needs_reason)
}

/// A field in which the end of the operation key must be typed.
pub fn confirmation_field(text: String) -> AnyView {
    view! {
        <label class="field">
            <span class="field__label">
                "To confirm, type " <code>{text}</code>
            </span>
            <input
                type="text"
                name="confirmation"
                class="code"
                maxlength="255"
                required=true
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
            />
            <span class="field__hint">"The end of the operation key, so that it is this one."</span>
        </label>
    }
    .into_any()
}

fn fields_of(view: &FormView) -> AnyView {
    let Typed { receipt, reference, statement, pick, to, attempts, deadline, code, .. } = view.typed.clone();
    match view.name.as_str() {
        "mark_succeeded" => view! {
            {receipt_field(receipt, &view.receipts, "The destination's own name for the object, from its own pages.")}
            <TextField
                name="reference"
                label="Other reference (optional)"
                hint="A ticket, a statement line, a link. Without receipt and reference, a second person must agree."
                initial=reference
                limit=500
                required=false
            />
        }
        .into_any(),
        "adopt" => view! {
            <TextField
                name="statement"
                label="State that the other system sends no more"
                hint="For example: the import job is switched off since 14:05, checked in its console."
                initial=statement
                limit=500
                required=true
            />
        }
        .into_any(),
        "pick_verdict" => view! {
            <fieldset class="field">
                <legend class="field__label">"Which way"</legend>
                {pick_option("succeeded", "The effect stands", &pick)}
                {pick_option("failed", "There is no effect", &pick)}
            </fieldset>
            {receipt_field(receipt, &view.receipts, "Which object stands, when the effect stands.")}
        }
        .into_any(),
        "grant_attempts" => view! {
            <TextField
                name="attempts"
                label="Attempts more"
                hint="A whole number. The hard cap of the tool cannot be lifted; 0 leaves the attempts as they are."
                initial=attempts
                limit=3
                required=true
            />
            <TextField
                name="deadline"
                label="Later deadline (optional)"
                hint="In UTC, such as 2026-10-05T09:00:00Z."
                initial=deadline
                limit=40
                required=false
            />
        }
        .into_any(),
        "attach_evidence" => {
            receipt_field(receipt, &view.receipts, "The destination's name for what you found; empty, if it has none.")
        }
        "compensate" => {
            receipt_field(receipt, &view.receipts, "Which effect is to be undone. With a single one it may stay empty.")
        }
        "dismiss_finding" => finding_field(view, &code),
        "waive" => receipt_field(receipt, &view.receipts, "Which surplus object is left standing."),
        "assign" => assignee_field(view, &to),
        _ => ().into_any(),
    }
}

fn pick_option(value: &'static str, label: &'static str, chosen: &str) -> AnyView {
    view! {
        <label class="check">
            <input type="radio" name="pick" value=value required=true checked=value == chosen />
            {label}
        </label>
    }
    .into_any()
}

fn receipt_field(typed: String, known: &[String], hint: &'static str) -> AnyView {
    let on_record = (!known.is_empty()).then(|| {
        view! {
            <p class="field__hint">
                "On record: " <span class="code">{known.join(" · ")}</span>
            </p>
        }
    });
    view! {
        <TextField name="receipt" label="Receipt" hint=hint initial=typed limit=255 required=false is_code=true />
        {on_record}
    }
    .into_any()
}

/// The whole arguments as they are; never a shortened preview, which would be kept as if it were all.
fn arguments_field(text: &str) -> AnyView {
    field::code_field("arguments", "Arguments", "A JSON object, kept exactly as written here.", text)
}

fn finding_field(view: &FormView, chosen: &str) -> AnyView {
    let options = view
        .findings
        .iter()
        .map(|(code, text)| {
            view! {
                <label class="check">
                    <input type="radio" name="code" value=code.clone() required=true checked=code == chosen />
                    {text.clone()}
                </label>
            }
        })
        .collect_view();
    view! {
        <fieldset class="field">
            <legend class="field__label">"Which finding"</legend>
            {options}
        </fieldset>
    }
    .into_any()
}

fn preview(view: PreviewView) -> AnyView {
    let text = view.text.map(|text| view! { <pre class="code-box" tabindex="0"><code>{text}</code></pre> });
    view! {
        <section class="box" aria-labelledby="request-title">
            <h2 id="request-title" class="box__title">"The request"</h2>
            {text}
            <p class="quiet">{view.note}</p>
        </section>
    }
    .into_any()
}

fn assignee_field(view: &FormView, typed: &str) -> AnyView {
    let chosen = if typed.is_empty() { view.own_id.as_str() } else { typed };
    let options = view
        .people
        .iter()
        .map(|(id, name)| {
            let label = if *id == view.own_id { format!("{name} (you)") } else { name.clone() };
            view! {
                <option value=id.clone() selected=id == chosen>
                    {label}
                </option>
            }
        })
        .collect_view();
    view! {
        <label class="field">
            <span class="field__label">"Owner"</span>
            <select name="to">
                <option value="">"nobody"</option>
                {options}
            </select>
        </label>
    }
    .into_any()
}

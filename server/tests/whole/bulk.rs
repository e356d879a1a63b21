//! Bulk actions from outside: by the API and by the pages, for good input and for bad, and in a process that is killed.

use std::time::Duration;

use serde_json::{Value, json};
use tallystick_domain::action::ActionInput;
use tallystick_domain::bulk::{Bulk, Selection};
use tallystick_domain::permission::Role;
use tallystick_ledger::people::NewPrincipal;

use crate::scene::{Scene, actor};
use crate::support::{App, Client};

/// An app with so many proposals, and their ids in order.
async fn with_proposals(count: usize) -> (App, Vec<String>) {
    let app = App::start().await.with_tool().await;
    let ids = propose(&app, 0..count).await;
    (app, ids)
}

async fn propose(app: &App, keys: std::ops::Range<usize>) -> Vec<String> {
    let mut ids = Vec::new();
    for number in keys {
        let body = json!({"operation_key": format!("k-{number}"), "tool": "pay", "arguments": {"n": number}});
        let made = app.client(Role::Automation).post("/api/v1/operations", &body).await;
        ids.push(made.json()["id"].as_str().unwrap().to_owned());
    }
    ids
}

async fn preview(client: &Client, body: &Value) -> Value {
    let made = client.post("/api/v1/bulk", body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let document = made.json();
    assert_eq!(made.header("location"), Some(format!("/api/v1/bulk/{}", document["id"].as_str().unwrap()).as_str()));
    document
}

fn path(bulk: &Value, verb: &str) -> String {
    format!("/api/v1/bulk/{}{verb}", bulk["id"].as_str().unwrap())
}

fn confirm(bulk: &Value) -> Value {
    json!({"hash": bulk["hash"], "reason": "asked by the customer"})
}

/// Carries out what runs, as the process does in the background.
async fn carry_out(app: &App) {
    while app.ledger.carry_on_bulks("test").await.unwrap() > 0 {}
}

async fn states(app: &App, ids: &[String]) -> Vec<Value> {
    let mut states = Vec::new();
    for id in ids {
        states.push(app.client(Role::Viewer).get(&format!("/api/v1/operations/{id}")).await.json()["state"].clone());
    }
    states
}

#[tokio::test]
async fn a_filter_is_frozen_started_once_and_each_item_tells_where_it_stands() {
    let (app, mut ids) = with_proposals(3).await;
    let operator = app.client(Role::Operator);
    let asked = json!({"action": "cancel", "filter": {"list": "operations", "tool": "pay"}});
    let bulk = preview(&operator, &asked).await;
    assert_eq!(
        (&bulk["state"], &bulk["item_count"], &bulk["eligible_count"]),
        (&json!("previewed"), &json!(3), &json!(3))
    );
    assert_eq!(bulk["origin"]["filter"]["tool"], "pay");
    assert_eq!(bulk["items"].as_array().unwrap().iter().filter(|item| item["standing"] == "waiting").count(), 3);
    ids.extend(propose(&app, 3..4).await);
    for replayed in [None, Some("true")] {
        let started = operator.post(&path(&bulk, "/start"), &confirm(&bulk)).await;
        assert_eq!((started.status, started.header("idempotency-replayed")), (202, replayed), "{}", started.text());
        assert_eq!(started.json()["state"], "running");
    }
    carry_out(&app).await;
    assert_eq!(states(&app, &ids).await, ["cancelled", "cancelled", "cancelled", "proposed"]);
    let done = app.client(Role::Viewer).get(&path(&bulk, "")).await.json();
    assert_eq!((&done["state"], &done["reason"]), (&json!("done"), &json!("asked by the customer")));
    assert_eq!((&done["counts"]["accepted"], &done["counts"]["attempted"]), (&json!(3), &json!(0)));
    let key = done["items"][0]["action_key"].as_str().unwrap();
    let action = app.client(Role::Viewer).get(&format!("/api/v1/actions/{}", key.replace(':', "%3A"))).await.json();
    assert_eq!((&action["status"], &action["operation_id"]), (&json!("done"), &done["items"][0]["operation_id"]));
    let again = operator.post(&path(&bulk, "/start"), &confirm(&bulk)).await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (202, Some("true")), "also when it is over");
}

#[tokio::test]
async fn what_is_wrong_with_a_preview_is_said_and_nothing_is_kept() {
    let (app, ids) = with_proposals(1).await;
    let operator = app.client(Role::Operator);
    let many: Vec<String> = (0..1001).map(|number| format!("ghost-{number}")).collect();
    for (body, status, code, said) in [
        (json!({"action": "approve", "operations": ids}), 422, "bad-field", "one operation at a time"),
        (json!({"action": "bury", "operations": ids}), 400, "bad-body", "no action"),
        (json!({"action": "comment"}), 400, "bad-body", "either"),
        (json!({"action": "comment", "operations": ids, "filter": {}}), 400, "bad-body", "not both"),
        (json!({"action": "comment", "operations": []}), 422, "bad-field", "at least one"),
        (json!({"action": "comment", "operations": many}), 422, "bad-field", "more than 1000"),
        (json!({"action": "comment", "operations": ["ghost"]}), 404, "unknown", "ghost"),
        (json!({"action": "comment", "operations": ["a\nb"]}), 422, "bad-field", "U+000A"),
        (json!({"action": "comment", "filter": {}}), 400, "bad-query", "queue or operations"),
        (json!({"action": "comment", "filter": {"list": "queue"}}), 422, "bad-field", "mean everything"),
        (json!({"action": "comment", "filter": {"list": "operations", "after": "x"}}), 400, "bad-body", "after"),
        (json!({"action": "comment", "filter": {"list": "operations", "stat": "x"}}), 400, "bad-body", "stat"),
        (
            json!({"action": "comment", "filter": {"list": "operations", "state": "lost"}}),
            400,
            "bad-query",
            "uncertain",
        ),
        (json!({"action": "comment", "to": "x", "operations": ids}), 422, "bad-field", "only for assign"),
        (json!({"action": "comment", "operations": ids, "reason": "r"}), 400, "bad-body", "reason"),
    ] {
        let problem = operator.post("/api/v1/bulk", &body).await.assert_problem(status, code);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said) && detail.contains("Nothing was done"), "{said}: {detail}");
    }
    for role in [Role::Viewer, Role::Automation] {
        let body = json!({"action": "assign", "operations": ids});
        app.client(role).post("/api/v1/bulk", &body).await.assert_problem(403, "not-permitted");
    }
    operator.get("/api/v1/bulk/none").await.assert_problem(404, "unknown");
}

#[tokio::test]
async fn only_the_maker_starts_and_only_what_was_read() {
    let (app, ids) = with_proposals(2).await;
    let operator = app.client(Role::Operator);
    let bulk = preview(&operator, &json!({"action": "cancel", "operations": ids})).await;
    let start = path(&bulk, "/start");
    app.client(Role::Approver).post(&start, &confirm(&bulk)).await.assert_problem(403, "bulk-of-another");
    app.client(Role::Viewer).post(&start, &confirm(&bulk)).await.assert_problem(403, "not-permitted");
    let other = json!({"hash": "0".repeat(64), "reason": "r"});
    let problem = operator.post(&start, &other).await.assert_problem(409, "bulk-not-startable");
    assert_eq!(problem["why"], "differs");
    operator.post(&start, &json!({"hash": "x", "reason": "r"})).await.assert_problem(422, "bad-field");
    operator.post(&start, &json!({"hash": bulk["hash"]})).await.assert_problem(422, "reason-missing");
    operator.post(&start, &json!({"reason": "r"})).await.assert_problem(400, "bad-body");
    app.set_clock("2026-10-05T09:00:00Z").await;
    let problem = operator.post(&start, &confirm(&bulk)).await.assert_problem(409, "bulk-not-startable");
    assert_eq!(problem["why"], "expired");
    carry_out(&app).await;
    assert_eq!(states(&app, &ids).await, ["proposed", "proposed"]);
}

#[tokio::test]
async fn a_stop_leaves_what_was_not_begun_and_stopping_again_is_the_same_stop() {
    let (app, ids) = with_proposals(30).await;
    let operator = app.client(Role::Operator);
    let bulk = preview(&operator, &json!({"action": "cancel", "operations": ids})).await;
    operator.post(&path(&bulk, "/start"), &confirm(&bulk)).await;
    app.ledger.carry_on_bulks("test").await.unwrap();
    app.client(Role::Viewer).post_text(&path(&bulk, "/abort"), "").await.assert_problem(403, "not-permitted");
    for replayed in [None, Some("true")] {
        let stopped = app.client(Role::Approver).post_text(&path(&bulk, "/abort"), "").await;
        assert_eq!((stopped.status, stopped.header("idempotency-replayed")), (200, replayed), "{}", stopped.text());
        assert_eq!(stopped.json()["stopped_because"], "The approver stopped it.");
    }
    carry_out(&app).await;
    let counts = operator.get(&path(&bulk, "")).await.json()["counts"].clone();
    assert_eq!((&counts["accepted"], &counts["not_begun"]), (&json!(25), &json!(5)));
}

#[tokio::test]
async fn a_thousand_are_previewed_and_their_start_is_answered_before_any_of_them_is_carried_out() {
    let app = App::start().await;
    app.trust("feed", tallystick_domain::evidence::Trust::Verified).await;
    let line = |n: usize| {
        format!(
            "{{\"ts\":\"2026-10-05T07:00:00Z\",\"ev\":\"operation.proposed\",\"op\":\"o{n}\",\"key\":\"k{n}\",\"tool\":\"pay\"}}\n"
        )
    };
    let lines: String = (0..1000).map(line).collect();
    assert_eq!(app.client(Role::Automation).events("feed", &lines).await.status, 200);
    let operator = app.client(Role::Operator);
    let filter = json!({"action": "comment", "filter": {"list": "operations", "tool": "pay"}});
    let bulk = preview(&operator, &filter).await;
    assert_eq!(bulk["eligible_count"], 1000);
    let (address, confirmed) = (path(&bulk, "/start"), confirm(&bulk));
    assert_eq!(operator.post(&address, &confirmed).await.status, 202);
    let counts = operator.get(&path(&bulk, "")).await.json()["counts"].clone();
    assert_eq!((&counts["accepted"], &counts["waiting"]), (&json!(0), &json!(1000)), "only its state changed");
    carry_out(&app).await;
    assert_eq!(operator.get(&path(&bulk, "")).await.json()["counts"]["accepted"], 1000);
}

/// What a form on a page holds, by name.
fn field(page: &str, name: &str) -> String {
    let input = page.split("<input").find(|input| input.contains(&format!("name=\"{name}\""))).unwrap_or_else(|| {
        panic!("{name} is not among the fields of {page}");
    });
    let value = input.split("value=\"").nth(1).unwrap().split('"').next().unwrap();
    value.replace("&quot;", "\"").replace("&amp;", "&")
}

async fn press_preview(client: &Client, page: &str, scope: &str, ids: &[String]) -> String {
    let (list, filter) = (field(page, "list"), field(page, "filter"));
    let mut fields =
        vec![("list", list.as_str()), ("filter", filter.as_str()), ("scope", scope), ("action", "cancel"), ("to", "")];
    fields.extend(ids.iter().map(|id| ("ids[]", id.as_str())));
    let answer = client.post_form("/ui/preview_bulk", &fields).await;
    assert_eq!(answer.status, 302, "{}", answer.text());
    answer.header("location").unwrap().to_owned()
}

#[tokio::test]
async fn rows_are_chosen_frozen_read_and_started_on_the_pages() {
    let (app, ids) = with_proposals(3).await;
    let operator = app.client(Role::Operator).with("accept", "text/html");
    let list = operator.get("/operations?tool=pay").await.text();
    assert!(list.contains(&format!("name=\"ids[]\" value=\"{}\" form=\"choosing\"", ids[0])), "{list}");
    let page = operator.get("/operations?tool=pay&choose=page").await.text();
    assert_eq!(page.matches("form=\"choosing\" checked").count(), 3, "{page}");
    let place = press_preview(&operator, &list, "rows", &ids[..2]).await;
    let page = operator.get(&place).await.text();
    for words in
        ["Cancel: 2 of 2 operations", "preview: nothing done yet", "2 will be cancelled.", "tool: pay", "k-0", "k-1"]
    {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
    assert!(!page.contains("k-2"), "{page}");
    let (id, hash) = (field(&page, "id"), field(&page, "hash"));
    let start = |reason: &'static str| {
        let (operator, id, hash) = (operator.clone(), id.clone(), hash.clone());
        async move {
            let fields = [("id", id.as_str()), ("hash", hash.as_str()), ("reason", reason)];
            operator.post_form("/ui/start_bulk", &fields).await.header("location").unwrap().to_owned()
        }
    };
    assert!(operator.get(&start("").await).await.text().contains("A reason is missing"));
    assert_eq!(start("asked").await, place);
    let again = start("asked").await;
    assert!(operator.get(&again).await.text().contains("Already recorded"), "{again}");
    assert!(operator.get(&start("otherwise").await).await.text().contains("Not started"));
    carry_out(&app).await;
    let page = operator.get(&place).await.text();
    for words in ["2 of 2", "its action", "<blockquote class=\"timeline__quote\">asked</blockquote>", "done"] {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
    assert_eq!(states(&app, &ids).await, ["cancelled", "cancelled", "proposed"]);
    let log = operator.get("/actions").await.text();
    assert!(log.contains("0 bulk actions run now; the newest</summary>") && log.contains(&place), "{log}");
    let operation = operator.get(&format!("/operations/{}", ids[0])).await.text();
    assert!(operation.contains("in a bulk action: ") && operation.contains(&place), "{operation}");
}

#[tokio::test]
async fn all_that_match_is_a_step_of_its_own_and_never_everything() {
    let (app, ids) = with_proposals(3).await;
    let operator = app.client(Role::Operator).with("accept", "text/html");
    let unfiltered = operator.get("/operations?choose=matching").await.text();
    assert!(
        unfiltered.contains("filter the list to choose more") && !unfiltered.contains("Preview for all"),
        "{unfiltered}"
    );
    let page = operator.get("/operations?tool=pay&choose=matching").await.text();
    for words in ["All 3 operations that match now, on every page: tool: pay.", "Preview for all 3"] {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
    assert!(!page.contains("ids[]"), "no row is chosen beside: {page}");
    for (page, scope) in [(&unfiltered, "matching"), (&unfiltered, "rows")] {
        let back = press_preview(&operator, page, scope, &[]).await;
        assert_eq!(back, "/operations?choose=nothing");
        assert!(operator.get(&back).await.text().contains("Nothing was frozen"));
    }
    let place = press_preview(&operator, &page, "matching", &[]).await;
    assert!(operator.get(&place).await.text().contains("All that matched among all operations"));
    let stranger = app.client(Role::Approver).with("accept", "text/html").get(&place).await.text();
    assert!(stranger.contains("Only The operator may start this"), "{stranger}");
    let viewer = app.client(Role::Viewer).with("accept", "text/html");
    assert!(!viewer.get("/operations?tool=pay").await.text().contains("choosing"), "who only reads chooses nothing");
    assert_eq!(states(&app, &ids).await, ["proposed", "proposed", "proposed"]);
}

#[tokio::test]
async fn page_functions_refuse_what_the_role_does_not_admit() {
    let (app, ids) = with_proposals(1).await;
    let operator = app.client(Role::Operator);
    let bulk = preview(&operator, &json!({"action": "cancel", "operations": ids})).await;
    let (id, hash) = (bulk["id"].as_str().unwrap(), bulk["hash"].as_str().unwrap());
    let viewer = app.client(Role::Viewer);
    let preview =
        [("list", "operations"), ("filter", "[]"), ("scope", "rows"), ("action", "cancel"), ("ids[]", &ids[0])];
    assert_eq!(viewer.post_form("/ui/preview_bulk", &preview).await.status, 403);
    let start = [("id", id), ("hash", hash), ("reason", "r")];
    assert_eq!(viewer.post_form("/ui/start_bulk", &start).await.status, 403);
    assert_eq!(viewer.post_form("/ui/abort_bulk", &[("id", id)]).await.status, 403);
    assert_eq!(operator.get(&path(&bulk, "")).await.json()["state"], "previewed");
}

/// A bulk action of many comments on a record that real processes serve.
async fn started(scene: &mut Scene, count: usize) -> Bulk {
    scene.authorise(count).await;
    let new = NewPrincipal { login: "olga".into(), name: "Olga".into(), role: Role::Operator, password_hash: None };
    let olga = scene.ledger.add_principal(&actor("ada", Role::Administrator), new).await.unwrap().actor();
    let these = Selection::Chosen { operations: scene.ids.clone(), from: None };
    let bulk = scene.ledger.preview_bulk(&olga, ActionInput::Comment {}, these).await.unwrap();
    scene.ledger.start_bulk(&olga, &bulk.id, bulk.hash, "seen").await.unwrap();
    bulk
}

/// How many items have their answer, and whether it is over.
async fn answered(scene: &Scene, bulk: &Bulk) -> (usize, bool) {
    let page = scene.ledger.bulk(&actor("ada", Role::Administrator), &bulk.id).await.unwrap().unwrap();
    (page.items.iter().filter(|item| item.answer.is_some()).count(), page.bulk.life.is_over())
}

/// A process is killed in the middle of three hundred; the next one does the rest, and each exactly once.
async fn killed_in_the_middle(on_postgres: bool) {
    const ITEMS: usize = 300;
    let mut scene = Scene::start(on_postgres, "any_once_started").await;
    // Nothing is to be sent meanwhile: that would change what was seen.
    let config = scene.folder.path().join("tallystick.toml");
    std::fs::write(config, "[executor]\nenabled = false\n").unwrap();
    let bulk = started(&mut scene, ITEMS).await;
    let mut wake = scene.ledger.wake();
    let dying = scene.process(None);
    let before = loop {
        let (count, is_over) = answered(&scene, &bulk).await;
        assert!(!is_over, "it was to be killed in the middle");
        if count > 20 {
            break count;
        }
        let _ = tokio::time::timeout(Duration::from_millis(200), wake.changed()).await;
    };
    dying.kill();
    let (left, _) = answered(&scene, &bulk).await;
    assert!((before..ITEMS).contains(&left), "{left} of {ITEMS}");
    // Past the time for which the dead one had taken the work.
    scene.pass(11).await;
    let next = scene.process(None);
    let finished = async {
        while !answered(&scene, &bulk).await.1 {
            let _ = tokio::time::timeout(Duration::from_millis(200), wake.changed()).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(2), finished).await.expect("the next one finishes it");
    next.kill();
    let page = scene.ledger.bulk(&actor("ada", Role::Administrator), &bulk.id).await.unwrap().unwrap();
    assert!(page.items.iter().all(|item| item.answer.as_ref().is_some_and(|answer| answer.refusal.is_none())));
    for id in &scene.ids {
        let viewer = actor("ada", Role::Administrator);
        let all = scene.ledger.actions(&viewer, Some(id), None, None, 10).await.unwrap().rows;
        let of_bulk = all.iter().filter(|action| action.key.as_str().starts_with("bulk:")).count();
        assert_eq!((all.len(), of_bulk), (2, 1), "its approval, and one comment");
    }
    let found = scene.ledger.verify().await.unwrap();
    assert!(found.discrepancies.is_empty(), "{:#?}", found.discrepancies);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_every_item_is_done_once_on_sqlite() {
    killed_in_the_middle(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_every_item_is_done_once_on_postgres() {
    killed_in_the_middle(true).await;
}

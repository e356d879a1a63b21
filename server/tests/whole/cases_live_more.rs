//! The cases about executors, workflows and approvals, with Tallystick in charge (see `cases_live`).

use std::time::Duration;

use serde_json::{Value, json};
use tallystick_destination::{Contract, Failure, LookUps, Plan, Stores};
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::OperationId;
use tallystick_domain::permission::Role;

use crate::cases_live::{
    approve, assert_finding, assert_row, assert_verdicts, by_two, declare, declare_cancel, new, pass, propose, refused,
    replayed, send,
};
use crate::executing::Scene;
use crate::support::Answer;
use crate::webhooks::blind;

/// A scene with a tool that only executors of somebody else carry out; they are believed.
async fn outside(class: &str, contract: Value) -> Scene {
    let plan = Plan { contract: Contract { stores: Stores::Nothing, ..Contract::default() }, ..Plan::default() };
    let scene = Scene::start_configured(plan, |_| {}).await;
    let mut all = json!({"layer_retries": "off", "intermediaries": false, "success_receipt": {"pointer": "/id"}});
    all.as_object_mut().unwrap().extend(contract.as_object().unwrap().clone());
    let declared = json!({"class": class, "destination": "psp", "executable": true, "contract": all});
    scene.app.declare("outside", declared).await;
    let source = format!("executor/{}", scene.app.actors[&Role::Automation].id);
    scene.app.trust(&source, Trust::Verified).await;
    scene
}

async fn post(scene: &Scene, path: &str, body: Value) -> Answer {
    scene.app.client(Role::Automation).post(&format!("/api/v1/{path}"), &body).await
}

async fn claim(scene: &Scene, worker: &str, clock: &str) -> Vec<Value> {
    let asked = json!({"worker": worker, "incarnation": worker, "tools": ["outside"], "lease_s": 600, "clock": clock});
    let answer = post(scene, "claims", asked).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["claims"].as_array().unwrap().clone()
}

async fn dispatch(scene: &Scene, id: &OperationId, epoch: u64, worker: &str) -> Answer {
    let asked = json!({"epoch": epoch, "worker": worker, "incarnation": worker});
    post(scene, &format!("operations/{id}/dispatches"), asked).await
}

async fn outcome(scene: &Scene, id: &OperationId, body: Value) -> Answer {
    post(scene, &format!("operations/{id}/outcomes"), body).await
}

/// What an executor of somebody else does at the destination once it may; the receipt.
async fn carry_out(scene: &Scene, intent: &str) -> String {
    let body = json!({"intent": intent}).to_string();
    let head = format!("POST /objects HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    let answer = send(scene.destination.address(), format!("{head}{body}").as_bytes()).await;
    let made: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    made["id"].as_str().unwrap().to_owned()
}

const NOW: &str = "2026-10-05T08:00:00Z";

#[tokio::test(flavor = "multi_thread")]
async fn r10_an_orphan_that_goes_on_after_its_engines_timeout_is_not_run_beside() {
    let mut scene = outside("reversible", json!({})).await;
    let id = new(&scene, "outside", "wf-12:sync-seats:7", json!({"workspace": "w7", "seats": 41})).await;
    approve(&scene, id.as_str()).await;
    assert_eq!(claim(&scene, "w-a", NOW).await.len(), 1);
    assert_eq!(dispatch(&scene, &id, 1, "w-a").await.json()["send"], true);
    // The engine gave up. The code that it started did not hear of it.
    let gave_up = json!({"epoch": 1, "outcome": "timeout", "reported_by": "engine"});
    assert_eq!(outcome(&scene, &id, gave_up).await.json()["status"], "uncertain(timeout)");
    for wait in [Duration::ZERO, Duration::from_mins(2), Duration::from_hours(1)] {
        pass(&mut scene, wait).await;
        assert!(claim(&scene, "w-b", NOW).await.is_empty(), "after {wait:?}");
        for epoch in [1, 2] {
            dispatch(&scene, &id, epoch, "w-b").await.assert_problem(409, "guards-failed");
        }
        let uncertain = scene.operation(id.as_str()).await;
        assert_eq!(uncertain["state"], "uncertain(timeout)");
        assert_row(&uncertain, "20", "escalate");
        assert_verdicts(
            &uncertain,
            &[("rerun_same_key", "forbidden"), ("rerun_new", "forbidden"), ("mark_failed", "dual")],
        );
    }
    let attempt = scene.operation(id.as_str()).await["attempts"][0].clone();
    assert_eq!(
        (&attempt["closed_by"], &attempt["text"]),
        (&Value::Null, &json!("no answer in time; it may have happened")),
        "{attempt:#}"
    );
    let receipt = carry_out(&scene, "seats-w7").await;
    let done = outcome(&scene, &id, json!({"epoch": 1, "outcome": "ok", "http": 201, "receipt": receipt})).await;
    assert_eq!(done.json()["status"], "succeeded", "{}", done.text());
    assert!(claim(&scene, "w-b", NOW).await.is_empty());
    let known = scene.operation(id.as_str()).await;
    assert_eq!(known["counts"], json!({"operations": 1, "attempts": 1, "effects": 1}));
    assert_eq!(scene.effects("seats-w7"), 1);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r11_of_all_who_claim_in_one_millisecond_one_may_send_and_a_sweep_adopts_nothing() {
    let scene = outside("irreversible", json!({})).await;
    let id = new(&scene, "outside", "wf-123", json!({"entry": "e-1"})).await;
    approve(&scene, id.as_str()).await;
    let names: Vec<String> = (0..8).map(|number| format!("w-{number}")).collect();
    let claims = futures(names.iter().map(|name| claim(&scene, name, NOW))).await;
    let holders: Vec<&String> =
        names.iter().zip(&claims).filter(|(_, held)| !held.is_empty()).map(|(name, _)| name).collect();
    assert_eq!(holders.len(), 1, "{claims:?}");
    assert_eq!(dispatch(&scene, &id, 1, holders[0]).await.json()["send"], true);
    // Recovery, with the clock where it was.
    scene.app.ledger.sweep(100).await.unwrap();
    for name in &names {
        assert!(claim(&scene, name, NOW).await.is_empty());
        for epoch in [1, 2] {
            dispatch(&scene, &id, epoch, name).await.assert_problem(409, "guards-failed");
        }
    }
    // A copy that ran without a claim of its own: what it says is not the holder's word.
    outcome(&scene, &id, json!({"epoch": 2, "outcome": "error"})).await.assert_problem(422, "bad-field");
    let running = scene.operation(id.as_str()).await;
    assert_eq!(running["state"], "executing");
    assert_row(&running, "2", "escalate");
    let receipt = carry_out(&scene, "e-1").await;
    outcome(&scene, &id, json!({"epoch": 1, "outcome": "ok", "http": 201, "receipt": receipt})).await;
    outcome(&scene, &id, json!({"epoch": 2, "outcome": "error"})).await.assert_problem(422, "bad-field");
    let known = scene.operation(id.as_str()).await;
    assert_eq!((&known["state"], &known["receipt"]), (&json!("succeeded"), &json!("ob_1")));
    assert_eq!(known["counts"], json!({"operations": 1, "attempts": 1, "effects": 1}));
    assert_eq!(scene.effects("e-1"), 1);
    scene.end().await;
}

/// All at once.
async fn futures<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    futures_util::future::join_all(all).await
}

#[tokio::test(flavor = "multi_thread")]
async fn r12_a_mailing_offered_again_every_hour_is_not_begun_again_and_nobody_gets_it_twice() {
    let mut scene = outside("irreversible", json!({"operation_deadline_s": 86_400, "client_deadline_s": 500})).await;
    declare(&scene, "mail", "reversible", json!({"stores": "2xx_only"})).await;
    let mailing = new(&scene, "outside", "mailing:evt-4", json!({"event": "evt-4"})).await;
    approve(&scene, mailing.as_str()).await;
    assert_eq!(claim(&scene, "w-0", NOW).await.len(), 1);
    assert_eq!(dispatch(&scene, &mailing, 1, "w-0").await.json()["send"], true);
    // Every recipient is an operation of its own, proposed again by every delivery of the job. One answer is lost.
    let contract = Contract { stores: Stores::Nothing, ..Contract::default() };
    scene.destination.set_plan(Plan { contract, failures: [Failure::ApplyThenDrop].into(), ..Plan::default() });
    let recipients = ["ada", "ben", "cleo"];
    let mut ids = Vec::new();
    for name in recipients {
        let id = new(&scene, "mail", &format!("mailing:evt-4:recipient:{name}"), json!({"intent": name})).await;
        approve(&scene, id.as_str()).await;
        ids.push(id);
    }
    for hour in 1..=3 {
        pass(&mut scene, Duration::from_hours(1)).await;
        assert!(claim(&scene, "w-0", NOW).await.is_empty(), "hour {hour}");
        dispatch(&scene, &mailing, 2, "w-0").await.assert_problem(409, "guards-failed");
        let uncertain = scene.operation(mailing.as_str()).await;
        assert_eq!(uncertain["state"], "uncertain(crashed)", "hour {hour}");
        assert_row(&uncertain, "21", "escalate");
        for (name, id) in recipients.iter().zip(&ids) {
            let key = format!("mailing:evt-4:recipient:{name}");
            replayed(&propose(&scene, "mail", &key, json!({"intent": name})).await, id);
        }
    }
    pass(&mut scene, Duration::from_secs(2_027)).await;
    let told = outcome(&scene, &mailing, json!({"epoch": 1, "outcome": "ok"})).await;
    assert_eq!(told.json()["status"], "uncertain(no_receipt)", "{}", told.text());
    let uncertain = scene.operation(mailing.as_str()).await;
    assert_row(&uncertain, "23a", "escalate");
    assert_verdicts(
        &uncertain,
        &[("rerun_same_key", "forbidden"), ("rerun_new", "forbidden"), ("mark_succeeded", "dual")],
    );
    assert_eq!(uncertain["counts"], json!({"operations": 1, "attempts": 1, "effects": 0}));
    for (name, id) in recipients.iter().zip(&ids) {
        scene.until(id, &["succeeded"]).await;
        assert_eq!(scene.effects(name), 1, "{name}");
    }
    assert_eq!(scene.destination.report().writes, 3);
    by_two(&scene, &mailing, json!({"action": "mark_succeeded", "reference": "every recipient succeeded"})).await;
    assert_eq!(scene.state(&mailing).await, "succeeded.attested");
    scene.end().await;
}

/// Proposes a step, and approves it as somebody else.
async fn step(scene: &Scene, key: &str, number: u32) -> OperationId {
    let body = json!({"operation_key": key, "tool": "charge", "arguments": {"intent": key},
        "step": {"workflow": "saga-3", "number": number}});
    let answer = scene.app.client(Role::Automation).post("/api/v1/operations", &body).await;
    let id = OperationId::parse(answer.json()["id"].as_str().unwrap()).unwrap();
    approve(scene, id.as_str()).await;
    id
}

/// The undo that was proposed of this step.
async fn undo_of(scene: &Scene, id: &OperationId) -> Option<OperationId> {
    let operation = scene.operation(id.as_str()).await;
    let relatives = operation["relatives"].as_array().unwrap();
    let undo = relatives.iter().find(|one| one["link"] == "compensated by")?;
    OperationId::parse(undo["id"].as_str().unwrap()).ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_a_refund_waits_for_the_unresolved_step_keeps_its_receipt_and_is_never_called_done_before_it_is() {
    let look_ups_down = Contract { look_ups: LookUps::Down, ..Contract::default() };
    let plan = Plan { contract: look_ups_down, keeps_requests: true, ..Plan::default() };
    let mut scene =
        Scene::start_with(plan.clone(), json!({"stores": "2xx_only", "compensation": {"tool": "cancel"}})).await;
    declare_cancel(&scene).await;
    let client = scene.app.client(Role::Automation);
    client.put("/api/v1/workflows/saga-3", &json!({"unwinds": "by_itself"})).await;
    let charge = step(&scene, "saga-3:charge", 1).await;
    scene.until(&charge, &["succeeded"]).await;
    scene.destination.set_plan(Plan { failures: [Failure::Conflict].into(), ..plan.clone() });
    let reserve = step(&scene, "saga-3:reserve", 2).await;
    // A 409 that the contract does not declare says nothing.
    scene.until(&reserve, &["uncertain(undeclared_status)"]).await;
    let undo = json!({"action": "compensate", "reason": "roll back", "confirmation": "charge"});
    refused(&scene, charge.as_str(), undo).await;
    assert!(undo_of(&scene, &charge).await.is_none(), "T30: the reservation may stand");
    // It can be looked up again: it is not there. Sent again, it is declined.
    scene.destination.set_plan(Plan { failures: [Failure::Decline].into(), keeps_requests: true, ..Plan::default() });
    scene.until(&reserve, &["failed.business"]).await;
    let mut wake = scene.app.ledger.wake();
    let refund = loop {
        if let Some(refund) = undo_of(&scene, &charge).await {
            break refund;
        }
        wake.changed().await.unwrap();
    };
    assert_eq!(
        (scene.state(&refund).await.as_str(), scene.destination.report().effects["saga-3:charge"]),
        ("proposed", 1)
    );
    let contract = Contract { stores: Stores::Nothing, look_ups: LookUps::Down, ..Contract::default() };
    scene.destination.set_plan(Plan {
        contract,
        failures: [Failure::ApplyThenDrop].into(),
        keeps_requests: true,
        ..Plan::default()
    });
    approve(&scene, refund.as_str()).await;
    scene.until(&refund, &["uncertain(reset)"]).await;
    let charged = scene.operation(charge.as_str()).await;
    assert_eq!(charged["state"], "succeeded", "not refunded before a receipt says so");
    assert_row(&charged, "28", "look_up");
    assert_verdicts(&charged, &[("compensate", "forbidden"), ("rerun_new", "forbidden")]);
    let workflow = async |scene: &Scene| scene.app.client(Role::Viewer).get("/api/v1/workflows/saga-3").await.json();
    assert_eq!(workflow(&scene).await["ending"], Value::Null, "{:#}", workflow(&scene).await);
    pass(&mut scene, Duration::from_hours(25)).await;
    let stuck = scene.operation(charge.as_str()).await;
    assert_row(&stuck, "28a", "escalate");
    assert_eq!(stuck["attention"]["reason"], "compensation_stuck", "{stuck:#}");
    by_two(&scene, &refund, json!({"action": "mark_succeeded", "receipt": "un_ob_1"})).await;
    assert_eq!(scene.state(&refund).await, "succeeded.attested");
    // It came from the kept receipt, and went out once.
    let seen = scene.destination.seen();
    let refunds: Vec<_> = seen.iter().filter(|seen| seen.bytes.starts_with(b"POST /objects/ob_1/cancel ")).collect();
    assert_eq!(refunds.len(), 1);
    let report = scene.destination.report();
    assert_eq!((report.made["saga-3:charge"], report.effects["saga-3:charge"]), (1, 0), "charged once, refunded once");
    assert!(!report.made.contains_key("saga-3:reserve"));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r19_a_replica_whose_clock_is_behind_does_not_fire_a_tick_that_was_fired() {
    let scene = outside("irreversible", json!({})).await;
    // The key names the scheduled instant, not the moment of firing.
    let (key, arguments) = ("job:dunning@2026-10-05T08:00:00Z", json!({"job": "dunning"}));
    let id = new(&scene, "outside", key, arguments.clone()).await;
    approve(&scene, id.as_str()).await;
    assert_eq!(claim(&scene, "replica-a", NOW).await.len(), 1);
    // Ahead or behind: the record's clock alone says how long a lease is.
    for clock in ["2026-10-05T07:59:58Z", "2026-10-06T08:00:00Z"] {
        assert!(claim(&scene, "replica-b", clock).await.is_empty(), "{clock}");
    }
    dispatch(&scene, &id, 1, "replica-a").await;
    let receipt = carry_out(&scene, "dunning").await;
    outcome(&scene, &id, json!({"epoch": 1, "outcome": "ok", "http": 201, "receipt": receipt})).await;
    scene.app.set_clock("2026-10-05T08:00:02Z").await;
    let fired = propose(&scene, "outside", key, arguments).await;
    assert_eq!(replayed(&fired, &id), "succeeded");
    assert_eq!(fired.json()["receipt"], "ob_1");
    assert!(claim(&scene, "replica-b", NOW).await.is_empty());
    dispatch(&scene, &id, 2, "replica-b").await.assert_problem(409, "guards-failed");
    let workers = scene.app.client(Role::Operator).get("/api/v1/workers").await.json();
    let behind = workers.as_array().unwrap().iter().find(|worker| worker["name"] == "replica-b").unwrap();
    assert_eq!(behind["clock_ahead_ms"], -2_000, "{workers}");
    let known = scene.operation(id.as_str()).await;
    assert_eq!(known["counts"], json!({"operations": 1, "attempts": 1, "effects": 1}));
    assert_eq!(scene.effects("dunning"), 1);
    scene.end().await;
}

async fn pause(scene: &Scene, is_paused: bool) {
    let answer = scene
        .app
        .client(Role::Administrator)
        .put("/api/v1/destinations/psp/pause", &json!({"is_paused": is_paused}))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_only_the_arguments_that_were_approved_are_sent_and_only_while_the_approval_lives() {
    let (plan, _) = blind(Failure::Throttle);
    let mut scene = Scene::start_configured(Plan { failures: [].into(), keeps_requests: true, ..plan }, |_| {}).await;
    declare(&scene, "transfer", "irreversible", json!({"approval_life_s": 300})).await;
    pause(&scene, true).await;
    let wire = |amount: u64| json!({"intent": "wire-77", "to": "acct-1", "amount_minor": amount});
    let id = new(&scene, "transfer", "wire:77", wire(10_000)).await;
    approve(&scene, id.as_str()).await;
    // A hook rewrites the arguments after the approval.
    let problem =
        propose(&scene, "transfer", "wire:77", wire(1_000_000)).await.assert_problem(422, "operation-key-conflict");
    let change = json!({"path": "/amount_minor", "before": "10000", "after": "1000000"});
    assert_eq!((&problem["changes"][0]["path"], &problem["changes"][0]["after"]), (&change["path"], &change["after"]));
    assert_eq!(scene.state(&id).await, "authorized", "the first proposal and its approval stand");
    // Taken over by a person they are version 2, and nobody has approved that.
    let rewritten = json!({"action": "change_arguments", "arguments": wire(1_000_000), "reason": "the hook says so"});
    scene.act(id.as_str(), Role::Operator, rewritten).await;
    pause(&scene, false).await;
    pass(&mut scene, Duration::from_secs(20)).await;
    let changed = scene.operation(id.as_str()).await;
    assert_eq!((&changed["state"], &changed["attempt_count"]), (&json!("proposed"), &json!(0)));
    let approver =
        async |scene: &Scene| scene.app.client(Role::Approver).get(&format!("/api/v1/operations/{id}")).await.json();
    assert_row(&approver(&scene).await, "32", "approve");
    // Who changed them has proposed them.
    assert_verdicts(&changed, &[("approve", "forbidden")]);
    // An approver edits, and approves what was edited; it waits until the approval has run out.
    pause(&scene, true).await;
    let edited = json!({"action": "change_arguments", "arguments": wire(9_000), "reason": "less"});
    scene.act(id.as_str(), Role::Operator, edited).await;
    approve(&scene, id.as_str()).await;
    pass(&mut scene, Duration::from_secs(301)).await;
    pause(&scene, false).await;
    let expired = scene.operation(id.as_str()).await;
    assert_eq!(expired["state"], "approval_expired");
    assert_row(&approver(&scene).await, "34", "renew");
    assert_eq!(scene.destination.report().writes, 0);
    let renewed = json!({"action": "renew", "reason": "still right", "confirmation": "77"});
    scene.act(id.as_str(), Role::Approver, renewed).await;
    scene.until(&id, &["succeeded"]).await;
    let seen = scene.destination.seen();
    let sent: Vec<String> = seen.iter().map(|seen| String::from_utf8_lossy(&seen.bytes).into_owned()).collect();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].contains("\"amount_minor\":9000,") || sent[0].contains("\"amount_minor\":9000}"), "{}", sent[0]);
    assert_eq!(scene.effects("wire-77"), 1);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_an_approval_taken_back_after_the_claim_is_looked_at_again_before_the_send() {
    let scene = outside("irreversible", json!({})).await;
    let id = new(&scene, "outside", "wire:78", json!({"amount_minor": 10_000})).await;
    approve(&scene, id.as_str()).await;
    let held = claim(&scene, "tool", NOW).await;
    assert_eq!((held.len(), &held[0]["arguments"]), (1, &json!({"amount_minor": 10_000})));
    scene.act(id.as_str(), Role::Approver, json!({"action": "revoke", "reason": "the policy changed"})).await;
    let problem = dispatch(&scene, &id, 1, "tool").await.assert_problem(409, "guards-failed");
    assert!(problem["failed"].to_string().contains("approval_live"), "{problem}");
    let stopped = scene.operation(id.as_str()).await;
    assert_eq!((&stopped["state"], &stopped["attempt_count"]), (&json!("proposed"), &json!(0)));
    assert!(claim(&scene, "tool", NOW).await.is_empty());
    scene.end().await;
}

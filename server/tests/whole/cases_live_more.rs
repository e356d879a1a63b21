//! The cases about executors, workflows and approvals, with Tallystick in charge (see `cases_live`).

use std::time::Duration;

use serde_json::{Value, json};
use tallystick_destination::{Contract, Failure, LookUps, Plan, Stores};
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::OperationId;
use tallystick_domain::permission::Role;

use crate::cases_live::{
    LOST, approve, assert_finding, assert_row, assert_verdicts, by_two, declare, declare_cancel, new, pass, propose,
    refused, replayed, send,
};
use crate::executing::Scene;
use crate::support::Answer;

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

/// Sent by one worker that somebody gave up on: by this word the operation stands at a timeout.
async fn given_up(word: Value) -> (Scene, OperationId) {
    let look_up = json!({"by": "key", "consistency": "strong", "complete": true});
    let contract = json!({"lookup": look_up, "client_deadline_s": 600, "max_arrival_delay_s": 60});
    let mut scene = outside("reversible", contract).await;
    let id = new(&scene, "outside", "wf-12:sync-seats:7", json!({"workspace": "w7", "seats": 41})).await;
    approve(&scene, id.as_str()).await;
    assert_eq!(claim(&scene, "w-a", NOW).await.len(), 1);
    assert_eq!(dispatch(&scene, &id, 1, "w-a").await.json()["send"], true);
    pass(&mut scene, Duration::from_secs(599)).await;
    assert_eq!(outcome(&scene, &id, word).await.json()["status"], "uncertain(timeout)");
    // Another worker is offered nothing, and gets no permit.
    assert!(claim(&scene, "w-b", NOW).await.is_empty());
    for epoch in [1, 2] {
        dispatch(&scene, &id, epoch, "w-b").await.assert_problem(409, "guards-failed");
    }
    pass(&mut scene, Duration::from_hours(1)).await;
    let uncertain = scene.operation(id.as_str()).await;
    let absent = json!({"id": "asked-1", "claim": "absent", "linked_by": "key", "sent_at": scene.now.to_string(),
        "key": uncertain["attempts"][0]["destination_key"]});
    let answer = post(&scene, &format!("operations/{id}/evidence"), absent).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    pass(&mut scene, Duration::from_mins(10)).await;
    (scene, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn r10_an_orphan_that_goes_on_after_its_engines_timeout_is_not_run_beside() {
    // The engine gave up; the code that it started did not hear of it.
    let (scene, id) = given_up(json!({"epoch": 1, "outcome": "timeout", "reported_by": "engine"})).await;
    let uncertain = scene.operation(id.as_str()).await;
    assert_eq!(uncertain["state"], "uncertain(timeout)");
    assert_eq!(
        uncertain["attempts"][0]["closed_by"],
        Value::Null,
        "K6: absent, and its sender is not proved to have ended"
    );
    assert_row(&uncertain, "17", "escalate");
    assert_verdicts(&uncertain, &[("rerun_same_key", "forbidden"), ("rerun_new", "dual"), ("mark_failed", "dual")]);
    assert!(claim(&scene, "w-b", NOW).await.is_empty());
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
async fn r10_what_the_sender_itself_gave_up_and_is_absent_goes_on_with_the_next_worker() {
    let (scene, id) = given_up(json!({"epoch": 1, "outcome": "timeout"})).await;
    assert_eq!(scene.operation(id.as_str()).await["attempts"][0]["closed_by"], "K6");
    let held = claim(&scene, "w-b", NOW).await;
    let epoch = held[0]["epoch"].as_u64().unwrap();
    assert_eq!(dispatch(&scene, &id, epoch, "w-b").await.json()["attempt"], 2);
    let receipt = carry_out(&scene, "seats-w7").await;
    let told = json!({"epoch": epoch, "outcome": "ok", "http": 201, "receipt": receipt});
    assert_eq!(outcome(&scene, &id, told).await.json()["status"], "succeeded");
    assert_eq!(scene.operation(id.as_str()).await["counts"], json!({"operations": 1, "attempts": 2, "effects": 1}));
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

#[tokio::test(flavor = "multi_thread")]
async fn r11_a_recoverer_that_runs_it_without_a_claim_is_found_by_what_it_made() {
    let scene = outside("irreversible", json!({})).await;
    let id = new(&scene, "outside", "wf-124", json!({"entry": "e-2"})).await;
    approve(&scene, id.as_str()).await;
    claim(&scene, "w-1", NOW).await;
    dispatch(&scene, &id, 1, "w-1").await;
    let receipt = carry_out(&scene, "e-2").await;
    outcome(&scene, &id, json!({"epoch": 1, "outcome": "ok", "http": 201, "receipt": receipt})).await;
    // Its claim was refused, and it did it anyway.
    dispatch(&scene, &id, 2, "w-2").await.assert_problem(409, "guards-failed");
    let surplus = carry_out(&scene, "e-2").await;
    outcome(&scene, &id, json!({"epoch": 2, "outcome": "ok", "receipt": surplus}))
        .await
        .assert_problem(422, "bad-field");
    let key = scene.operation(id.as_str()).await["attempts"][0]["destination_key"].clone();
    let found = json!({"id": "copy", "claim": "executed", "receipt": surplus, "linked_by": "key", "key": key});
    assert_eq!(post(&scene, &format!("operations/{id}/evidence"), found).await.status, 200);
    let doubled = scene.operation(id.as_str()).await;
    assert_eq!((&doubled["state"], &doubled["receipt"]), (&json!("contradicted(duplicate)"), &json!("ob_1")));
    assert_eq!(doubled["counts"], json!({"operations": 1, "attempts": 1, "effects": 2}));
    assert_finding(&doubled, "2 effects for 1 intent");
    assert_row(&doubled, "3", "pick_verdict");
    assert_eq!(scene.effects("e-2"), 2, "as the record says");
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
    // A delivery of the broker is a claim that is asked for, and every recipient proposed: each is an operation of its own.
    // The answer about the first is lost.
    let contract = Contract { stores: Stores::Nothing, ..Contract::default() };
    scene.destination.set_plan(Plan { contract, failures: [Failure::ApplyThenDrop].into(), ..Plan::default() });
    let recipients = ["ada", "ben", "cleo"];
    let mut ids = Vec::new();
    for name in recipients {
        let id = new(&scene, "mail", &format!("mailing:evt-4:recipient:{name}"), json!({"intent": name})).await;
        approve(&scene, id.as_str()).await;
        scene.until(&id, &["succeeded", LOST[0], LOST[1]]).await;
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
    assert_finding(&uncertain, "Lease shorter than the work: 600 s against ");
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

/// How far the undo of the first step is, and how the workflow ended.
async fn going(scene: &Scene) -> (Value, Value) {
    let workflow = scene.app.client(Role::Viewer).get("/api/v1/workflows/saga-3").await.json();
    if !workflow["ending"].is_null() {
        let waits: Vec<_> = workflow["steps"].as_array().unwrap().iter().map(|step| &step["waits"]).collect();
        assert!(waits.iter().all(|waits| waits.is_null()), "what is over waits for nothing: {waits:?}");
    }
    (workflow["steps"][0]["compensation"].clone(), workflow["ending"]["ending"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_a_refund_waits_for_the_unresolved_step_keeps_its_receipt_and_is_never_called_done_before_it_is() {
    let look_ups_down = Contract { look_ups: LookUps::Down, ..Contract::default() };
    let plan = Plan { contract: look_ups_down, keeps_requests: true, ..Plan::default() };
    let contract = json!({"stores": "2xx_only", "compensation": {"tool": "cancel"}, "client_deadline_s": 5,
        "lookup_count": 3, "lookup_span_s": 60});
    let mut scene = Scene::start_with(plan.clone(), contract).await;
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
    assert_eq!(scene.state(&refund).await, "proposed");
    assert_eq!(scene.destination.report().effects["saga-3:charge"], 1, "it needs an approval of its own");
    let contract = Contract { stores: Stores::Nothing, ..Contract::default() };
    scene.destination.set_plan(Plan { contract, failures: [Failure::ApplyThenDrop].into(), ..plan });
    approve(&scene, refund.as_str()).await;
    scene.until(&refund, LOST).await;
    let charged = scene.operation(charge.as_str()).await;
    assert_eq!(charged["state"], "succeeded", "not refunded before a receipt says so");
    assert_row(&charged, "28", "look_up");
    assert_verdicts(&charged, &[("compensate", "forbidden"), ("rerun_new", "forbidden")]);
    assert_eq!(going(&scene).await, (json!("running"), Value::Null));
    pass(&mut scene, Duration::from_hours(25)).await;
    let stuck = scene.operation(charge.as_str()).await;
    assert_row(&stuck, "28a", "escalate");
    assert_eq!(stuck["attention"]["reason"], "compensation_stuck", "{stuck:#}");
    assert_verdicts(&stuck, &[("compensate", "forbidden"), ("waive", "dual")]);
    assert_eq!(going(&scene).await, (json!("stuck"), Value::Null));
    by_two(&scene, &refund, json!({"action": "mark_succeeded", "receipt": "un_ob_1"})).await;
    assert_eq!(scene.state(&refund).await, "succeeded.attested");
    assert_eq!(going(&scene).await, (json!("compensated"), json!("undone")));
    assert_verdicts(&scene.operation(charge.as_str()).await, &[("compensate", "forbidden")]);
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

#[tokio::test(flavor = "multi_thread")]
async fn r21_an_approval_that_ended_after_the_claim_is_looked_at_again_before_the_send() {
    for is_revoked in [true, false] {
        let mut scene = outside("irreversible", json!({"approval_life_s": 300})).await;
        let id = new(&scene, "outside", "wire:78", json!({"amount_minor": 10_000})).await;
        approve(&scene, id.as_str()).await;
        let held = claim(&scene, "tool", NOW).await;
        assert_eq!((held.len(), &held[0]["arguments"]), (1, &json!({"amount_minor": 10_000})));
        if is_revoked {
            scene.act(id.as_str(), Role::Approver, json!({"action": "revoke", "reason": "the policy changed"})).await;
        } else {
            // The lease goes on for 600 s.
            scene.app.set_clock("2026-10-05T08:05:01Z").await;
        }
        let problem = dispatch(&scene, &id, 1, "tool").await.assert_problem(409, "guards-failed");
        let guards: Vec<_> =
            problem["failed_guards"].as_array().unwrap().iter().map(|failed| &failed["guard"]).collect();
        assert_eq!(guards, ["approval_live"], "{problem}");
        pass(&mut scene, Duration::from_secs(302)).await;
        let stopped = scene.operation(id.as_str()).await;
        let state = if is_revoked { "proposed" } else { "approval_expired" };
        assert_eq!((&stopped["state"], &stopped["attempt_count"]), (&json!(state), &json!(0)));
        assert!(claim(&scene, "tool", NOW).await.is_empty());
        scene.end().await;
    }
}

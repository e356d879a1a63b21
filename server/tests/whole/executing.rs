//! Guarded operations carried out by our own executor against a destination that misbehaves: what counts is what happened
//! there.

use std::time::Duration;

use serde_json::{Value, json};
use tallystick::config::{Config, Destination as Configured};
use tallystick::destination::Destinations;
use tallystick::executor::Executor;
use tallystick_destination::{Contract, Destination, Failure, LookUps, Plan, Stores};
use tallystick_domain::name::OperationId;
use tallystick_domain::permission::Role;
use tallystick_domain::time::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::{App, START, time};

const SECRET: &str = "sk_test_very_secret";

/// A console, an executor, what goes on with workflows, and a destination.
pub struct Scene {
    pub app: App,
    pub destination: Destination,
    executor: Option<JoinHandle<()>>,
    workflows: Option<JoinHandle<()>>,
    end: watch::Sender<bool>,
    pub now: Timestamp,
    _secret: tempfile::NamedTempFile,
}

impl Scene {
    async fn start(plan: Plan) -> Self {
        Self::start_with(plan, json!({})).await
    }

    /// The contract has these members beside (or instead of) the usual ones.
    pub async fn start_with(plan: Plan, contract: Value) -> Self {
        let scene = Self::start_configured(plan, |_| {}).await;
        scene.app.declare("charge", declaration("reversible", &contract)).await;
        scene
    }

    /// Declares no tool.
    pub async fn start_configured(plan: Plan, adjust: impl FnOnce(&mut Config)) -> Self {
        let destination = Destination::start("127.0.0.1:0".parse().unwrap(), plan).await.unwrap();
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(secret.path(), format!("{SECRET}\n")).unwrap();
        let configured = Configured {
            private_allowed: true,
            credential: Some(format!("file:{}", secret.path().display())),
            credential_identity: Some("tests".into()),
            ..Configured::at("psp", format!("http://{}", destination.address()))
        };
        let mut kept = None;
        let app = App::start_with(|config: &mut Config| {
            config.destinations = vec![configured];
            adjust(config);
            kept = Some(config.clone());
        })
        .await;
        let config = kept.unwrap();
        let destinations = Destinations::from_config(&config.destinations).unwrap();
        app.ledger.configure_destinations(&destinations.for_the_record()).await.unwrap();
        let (end, ending) = watch::channel(false);
        let executor = Executor::from_config(&config, &app.ledger, &destinations).unwrap().unwrap();
        let workflows = Some(tallystick::tasks::start_workflows(app.ledger.clone(), ending.clone()));
        let executor = Some(executor.start(ending));
        Self { app, destination, executor, workflows, end, now: time(START), _secret: secret }
    }

    /// Proposes, and approves as somebody else.
    pub async fn charge(&self, key: &str) -> OperationId {
        let proposal = json!({"operation_key": key, "tool": "charge", "arguments": {"intent": key, "amount": 9_007_199_254_740_993_u64}});
        let answer = self.app.client(Role::Automation).post("/api/v1/operations", &proposal).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        let id = answer.json()["id"].as_str().unwrap().to_owned();
        self.act(&id, Role::Approver, json!({"action": "approve", "reason": "order checked"})).await;
        OperationId::parse(id).unwrap()
    }

    pub async fn act(&self, id: &str, role: Role, body: Value) -> Value {
        let operation = self.operation(id).await;
        let client = self.app.client(role);
        let key = format!("{id}-{}-{}", body["action"].as_str().unwrap(), operation["version"]);
        let client = client
            .with("idempotency-key", format!("\"{key}\""))
            .with("if-match", format!("\"{}\"", operation["version"]));
        let answer = client.post(&format!("/api/v1/operations/{id}/actions"), &body).await;
        assert!(matches!(answer.status, 200 | 202), "{}", answer.text());
        answer.json()
    }

    pub async fn operation(&self, id: &str) -> Value {
        self.app.client(Role::Operator).get(&format!("/api/v1/operations/{id}")).await.json()
    }

    pub async fn state(&self, id: &OperationId) -> String {
        let operation = self.operation(id.as_str()).await;
        operation["state"].as_str().unwrap().to_owned()
    }

    /// Lets time pass whenever nothing more happens by itself, until the operation is where it is meant to be.
    pub async fn until(&mut self, id: &OperationId, wanted: &[&str]) -> String {
        let mut wake = self.app.ledger.wake();
        for _ in 0..80 {
            loop {
                let state = self.state(id).await;
                if wanted.contains(&state.as_str()) {
                    return state;
                }
                // A commit wakes it; silence means that only time is awaited.
                if tokio::time::timeout(Duration::from_millis(1_200), wake.changed()).await.is_err() {
                    break;
                }
            }
            self.now = self.now.plus(Duration::from_secs(20));
            self.app.ledger.set_clock(self.now).await.unwrap();
            self.app.ledger.sweep(100).await.unwrap();
        }
        panic!("{id} never came to {wanted:?}: {:#}", self.operation(id.as_str()).await);
    }

    pub fn effects(&self, intent: &str) -> u32 {
        self.destination.report().made.get(intent).copied().unwrap_or(0)
    }

    pub async fn end(mut self) {
        self.end.send_replace(true);
        self.executor.take().unwrap().await.unwrap();
        self.workflows.take().unwrap().await.unwrap();
        let violations = self.destination.report().violations;
        assert!(violations.is_empty(), "{violations:?}");
        let found = self.app.ledger.verify().await.unwrap();
        assert!(found.discrepancies.is_empty(), "{:#?}", found.discrepancies);
    }
}

/// A tool that makes objects. The contract has these members beside (or instead of) the usual ones.
pub fn declaration(class: &str, contract: &Value) -> Value {
    let mut all = json!({
        "key_location": "Idempotency-Key", "key_retention_s": 86400, "stores": "any_once_started",
        "on_mismatch": "error", "on_in_flight": "blocks", "scope": [], "layer_retries": "off",
        "intermediaries": false, "success_receipt": {"pointer": "/id"}, "client_deadline_s": 1,
        "max_arrival_delay_s": 2, "lease_s": 5, "replay_marker": "idempotent-replayed: true",
        "mismatch_signals": [{"http": 422, "error": "key_mismatch"}], "verification": "tested_live",
        "lookup": {"by": "key", "consistency": "strong", "complete": true}
    });
    for (name, value) in contract.as_object().unwrap() {
        all[name] = value.clone();
    }
    json!({
        "class": class, "destination": "psp", "contract": all,
        "request": {"method": "POST", "path": "/objects", "error_pointer": "/error/code",
            "write": [{"to": "/metadata/operation_key", "value": "{operation_key}"}]},
        "look_up": {"path": "/objects?key={key}", "items": "/data", "receipt": "/id", "more": "/has_more"}
    })
}

fn failing(failure: Failure) -> Plan {
    Plan { failures: [failure].into(), ..Plan::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_operation_is_sent_once_and_exactly_as_kept() {
    let mut scene = Scene::start(Plan { keeps_requests: true, ..Plan::default() }).await;
    let id = scene.charge("order-1").await;
    assert_eq!(scene.until(&id, &["succeeded"]).await, "succeeded");
    assert_eq!(scene.effects("order-1"), 1);
    let seen = scene.destination.seen();
    assert_eq!(seen.len(), 1, "one write and no look-up");
    let examined = scene.app.ledger.operation(&scene.app.actors[&Role::Operator], &id).await.unwrap().unwrap();
    let kept = String::from_utf8(examined.wire.unwrap()).unwrap();
    assert!(!kept.contains(SECRET));
    let reference = kept.lines().find(|line| line.starts_with("authorization: Bearer {file:")).unwrap();
    // I40: the bytes that went out are the kept ones, with the secret where its reference stands.
    let expected = kept.replace(reference, &format!("authorization: Bearer {SECRET}"));
    assert_eq!(String::from_utf8(seen[0].bytes.clone()).unwrap(), expected);
    assert!(kept.contains("\"amount\":9007199254740993"), "{kept}");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_goes_wrong_the_intent_has_one_effect_in_the_end() {
    let failures = [
        Failure::DropBeforeReading,
        Failure::DropUnapplied,
        Failure::ApplyThenDrop,
        Failure::ApplyThenDelay { ms: 2_000 },
        Failure::DelayBefore { ms: 1_500 },
        Failure::CutBody,
        Failure::ErrorAfterApplying,
        Failure::NoContent,
        Failure::Throttle,
        Failure::Unavailable,
    ];
    let scenes = failures.map(|failure| {
        tokio::spawn(async move {
            let mut scene = Scene::start(failing(failure)).await;
            let id = scene.charge("order-1").await;
            scene.until(&id, &["succeeded"]).await;
            assert_eq!(scene.effects("order-1"), 1, "{failure:?}");
            scene.end().await;
        })
    });
    for scene in scenes {
        scene.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_is_a_failure_without_an_effect() {
    let mut scene = Scene::start(failing(Failure::Decline)).await;
    let id = scene.charge("order-1").await;
    assert_eq!(scene.until(&id, &["failed.business"]).await, "failed.business");
    assert_eq!(scene.effects("order-1"), 0);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_keeps_successes_only_is_never_repeated_beside_an_open_attempt() {
    let plan = Plan {
        contract: Contract { stores: Stores::Successes, ..Contract::default() },
        failures: [Failure::ErrorAfterApplying].into(),
        ..Plan::default()
    };
    let mut scene = Scene::start_with(plan, json!({"stores": "2xx_only"})).await;
    let id = scene.charge("order-1").await;
    // The look-up finds it; a repeat would have made a second one.
    scene.until(&id, &["succeeded"]).await;
    assert_eq!((scene.effects("order-1"), scene.destination.report().writes), (1, 1));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_can_be_known_people_decide_and_nothing_is_sent() {
    let plan = Plan {
        contract: Contract { look_ups: LookUps::Down, stores: Stores::Nothing, ..Contract::default() },
        failures: [Failure::ApplyThenDrop].into(),
        ..Plan::default()
    };
    let mut scene =
        Scene::start_with(plan, json!({"stores": "2xx_only", "lookup_count": 3, "lookup_span_s": 60})).await;
    let id = scene.charge("order-1").await;
    scene.until(&id, &["uncertain(reset)", "uncertain(timeout)"]).await;
    let mut looked = 0;
    for _ in 0..20 {
        scene.now = scene.now.plus(Duration::from_mins(1));
        scene.app.ledger.set_clock(scene.now).await.unwrap();
        scene.app.ledger.sweep(100).await.unwrap();
        let examined = scene.app.ledger.operation(&scene.app.actors[&Role::Operator], &id).await.unwrap().unwrap();
        let row = examined.record.row.unwrap();
        if row.look_up_at.is_none() {
            looked = scene.destination.report().look_ups;
            assert!(row.attention.is_some(), "it waits for a person");
            break;
        }
        let mut wake = scene.app.ledger.wake();
        let _ = tokio::time::timeout(Duration::from_millis(1_500), wake.changed()).await;
    }
    assert_eq!(looked, 3, "the automatic look-ups are bounded");
    assert_eq!((scene.effects("order-1"), scene.destination.report().writes), (1, 1));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_without_an_approval_or_after_it_was_taken_back() {
    let scene = Scene::start(Plan::default()).await;
    let proposal = json!({"operation_key": "order-1", "tool": "charge", "arguments": {"intent": "order-1"}});
    let answer = scene.app.client(Role::Automation).post("/api/v1/operations", &proposal).await;
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    let paused = json!({"is_paused": true});
    let answer = scene.app.client(Role::Administrator).put("/api/v1/destinations/psp/pause", &paused).await;
    assert_eq!(answer.json()["is_paused"], true, "{}", answer.text());
    scene.act(&id, Role::Approver, json!({"action": "approve", "reason": "checked"})).await;
    let mut wake = scene.app.ledger.wake();
    let _ = tokio::time::timeout(Duration::from_millis(1_500), wake.changed()).await;
    assert_eq!(scene.operation(&id).await["state"], "authorized", "paused");
    scene.act(&id, Role::Approver, json!({"action": "revoke", "reason": "wrong order"})).await;
    let going_on = json!({"is_paused": false});
    scene.app.client(Role::Administrator).put("/api/v1/destinations/psp/pause", &going_on).await;
    let mut wake = scene.app.ledger.wake();
    let _ = tokio::time::timeout(Duration::from_millis(1_500), wake.changed()).await;
    assert_eq!(scene.operation(&id).await["state"], "proposed");
    assert_eq!(scene.destination.report().writes, 0);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_cannot_be_made_is_not_sent_and_says_why() {
    let mut scene = Scene::start_with(Plan::default(), json!({"key_max_len": 3})).await;
    let id = scene.charge("order-1").await;
    scene.until(&id, &["failed.proven(budget)"]).await;
    let operation = scene.operation(id.as_str()).await;
    assert!(operation.to_string().contains("the destination takes 3"), "{operation:#}");
    assert_eq!(scene.destination.report().writes, 0);
    scene.end().await;
}

/// An executor outside, by the API alone.
struct Outside<'a> {
    scene: &'a Scene,
}

impl Outside<'_> {
    async fn post(&self, path: &str, body: Value) -> crate::support::Answer {
        self.scene.app.client(Role::Automation).post(&format!("/api/v1/{path}"), &body).await
    }

    async fn claim(&self) -> Value {
        let asked = json!({"worker": "w", "incarnation": "w-1", "tools": ["outside"], "clock": "2026-10-05T08:00:04Z"});
        let answer = self.post("claims", asked).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["claims"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_outside_claims_dispatches_and_reports() {
    let mut scene = Scene::start(Plan::default()).await;
    // Nothing of our own sends it: it has no request.
    let declaration = json!({"class": "reversible", "destination": "psp", "executable": true, "contract": {
        "key_retention_s": 86400, "stores": "any_once_started", "on_mismatch": "error", "on_in_flight": "blocks",
        "layer_retries": "off", "intermediaries": false, "verification": "tested_live", "scope": []}});
    scene.app.declare("outside", declaration).await;
    let proposal =
        json!({"operation_key": "order-9", "tool": "outside", "arguments": {"id": 9_007_199_254_740_993_u64}});
    let made = scene.app.client(Role::Automation).post("/api/v1/operations", &proposal).await.json();
    let id = made["id"].as_str().unwrap().to_owned();
    let outside = Outside { scene: &scene };
    assert_eq!(outside.claim().await, json!([]), "nobody approved it");
    scene.act(&id, Role::Approver, json!({"action": "approve", "reason": "checked"})).await;
    let claims = outside.claim().await;
    let claim = &claims[0];
    assert_eq!((&claim["operation"]["id"], &claim["epoch"]), (&json!(id), &json!(1)));
    assert!(claim.to_string().contains("9007199254740993"), "{claim}");
    assert_eq!(outside.claim().await, json!([]), "it is held");
    let path = |what: &str| format!("operations/{id}/{what}");
    let renewed = outside.post(&path("lease"), json!({"epoch": 1, "lease_s": 120})).await.json();
    assert!(renewed["lease_until"].as_str().unwrap() > claim["lease_until"].as_str().unwrap());
    let early = json!({"epoch": 1, "outcome": "ok", "receipt": "re_0"});
    outside.post(&path("outcomes"), early).await.assert_problem(422, "bad-field");
    let asked = json!({"epoch": 2, "worker": "w", "incarnation": "w-1"});
    let problem = outside.post(&path("dispatches"), asked).await.assert_problem(409, "guards-failed");
    assert!(problem.to_string().contains("lease"), "{problem}");
    let hash = "a".repeat(64);
    let asked = json!({"epoch": 1, "worker": "w", "incarnation": "w-1", "wire_hash": hash});
    let sent = outside.post(&path("dispatches"), asked.clone()).await.json();
    assert_eq!(
        (&sent["send"], &sent["attempt"], &sent["destination_key"]),
        (&json!(true), &json!(1), &claim["destination_key"])
    );
    outside.post(&path("dispatches"), asked).await.assert_problem(409, "guards-failed");
    // Nobody vouches for this executor yet: what it says is a hint.
    let told = json!({"epoch": 1, "outcome": "ok", "http": 201, "receipt": "re_1"});
    let answer = outside.post(&path("outcomes"), told.clone()).await.json();
    assert!(answer["status"].as_str().unwrap().starts_with("uncertain"), "{answer}");
    let automation = &scene.app.actors[&Role::Automation];
    let source = format!("executor/{}", automation.id);
    scene.app.trust(&source, tallystick_domain::evidence::Trust::Verified).await;
    let answer = outside.post(&path("outcomes"), told).await.json();
    assert_eq!((&answer["status"], &answer["verdict"]), (&json!("succeeded"), &json!("executed")), "{answer}");
    let workers = scene.app.client(Role::Operator).get("/api/v1/workers").await.json();
    assert_eq!(workers[0]["clock_ahead_ms"], 4_000, "{workers}");
    scene.until(&OperationId::parse(id).unwrap(), &["succeeded"]).await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undo_is_sent_by_its_own_approval_and_undoes_exactly_one() {
    let scene = Scene::start_with(Plan::default(), json!({"compensation": {"tool": "cancel"}})).await;
    let mut scene = scene;
    let cancel = json!({"class": "reversible", "destination": "psp", "contract": {
        "key_location": "Idempotency-Key", "layer_retries": "off", "intermediaries": false, "client_deadline_s": 1,
        "success_receipt": {"pointer": "/id"}, "verification": "tested_live"},
        "request": {"method": "POST", "path": "/objects/{/receipt}/cancel"}});
    scene.app.declare("cancel", cancel).await;
    let id = scene.charge("order-1").await;
    scene.until(&id, &["succeeded"]).await;
    let undo = json!({"action": "compensate", "reason": "the customer left", "confirmation": "order-1"});
    let answer = scene.act(id.as_str(), Role::Operator, undo).await;
    let child = answer["created"].as_str().unwrap().to_owned();
    assert_eq!(scene.operation(&child).await["state"], "proposed", "it needs an approval of its own");
    assert_eq!(scene.destination.report().effects["order-1"], 1);
    scene.act(&child, Role::Approver, json!({"action": "approve", "reason": "agreed"})).await;
    scene.until(&OperationId::parse(child).unwrap(), &["succeeded"]).await;
    let report = scene.destination.report();
    assert_eq!((report.made["order-1"], report.effects["order-1"]), (1, 0), "made once, and undone");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_takes_one_from_a_timeout_to_confirmed_by_a_look_up() {
    // Look-ups are down until the automatic ones are used up.
    let plan = Plan {
        contract: Contract { look_ups: LookUps::Down, ..Contract::default() },
        failures: [Failure::ApplyThenDrop].into(),
        ..Plan::default()
    };
    let contract = json!({"stores": "2xx_only", "lookup_count": 1});
    let mut scene = Scene::start_with(plan, contract).await;
    let id = scene.charge("order-1").await;
    scene.until(&id, &["uncertain(reset)"]).await;
    let mut wake = scene.app.ledger.wake();
    let looked_up = || async {
        let examined = scene.app.ledger.operation(&scene.app.actors[&Role::Operator], &id).await.unwrap().unwrap();
        examined.record.evidence().count() > 0
    };
    while !looked_up().await {
        tokio::time::timeout(Duration::from_secs(30), wake.changed()).await.unwrap().unwrap();
    }
    scene.destination.set_plan(Plan::default());
    scene.now = scene.now.plus(Duration::from_secs(1));
    scene.app.ledger.set_clock(scene.now).await.unwrap();
    scene.act(id.as_str(), Role::Operator, json!({"action": "look_up"})).await;
    scene.until(&id, &["succeeded"]).await;
    let operator = scene.app.client(Role::Operator);
    let log = operator.get(&format!("/api/v1/actions?operation={id}")).await.json();
    let key = log["rows"].as_array().unwrap().iter().find(|row| row["action"] == "look_up").unwrap()["key"].clone();
    let page = operator.with("accept", "text/html").get(&format!("/actions/{}", key.as_str().unwrap())).await.text();
    for words in ["Accepted", "Attempted", "Confirmed", "found ob_1", "Receipt ob_1 (P3)"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert_eq!((scene.effects("order-1"), scene.destination.report().writes), (1, 1));
    scene.end().await;
}

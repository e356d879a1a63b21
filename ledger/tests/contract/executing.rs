//! Claim, dispatch, outcome (semantics 4.6), as executors see them: one lease, one send, one token, whoever races.

use std::time::Duration;

use tallystick_domain::action::ActionInput;
use tallystick_domain::attempt::{End, Phase, ReportedOutcome};
use tallystick_domain::budget::{Bucket, BucketNumbers, Budget, BudgetKind, Shortage};
use tallystick_domain::contract::{
    Consistency, Contract, LayerRetries, LookUp, LookUpBy, OnInFlight, OnMismatch, Stores, Verification,
};
use tallystick_domain::evidence::{Claim, Evidence, LinkedBy, Trust};
use tallystick_domain::guard::Guard;
use tallystick_domain::lease::Scope;
use tallystick_domain::look_up::LookUpTemplate;
use tallystick_domain::name::{DestinationName, OperationId, Receipt, SourceName, ToolName};
use tallystick_domain::operation::{Fact, State};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::{Class, Tool};
use tallystick_domain::transition::Worker;
use tallystick_ledger::destinations::Withheld;
use tallystick_ledger::executing::{ClaimRequest, Claimed, DispatchRequest};
use tallystick_ledger::people::executor_actor;
use tallystick_ledger::{Ledger, LedgerError};

use crate::rig::{Engine, Rig, act, actor, admin, automation, configured, proposal, tool};
use tallystick_domain::permission::Role;

on_both! {
    one_of_two_who_race_gets_the_lease,
    a_claim_answers_with_what_a_sender_needs,
    the_dispatch_is_fenced_by_its_epoch,
    an_outcome_reported_twice_is_one_and_late_it_is_as_true,
    an_approval_that_ran_out_refuses_and_gives_the_lease_back,
    a_budget_is_shared_and_comes_back_once,
    when_a_budget_was_empty_and_what_it_refused_is_kept,
    a_claim_passes_over_what_is_paused,
    a_dead_sender_is_told_to_its_operations,
    a_look_up_is_taken_once_and_its_find_is_evidence,
    a_restore_holds_every_dispatch_until_a_person_has_read,
    what_a_restore_forgot_is_absent_once_every_older_process_ended,
    our_own_names_are_nobodys,
    changed_arguments_are_the_ones_that_are_sent,
    a_moved_scope_forbids_the_repeat,
}

fn worker(name: &str) -> Worker {
    Worker { name: name.into(), incarnation: format!("{name}-1") }
}

pub fn sending_tool(name: &str, class: Class) -> Tool {
    let contract = Contract {
        key_retention_s: Some(86_400),
        stores: Some(Stores::AnyOnceStarted),
        on_mismatch: Some(OnMismatch::Error),
        on_in_flight: Some(OnInFlight::Blocks),
        layer_retries: Some(LayerRetries::Off),
        intermediaries: Some(false),
        verification: Some(Verification::TestedLive),
        scope: Some(Vec::new()),
        lookup: Some(LookUp { by: LookUpBy::Key, consistency: Some(Consistency::Strong), complete: true }),
        client_deadline_s: Some(10),
        max_arrival_delay_s: Some(10),
        lease_s: Some(20),
        ..Contract::default()
    };
    let look_up: LookUpTemplate =
        serde_json::from_str(r#"{"path":"/x?key={key}","items":"/data","receipt":"/id"}"#).unwrap();
    Tool { contract, look_up: Some(look_up), ..tool(name, class) }
}

pub async fn authorised(rig: &Rig, key: &str) -> OperationId {
    let new = proposal(key, "pay", &format!(r#"{{"order":"{key}"}}"#));
    let made = rig.ledger.propose_operation(&automation(), new).await.unwrap().operation;
    let approve = act(&format!("approve {key}"), &actor("ida", Role::Approver), ActionInput::Approve {}, made.version);
    let answer = rig.ledger.act(&made.head.id, approve).await.unwrap();
    assert!(answer.record.refusal.is_none(), "{:?}", answer.record.refusal);
    made.head.id
}

fn wanted(name: &str) -> ClaimRequest {
    ClaimRequest {
        worker: worker(name),
        tools: vec![ToolName::parse("pay").unwrap()],
        limit: 1,
        lease: None,
        clock: None,
    }
}

pub async fn claim(ledger: &Ledger, name: &str) -> Option<Claimed> {
    ledger.claim(&executor_actor(), wanted(name)).await.unwrap().pop()
}

pub fn dispatch_as(name: &str, epoch: u64) -> DispatchRequest {
    DispatchRequest {
        epoch,
        worker: worker(name),
        source: SourceName::own_executor(),
        layer: None,
        wire: Some(b"POST /x HTTP/1.1\r\n\r\n".to_vec()),
        wire_hash: None,
    }
}

pub fn answered(receipt: &str) -> End {
    End { http: Some(201), receipt: Some(Receipt::parse(receipt).unwrap()), ..End::new(ReportedOutcome::Ok) }
}

pub fn timed_out() -> End {
    End { phase: Some(Phase::Written), bytes_sent: Some(10), ..End::new(ReportedOutcome::Timeout) }
}

pub async fn report(ledger: &Ledger, id: &OperationId, epoch: u64, end: End) -> String {
    let source = SourceName::own_executor();
    let answer = ledger.report_outcome(&executor_actor(), id, epoch, &source, end).await.unwrap();
    answer.operation.row.state.to_string()
}

async fn start(rig: &Rig) -> Timestamp {
    let now = crate::rig::at("2026-10-05T09:00:00Z");
    rig.ledger.set_clock(now).await.unwrap();
    rig.ledger.declare_tool(&admin(), sending_tool("pay", Class::Reversible)).await.unwrap();
    now
}

fn failed_guards(error: &LedgerError) -> Vec<Guard> {
    let LedgerError::Refused(Refusal::GuardsFailed { failed, .. }) = error else { panic!("{error}") };
    failed.iter().map(|result| result.guard).collect()
}

/// How many races; a soak asks for more.
fn races() -> u32 {
    std::env::var("TALLYSTICK_RACES").map_or(50, |count| count.parse().unwrap())
}

async fn one_of_two_who_race_gets_the_lease(rig: Rig) {
    start(&rig).await;
    let other = rig.another().await;
    for number in 0..races() {
        let id = authorised(&rig, &format!("order-{number}")).await;
        let (one, two) = tokio::join!(claim(&rig.ledger, "one"), claim(&other, "two"));
        let held: Vec<Claimed> = one.into_iter().chain(two).collect();
        assert_eq!(held.len(), 1, "race {number}");
        assert_eq!(held[0].operation.head.id, id);
        // Both dispatch under the same epoch, as a copy of a worker would: one send is on record.
        let epoch = held[0].epoch;
        let by = executor_actor();
        let (first, second) = tokio::join!(
            rig.ledger.dispatch(&by, &id, dispatch_as("one", epoch)),
            other.dispatch(&by, &id, dispatch_as("two", epoch)),
        );
        assert_eq!(u32::from(first.is_ok()) + u32::from(second.is_ok()), 1, "race {number}");
        report(&rig.ledger, &id, epoch, answered(&format!("re_{number}"))).await;
    }
    rig.assert_verified().await;
}

async fn a_claim_answers_with_what_a_sender_needs(rig: Rig) {
    start(&rig).await;
    let id = authorised(&rig, "order-1").await;
    let claimed = claim(&rig.ledger, "one").await.unwrap();
    assert_eq!(claimed.arguments, br#"{"order":"order-1"}"#);
    assert_eq!((claimed.epoch, claimed.args_version), (1, 1));
    assert!(claimed.destination_key.unwrap().as_str().starts_with("ts-"));
    assert!(claim(&rig.ledger, "two").await.is_none(), "held");
    let listed = rig.ledger.release_claim(&executor_actor(), &id, 1, "changed my mind").await.unwrap();
    assert_eq!(listed.row.state, State::Authorized);
    assert_eq!(claim(&rig.ledger, "two").await.unwrap().epoch, 2);
    let error = rig.ledger.release_claim(&executor_actor(), &id, 1, "again").await.unwrap_err();
    assert_eq!(failed_guards(&error), [Guard::LeaseHeld]);
    let clock = Some(crate::rig::at("2026-10-05T09:04:00Z"));
    rig.ledger.claim(&executor_actor(), ClaimRequest { clock, ..wanted("three") }).await.unwrap();
    let workers = rig.ledger.workers(&admin()).await.unwrap();
    let three = workers.iter().find(|worker| worker.name == "three").unwrap();
    assert_eq!(three.offset_micros, Some(240_000_000), "four minutes ahead, and nothing follows from it");
}

async fn the_dispatch_is_fenced_by_its_epoch(rig: Rig) {
    let now = start(&rig).await;
    let id = authorised(&rig, "order-1").await;
    let first = claim(&rig.ledger, "one").await.unwrap();
    rig.ledger.set_clock(now.plus(Duration::from_mins(1))).await.unwrap();
    rig.ledger.sweep(10).await.unwrap();
    let second = claim(&rig.ledger, "two").await.unwrap();
    assert_eq!((first.epoch, second.epoch), (1, 2));
    let error = rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("one", 1)).await.unwrap_err();
    assert!(failed_guards(&error).contains(&Guard::LeaseHeld), "{error}");
    let sent = rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("two", 2)).await.unwrap();
    assert_eq!(sent.attempt, 1);
    assert_eq!(rig.count("sending").await, 1);
    // I10: the old epoch changes nothing, because nothing was sent under it.
    let source = SourceName::own_executor();
    let stale = rig.ledger.report_outcome(&executor_actor(), &id, 1, &source, answered("re_0")).await.unwrap_err();
    assert!(stale.to_string().contains("nothing was dispatched under lease 1"), "{stale}");
    assert_eq!(report(&rig.ledger, &id, 2, answered("re_1")).await, "succeeded");
    assert_eq!(rig.count("sending").await, 0);
    rig.assert_verified().await;
}

async fn an_outcome_reported_twice_is_one_and_late_it_is_as_true(rig: Rig) {
    let now = start(&rig).await;
    let id = authorised(&rig, "order-1").await;
    claim(&rig.ledger, "one").await.unwrap();
    rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("one", 1)).await.unwrap();
    rig.ledger.set_clock(now.plus(Duration::from_secs(100))).await.unwrap();
    rig.ledger.sweep(10).await.unwrap();
    assert_eq!(rig.state("order-1").await, "uncertain(crashed)");
    assert_eq!(report(&rig.ledger, &id, 1, answered("re_1")).await, "succeeded");
    let version = rig.listed("order-1").await.unwrap().version;
    assert_eq!(report(&rig.ledger, &id, 1, answered("re_1")).await, "succeeded");
    assert_eq!(rig.listed("order-1").await.unwrap().version, version, "nothing was added");
    rig.assert_verified().await;
}

async fn an_approval_that_ran_out_refuses_and_gives_the_lease_back(rig: Rig) {
    let now = start(&rig).await;
    let id = authorised(&rig, "order-1").await;
    // Seconds before the approval ends.
    rig.ledger.set_clock(now.plus(Duration::from_secs(8 * 3600 - 5))).await.unwrap();
    claim(&rig.ledger, "one").await.unwrap();
    rig.ledger.set_clock(now.plus(Duration::from_secs(8 * 3600 + 5))).await.unwrap();
    let error = rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("one", 1)).await.unwrap_err();
    assert_eq!(failed_guards(&error), [Guard::ApprovalLive]);
    assert_eq!(rig.state("order-1").await, "approval_expired");
    assert_eq!((rig.count("sending").await, rig.count("wire").await), (0, 0));
    assert!(claim(&rig.ledger, "two").await.is_none());
    rig.assert_verified().await;
}

async fn a_budget_is_shared_and_comes_back_once(rig: Rig) {
    let now = start(&rig).await;
    let psp = DestinationName::parse("psp").unwrap();
    rig.ledger.configure_destinations(&[configured(&psp, Scope::default())]).await.unwrap();
    let contract =
        Contract { budget_kind: Some(BudgetKind::Bucket), ..sending_tool("pay", Class::Reversible).contract };
    rig.ledger.declare_tool(&admin(), Tool { contract, ..sending_tool("pay", Class::Reversible) }).await.unwrap();
    let tokens = || async {
        let all = rig.ledger.destinations(&admin()).await.unwrap();
        match &all[0].budget {
            Some(Budget::Bucket(bucket)) => bucket.tokens(),
            _ => 500,
        }
    };
    let id = authorised(&rig, "order-1").await;
    claim(&rig.ledger, "one").await.unwrap();
    rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("one", 1)).await.unwrap();
    assert_eq!(tokens().await, 500, "a first send is free");
    assert_eq!(report(&rig.ledger, &id, 1, timed_out()).await, "uncertain(timeout)");
    rig.ledger.set_clock(now.plus(Duration::from_mins(1))).await.unwrap();
    let other = rig.another().await;
    let again = claim(&other, "two").await.unwrap();
    other.dispatch(&executor_actor(), &id, dispatch_as("two", again.epoch)).await.unwrap();
    assert_eq!(tokens().await, 486, "a retry costs 14");
    let refused = End { phase: Some(Phase::Connect), bytes_sent: Some(0), ..End::new(ReportedOutcome::Error) };
    report(&other, &id, again.epoch, refused.clone()).await;
    assert_eq!(tokens().await, 500, "what never left comes back");
    report(&other, &id, again.epoch, refused).await;
    assert_eq!(tokens().await, 500, "once");
    rig.assert_verified().await;
}

async fn when_a_budget_was_empty_and_what_it_refused_is_kept(rig: Rig) {
    let now = start(&rig).await;
    let psp = DestinationName::parse("psp").unwrap();
    rig.ledger.configure_destinations(&[configured(&psp, Scope::default())]).await.unwrap();
    let last = || async { rig.ledger.destinations(&admin()).await.unwrap()[0].shortage };
    let withheld = |since| {
        let ledger = rig.ledger.clone();
        async move { ledger.withheld(&admin(), since).await.unwrap().into_values().next().unwrap() }
    };
    let ids = [authorised(&rig, "order-1").await, authorised(&rig, "order-2").await];
    for (epoch, worker) in [(1, "one"), (1, "two")] {
        let held = claim(&rig.ledger, worker).await.unwrap();
        rig.ledger.dispatch(&executor_actor(), &held.operation.head.id, dispatch_as(worker, epoch)).await.unwrap();
        report(&rig.ledger, &held.operation.head.id, epoch, timed_out()).await;
    }
    // Enough for one retry, and not for a second.
    let budget = Budget::Bucket(Bucket::holding(20, BucketNumbers::default()));
    rig.sql(&format!("UPDATE destination SET budget = '{}'", serde_json::to_string(&budget).unwrap())).await;
    let later = now.plus(Duration::from_mins(1));
    rig.ledger.set_clock(later).await.unwrap();
    let first = claim(&rig.ledger, "one").await.unwrap();
    let second = claim(&rig.another().await, "two").await.unwrap();
    let (paid, unpaid) = (first.operation.head.id, second.operation.head.id);
    assert!(ids.contains(&paid) && ids.contains(&unpaid) && paid != unpaid);
    assert_eq!((last().await, withheld(now).await), (None, Withheld::default()));

    rig.ledger.dispatch(&executor_actor(), &paid, dispatch_as("one", first.epoch)).await.unwrap();
    let short = Some(Shortage { since: later, until: None });
    assert_eq!(last().await, short, "the spend that leaves too little begins it");
    rig.ledger.set_clock(later.plus(Duration::from_secs(3))).await.unwrap();
    let error = rig.ledger.dispatch(&executor_actor(), &unpaid, dispatch_as("two", second.epoch)).await.unwrap_err();
    assert_eq!(failed_guards(&error), [Guard::TokensLeft]);
    let kept = withheld(later).await;
    assert_eq!((kept.refused, kept.due, kept.newest.len()), (1, 1, 1), "{kept:?}");
    assert_eq!((&kept.newest[0].operation_id, kept.newest[0].at), (&unpaid, later.plus(Duration::from_secs(3))));
    assert!(kept.newest[0].why.contains("holds 6 of 500 tokens"), "{kept:?}");
    assert_eq!(last().await, short, "a refusal neither begins nor ends it");
    assert!(claim(&rig.ledger, "one").await.is_none(), "what it does not pay is not handed out");

    let end = later.plus(Duration::from_secs(9));
    rig.ledger.set_clock(end).await.unwrap();
    report(&rig.ledger, &paid, first.epoch, answered("re_1")).await;
    let over = Some(Shortage { since: later, until: Some(end) });
    assert_eq!(last().await, over, "the success that fills it ends it");
    let again = claim(&rig.ledger, "one").await.unwrap();
    assert_eq!(again.operation.head.id, unpaid);
    // Counted since then there is none; the newest are told all the same.
    let kept = withheld(end).await;
    assert_eq!((kept.refused, kept.newest.len()), (0, 1));
    assert_eq!(rig.count("budget_refusal").await, 1);
    rig.assert_verified().await;
}

async fn a_claim_passes_over_what_is_paused(rig: Rig) {
    start(&rig).await;
    let psp = DestinationName::parse("psp").unwrap();
    rig.ledger.configure_destinations(&[configured(&psp, Scope::default())]).await.unwrap();
    authorised(&rig, "order-1").await;
    rig.ledger.pause_destination(&admin(), &psp, true).await.unwrap();
    assert!(claim(&rig.ledger, "one").await.is_none());
    assert!(!rig.ledger.has_claimable(&wanted("one").tools).await.unwrap());
    rig.ledger.pause_destination(&admin(), &psp, false).await.unwrap();
    assert!(rig.ledger.has_claimable(&wanted("one").tools).await.unwrap());
    assert!(claim(&rig.ledger, "one").await.is_some());
}

async fn a_dead_sender_is_told_to_its_operations(rig: Rig) {
    let now = start(&rig).await;
    let id = authorised(&rig, "order-1").await;
    claim(&rig.ledger, "one").await.unwrap();
    rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("one", 1)).await.unwrap();
    assert_eq!(rig.ledger.senders().await.unwrap(), ["one-1"]);
    rig.ledger.set_clock(now.plus(Duration::from_secs(100))).await.unwrap();
    rig.ledger.sweep(10).await.unwrap();
    let sent_at = now.plus(Duration::from_secs(90));
    let listed = rig.ledger.record_look_up(&executor_actor(), &id, sent_at, vec![Claim::Absent]).await.unwrap();
    assert_eq!(listed.row.state.to_string(), "uncertain(crashed)", "it may stand still");
    assert_eq!(rig.ledger.sender_gone(&executor_actor(), "one-1", "its lock was free").await.unwrap(), 1);
    assert_eq!(rig.state("order-1").await, "retry_wait", "K6");
    assert!(rig.ledger.senders().await.unwrap().is_empty());
    assert_eq!(rig.ledger.sender_gone(&executor_actor(), "one-1", "again").await.unwrap(), 0);
    rig.assert_verified().await;
}

async fn a_look_up_is_taken_once_and_its_find_is_evidence(rig: Rig) {
    start(&rig).await;
    let id = authorised(&rig, "order-1").await;
    claim(&rig.ledger, "one").await.unwrap();
    rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("one", 1)).await.unwrap();
    report(&rig.ledger, &id, 1, timed_out()).await;
    let tools = wanted("one").tools;
    let other = rig.another().await;
    let by = executor_actor();
    let (one, two) = tokio::join!(rig.ledger.take_look_ups(&by, &tools, 4), other.take_look_ups(&by, &tools, 4));
    let mut taken: Vec<_> = one.unwrap().into_iter().chain(two.unwrap()).collect();
    assert_eq!(taken.len(), 1);
    let task = taken.remove(0);
    assert!(task.destination_key.is_some());
    let found = vec![Claim::Executed { receipt: Receipt::parse("re_1").unwrap() }];
    let listed = rig.ledger.record_look_up(&by, &id, task.sent_at, found).await.unwrap();
    assert_eq!(listed.row.state.to_string(), "succeeded");
    assert!(rig.ledger.take_look_ups(&by, &tools, 4).await.unwrap().is_empty());
    rig.assert_verified().await;
}

async fn a_restore_holds_every_dispatch_until_a_person_has_read(rig: Rig) {
    let now = start(&rig).await;
    let done = authorised(&rig, "order-0").await;
    claim(&rig.ledger, "one").await.unwrap();
    rig.ledger.dispatch(&executor_actor(), &done, dispatch_as("one", 1)).await.unwrap();
    report(&rig.ledger, &done, 1, answered("re_0")).await;
    let id = authorised(&rig, "order-1").await;
    let held = claim(&rig.ledger, "one").await.unwrap();
    let backup_at = now;
    rig.ledger.set_clock(now.plus(Duration::from_secs(5))).await.unwrap();
    assert_eq!(rig.ledger.declare_restored(&admin(), backup_at).await.unwrap(), 1, "what is final stays");
    assert_eq!(
        rig.ledger.declare_restored(&admin(), backup_at).await.unwrap(),
        0,
        "again it goes on, and finds nothing"
    );
    assert_eq!(rig.state("order-1").await, "uncertain(restored)");
    let error = rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("one", held.epoch)).await.unwrap_err();
    assert!(failed_guards(&error).contains(&Guard::RestoreAcknowledged), "{error}");
    authorised(&rig, "order-2").await;
    assert!(claim(&rig.ledger, "two").await.is_none(), "not even what was proposed since");
    let error = rig.ledger.acknowledge_restore(&automation(), None).await.unwrap_err();
    assert!(matches!(error, LedgerError::Refused(Refusal::NotPermitted { .. })), "{error}");
    let error = rig.ledger.acknowledge_restore(&admin(), Some(backup_at)).await.unwrap_err();
    assert!(matches!(error, LedgerError::Refused(Refusal::BadField { .. })), "another restore than was read: {error}");
    let seen = rig.ledger.restore(&admin()).await.unwrap().unwrap().declared_at;
    rig.ledger.acknowledge_restore(&admin(), Some(seen)).await.unwrap();
    // Epochs given after the copy and forgotten with it are all below this one.
    let claimed = claim(&rig.ledger, "two").await.unwrap();
    assert!(claimed.epoch == 1 || claimed.epoch > 1_000_000, "{}", claimed.epoch);
    rig.assert_verified().await;
}

async fn what_a_restore_forgot_is_absent_once_every_older_process_ended(rig: Rig) {
    let now = start(&rig).await;
    let usual = sending_tool("pay", Class::Reversible);
    let lookup = Some(LookUp { by: LookUpBy::Key, consistency: Some(Consistency::Strong), complete: true });
    let contract = Contract { stores: Some(Stores::SuccessesOnly), lookup, ..usual.contract.clone() };
    rig.ledger.declare_tool(&admin(), Tool { contract, ..usual }).await.unwrap();
    let id = authorised(&rig, "order-1").await;
    // What died in the middle before the copy was made may have left no lock behind.
    claim(&rig.ledger, "one").await.unwrap();
    rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("one", 1)).await.unwrap();
    for number in 1..=2 {
        let restored_at = now.plus(Duration::from_hours(number));
        rig.ledger.set_clock(restored_at).await.unwrap();
        rig.ledger.declare_restored(&admin(), now.plus(Duration::from_secs(number))).await.unwrap();
        rig.ledger.acknowledge_restore(&admin(), None).await.unwrap();
        let sent_at = restored_at.plus(Duration::from_mins(30));
        rig.ledger.set_clock(sent_at).await.unwrap();
        let listed = rig.ledger.record_look_up(&executor_actor(), &id, sent_at, vec![Claim::Absent]).await.unwrap();
        assert_eq!(
            listed.row.state.to_string(),
            "uncertain(restored)",
            "restore {number}: an older one may still send"
        );
        let error = rig.ledger.senders_before_restore_gone(&automation(), "no").await.unwrap_err();
        assert!(matches!(error, LedgerError::Refused(Refusal::NotPermitted { .. })), "{error}");
        assert_eq!(rig.ledger.senders_before_restore_gone(&admin(), "the machine is off").await.unwrap(), 1);
        assert_eq!(rig.state("order-1").await, "retry_wait", "K6, restore {number}");
        assert_eq!(rig.ledger.senders_before_restore_gone(&admin(), "again").await.unwrap(), 0);
    }
    assert!(rig.ledger.senders().await.unwrap().is_empty());
    assert!(claim(&rig.ledger, "two").await.is_some());
    rig.assert_verified().await;
}

async fn our_own_names_are_nobodys(rig: Rig) {
    start(&rig).await;
    let id = authorised(&rig, "order-1").await;
    let own = SourceName::own_reader();
    let error = rig.ledger.declare_source(&admin(), &own, Trust::Unknown).await.unwrap_err();
    assert!(error.to_string().contains("are our own"), "{error}");
    let line = br#"{"ts":"2026-10-05T09:00:00Z","ev":"webhook.received","webhook_id":"w","link_key":"order-1","says":"succeeded","receipt":"re_9"}"#;
    let error = rig.ledger.import_lines(&automation(), &own, 1, &[&line[..]]).await.unwrap_err();
    assert!(error.to_string().contains("are our own"), "{error}");
    let evidence = |source: &SourceName| Evidence {
        id: "e1".into(),
        source: source.clone(),
        claim: Claim::Executed { receipt: Receipt::parse("re_9").unwrap() },
        object: None,
        linked_by: LinkedBy::Key,
        key: None,
        at: Timestamp::from_micros(0),
        provider_time: None,
        sent_at: None,
    };
    let error = rig.ledger.add_evidence(&automation(), &id, evidence(&own)).await.unwrap_err();
    assert!(error.to_string().contains("are our own"), "{error}");
    // Anybody else's word is a hint until an administrator says more.
    let theirs = crate::rig::source("executor/robot");
    rig.ledger.add_evidence(&automation(), &id, evidence(&theirs)).await.unwrap();
    assert_eq!(rig.state("order-1").await, "authorized");
    rig.ledger.declare_source(&admin(), &theirs, Trust::Verified).await.unwrap();
    assert!(rig.state("order-1").await.starts_with("contradicted"), "an effect without a send of ours");
    rig.assert_verified().await;
}

async fn changed_arguments_are_the_ones_that_are_sent(rig: Rig) {
    start(&rig).await;
    let new = proposal("order-1", "pay", r#"{"order":"order-1","amount":10}"#);
    let made = rig.ledger.propose_operation(&automation(), new).await.unwrap().operation;
    let conflicting = proposal("order-1", "pay", r#"{"order":"order-1","amount":12}"#);
    rig.ledger.propose_operation(&automation(), conflicting).await.unwrap_err();
    let mut version = rig.listed("order-1").await.unwrap().version;
    let text = r#"{"order":"order-1","amount":11.0}"#;
    // The last spelling counts, of a number that was spelled otherwise before and in a proposal that was not taken.
    let spellings = [r#"{"order":"order-1","amount":12.00}"#, r#"{"order":"order-1","amount":11}"#, text];
    for (key, text) in ["change", "again", "spelled"].into_iter().zip(spellings) {
        let change = ActionInput::ChangeArguments { arguments: text.into() };
        let answer = rig.ledger.act(&made.head.id, act(key, &crate::rig::operator(), change, version)).await.unwrap();
        assert!(answer.record.refusal.is_none(), "{:?}", answer.record.refusal);
        version = answer.record.made_version.unwrap();
        let kept = rig.ledger.operation_arguments(&admin(), &made.head.id).await.unwrap().unwrap();
        assert_eq!(String::from_utf8(kept).unwrap(), text);
    }
    let approve = act("approve", &actor("ida", Role::Approver), ActionInput::Approve {}, version);
    let answer = rig.ledger.act(&made.head.id, approve).await.unwrap();
    assert!(answer.record.refusal.is_none(), "{:?}", answer.record.refusal);
    let claimed = claim(&rig.ledger, "one").await.unwrap();
    assert_eq!(String::from_utf8(claimed.arguments).unwrap(), text);
    assert_eq!(claimed.args_version, 4);
    assert_eq!(rig.examined("order-1").await.arguments.unwrap(), text.as_bytes());
    // After a send other arguments are another operation of the intent, with its own bytes.
    rig.ledger.dispatch(&executor_actor(), &made.head.id, dispatch_as("one", 1)).await.unwrap();
    let failed = End { http: Some(422), ..End::new(ReportedOutcome::Rejected) };
    assert_eq!(report(&rig.ledger, &made.head.id, 1, failed).await, "failed.proven(permanent)");
    let version = rig.listed("order-1").await.unwrap().version;
    let mut rerun = act("rerun", &crate::rig::operator(), ActionInput::RerunNew {}, version);
    rerun.confirmation = Some("order-1".into());
    let answer = rig.ledger.act(&made.head.id, rerun).await.unwrap();
    assert!(answer.record.refusal.is_none(), "{:?}", answer.record.refusal);
    let child = answer.record.created.unwrap();
    let bytes = rig.ledger.operation_arguments(&admin(), &child).await.unwrap();
    assert_eq!(bytes.unwrap(), text.as_bytes(), "it takes the arguments over");
    rig.assert_verified().await;
}

async fn a_moved_scope_forbids_the_repeat(rig: Rig) {
    let now = start(&rig).await;
    let psp = DestinationName::parse("psp").unwrap();
    let scope = |region: &str| Scope { region: Some(region.into()), ..Scope::default() };
    let contract = Contract { scope: None, ..sending_tool("pay", Class::Reversible).contract };
    rig.ledger.declare_tool(&admin(), Tool { contract, ..sending_tool("pay", Class::Reversible) }).await.unwrap();
    rig.ledger.configure_destinations(&[configured(&psp, scope("eu"))]).await.unwrap();
    let id = authorised(&rig, "order-1").await;
    claim(&rig.ledger, "one").await.unwrap();
    rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("one", 1)).await.unwrap();
    report(&rig.ledger, &id, 1, timed_out()).await;
    rig.ledger.set_clock(now.plus(Duration::from_mins(1))).await.unwrap();
    rig.ledger.configure_destinations(&[configured(&psp, scope("us"))]).await.unwrap();
    let examined = rig.examined("order-1").await;
    assert_eq!(examined.ruling.row, "30", "keys do not cross scopes");
    assert!(claim(&rig.ledger, "two").await.is_none());
    rig.ledger.set_clock(now.plus(Duration::from_hours(1))).await.unwrap();
    let sent_at = rig.ledger.now().await.unwrap();
    let listed = rig.ledger.record_look_up(&executor_actor(), &id, sent_at, vec![Claim::Absent]).await.unwrap();
    assert_eq!(listed.row.state.to_string(), "uncertain(timeout)", "nothing there says nothing about here");
    assert!(claim(&rig.ledger, "two").await.is_none());
    let sends =
        examined.record.facts.iter().filter(|fact| matches!(fact, Fact::Report(report) if report.dest_key.is_some()));
    assert!(sends.count() >= 1);
    if rig.engine == Engine::Postgres {
        assert_eq!(rig.count("destination").await, 1);
    }
}

//! Every public write leaves a trail: a journal entry, an action row, a row of the audit trail, or a delivery as it was
//! received. The list of writes is read from the source, so that a new one cannot be forgotten here.

use std::collections::BTreeSet;
use std::time::Duration;

use tallystick_domain::action::ActionInput;
use tallystick_domain::attempt::{End, ReportedOutcome};
use tallystick_domain::bulk::Selection;
use tallystick_domain::evidence::{Claim, Evidence, LinkedBy, Trust};
use tallystick_domain::lease::Scope;
use tallystick_domain::name::{ActionKey, DestinationName, SourceName, ToolName, WorkflowName};
use tallystick_domain::permission::Role;
use tallystick_domain::tool::Class;
use tallystick_domain::transition::Worker;
use tallystick_domain::workflow::{Place, Unwinds};
use tallystick_ledger::executing::{ClaimRequest, DispatchRequest};
use tallystick_ledger::operations::{NewProposal, NewStep};
use tallystick_ledger::people::{NewPrincipal, executor_actor};

use crate::rig::{
    Rig, act, actor, admin, at, automation, case, configured, operator, proposal, second_operator, source, tool,
};

on_both! {
    every_public_write_leaves_a_trail,
}

/// Writes that keep no business record: sums that can be counted again, browser sessions, how a person likes to see a list,
/// who is about to read at a destination, and what only tests can do.
const WITHOUT_TRAIL: [&str; 10] = [
    "count_outcomes",
    "save_view",
    "forget_view",
    "session_create",
    "session_save",
    "session_delete",
    "take_look_ups",
    "set_clock",
    "set_clock_offset",
    "limit_pages",
];

/// Public functions whose body opens a unit of work, straight or by a way that they share.
fn public_writes() -> BTreeSet<String> {
    let folder = format!("{}/src", env!("CARGO_MANIFEST_DIR"));
    let mut writes = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for function in text.split("    pub async fn ").skip(1) {
            let name: String = function.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let body = function.split("\n    }\n").next().unwrap_or_default();
            let by_way_of = [".write(", ".press(", ".change_bulk(", "finish_refolds"];
            if by_way_of.iter().any(|way| body.contains(way)) {
                writes.insert(name);
            }
        }
    }
    writes
}

async fn trail(rig: &Rig) -> i64 {
    let acted = rig.count("operator_action").await + rig.count("audit").await;
    rig.count("journal").await + rig.count("delivery").await + acted
}

async fn every_public_write_leaves_a_trail(rig: Rig) {
    let mut shown = BTreeSet::new();
    macro_rules! shows {
        ($name:literal, $call:expr) => {{
            let before = trail(&rig).await;
            let answer = $call.await.unwrap();
            assert!(trail(&rig).await > before, "{} left no trail", $name);
            shown.insert($name.to_owned());
            answer
        }};
    }
    let ledger = &rig.ledger;
    ledger.set_clock(at("2026-10-05T09:00:03Z")).await.unwrap();
    shows!("declare_source", ledger.declare_source(&admin(), &source("cases"), Trust::Verified));
    let text = case("R01");
    let lines: Vec<&[u8]> = text.lines().take(3).map(str::as_bytes).collect();
    shows!("import_lines", ledger.import_lines(&automation(), &source("cases"), 1, &lines));
    shows!("declare_tool", ledger.declare_tool(&admin(), tool("pay", Class::Reversible)));
    shows!("propose_operation", ledger.propose_operation(&automation(), proposal("g", "pay", "{}")));
    ledger.set_clock(at("2026-10-05T10:00:00Z")).await.unwrap();
    shows!("sweep", ledger.sweep(10));
    let listed = rig.listed("credit_purchase:cart-77").await.unwrap();
    let (id, version) = (listed.head.id, listed.version);
    let mut mark = act("k1", &operator(), ActionInput::MarkFailed {}, version);
    mark.confirmation = Some("cart-77".into());
    shows!("act", ledger.act(&id, mark.clone()));
    let key = |text: &str| ActionKey::parse(text).unwrap();
    let second = second_operator();
    shows!("decline_action", ledger.decline_action(&second, &key("k1"), &key("k2"), version + 1, "no".into()));
    let confirmed = Some("cart-77".to_owned());
    shows!("complete_action", ledger.complete_action(&second, &key("k1"), &key("k3"), version + 2, confirmed));
    let new = NewPrincipal { login: "x".into(), name: "x".into(), role: Role::Viewer, password_hash: None };
    let person = shows!("add_principal", ledger.add_principal(&admin(), new));
    shows!("set_password", ledger.set_password(&admin(), &person.id, "hash".into()));
    let ends = Some(at("2026-10-05T11:00:00Z"));
    shows!("add_token", ledger.add_token(&admin(), &person.id, [1; 32], "link", ends));
    shows!("redeem_sign_in_link", ledger.redeem_sign_in_link([1; 32]));
    shows!("set_zone", ledger.set_zone(&admin(), "Europe/Lisbon", 0));

    let psp = DestinationName::parse("psp").unwrap();
    shows!("configure_destinations", ledger.configure_destinations(&[configured(&psp, Scope::default())]));
    shows!("pause_destination", ledger.pause_destination(&admin(), &psp, false));
    let guarded = rig.listed("g").await.unwrap();
    let approve = act("k4", &actor("ida", Role::Approver), ActionInput::Approve {}, guarded.version);
    shows!("act", ledger.act(&guarded.head.id, approve));
    let (by, id) = (executor_actor(), guarded.head.id);
    let worker = Worker { name: "w".into(), incarnation: "i".into() };
    let tools = vec![ToolName::parse("pay").unwrap()];
    let wanted = ClaimRequest { worker: worker.clone(), tools, limit: 1, lease: None, clock: None };
    shows!("claim", ledger.claim(&by, wanted.clone()));
    shows!("renew_lease", ledger.renew_lease(&by, &id, 1, Some(Duration::from_mins(2))));
    shows!("release_claim", ledger.release_claim(&by, &id, 1, "not now"));
    ledger.claim(&by, wanted).await.unwrap();
    let own = SourceName::own_executor();
    let sending = DispatchRequest { epoch: 2, worker, source: own.clone(), layer: None, wire: None, wire_hash: None };
    shows!("dispatch", ledger.dispatch(&by, &id, sending));
    shows!("sender_gone", ledger.sender_gone(&by, "i", "its lock was free"));
    shows!("report_outcome", ledger.report_outcome(&by, &id, 2, &own, End::new(ReportedOutcome::Timeout)));
    let evidence = Evidence {
        id: "e".into(),
        source: source("executor/x"),
        claim: Claim::Likely,
        object: None,
        linked_by: LinkedBy::Key,
        key: None,
        at: at("2026-10-05T10:00:00Z"),
        provider_time: None,
        sent_at: None,
    };
    shows!("add_evidence", ledger.add_evidence(&automation(), &id, evidence));
    let sent_at = at("2026-10-05T10:00:00Z");
    shows!("record_look_up", ledger.record_look_up(&by, &id, sent_at, vec![Claim::Unavailable]));
    let order = WorkflowName::parse("order").unwrap();
    shows!("declare_workflow", ledger.declare_workflow(&automation(), &order, Unwinds::ByPeople, None));
    for (number, key) in [(1, "first"), (2, "second")] {
        let place = Place { number, is_pivot: false, needs: None };
        let step = Some(NewStep { workflow: order.clone(), place });
        ledger.propose_operation(&automation(), NewProposal { step, ..proposal(key, "pay", "{}") }).await.unwrap();
    }
    let first = rig.listed("first").await.unwrap();
    let cancel = act("k5", &operator(), ActionInput::Cancel {}, first.version);
    shows!("act", ledger.act(&first.head.id, cancel));
    // What the second one waits for is another thing now.
    shows!("advance_workflows", ledger.advance_workflows(5));
    let inbound = crate::deliveries::by_receipt("evt_1", "made", "ch_1");
    shows!("receive_delivery", ledger.receive_delivery(inbound));
    let these = Selection::Chosen { operations: vec![id.clone()], from: None };
    let bulk = shows!("preview_bulk", ledger.preview_bulk(&second, ActionInput::Comment {}, these));
    shows!("start_bulk", ledger.start_bulk(&second, &bulk.id, bulk.hash, "seen"));
    shows!("abort_bulk", ledger.abort_bulk(&second, &bulk.id));
    shows!("declare_restored", ledger.declare_restored(&admin(), at("2026-10-05T09:59:00Z")));
    shows!("acknowledge_restore", ledger.acknowledge_restore(&admin(), None));
    shows!("senders_before_restore_gone", ledger.senders_before_restore_gone(&admin(), "the machine is off"));

    shown.extend(WITHOUT_TRAIL.iter().map(|&name| name.to_owned()));
    assert_eq!(shown, public_writes());
    assert!(rig.ledger.audit_trail(&admin(), None, 50).await.unwrap().rows.len() >= 6);
}

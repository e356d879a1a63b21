//! Tools and sources: declarations, their versions, and folding again.

use tallystick_domain::evidence::Trust;
use tallystick_domain::name::ToolName;
use tallystick_domain::tool::{Class, Tool};
use tallystick_ledger::LedgerError;

use crate::rig::{Rig, admin, at, case, operator, source, tool, viewer};

on_both! {
    declaring_raises_the_version_only_when_something_changed,
    declaring_a_tool_folds_its_operations_again,
    folding_that_was_left_over_goes_on_with_the_sweep,
    a_source_is_on_record_from_its_first_line,
    only_an_administrator_declares,
    what_another_process_declares_counts_at_once,
    a_declaration_that_was_undone_counts_nowhere,
    a_tool_tells_who_declared_it_when_and_what_lies_above_it,
}

async fn declaring_raises_the_version_only_when_something_changed(rig: Rig) {
    let first = rig.declare("pay", Class::Reversible).await;
    assert_eq!((first.version, first.declared), (1, true));
    assert_eq!(rig.declare("pay", Class::Reversible).await.version, 1);
    assert_eq!(rig.declare("pay", Class::Irreversible).await.version, 2);
    let stored = rig.ledger.tool(&viewer(), &ToolName::parse("pay").unwrap()).await.unwrap().unwrap();
    assert_eq!(stored.class, Class::Irreversible);
    assert_eq!(rig.count("tool_version").await, 2);
}

async fn declaring_a_tool_folds_its_operations_again(rig: Rig) {
    rig.import(&case("R01")).await;
    assert_eq!(rig.listed("credit_purchase:cart-77").await.unwrap().row.class, Class::Irreversible);
    rig.declare("payments.charge", Class::Reversible).await;
    assert_eq!(rig.listed("credit_purchase:cart-77").await.unwrap().row.class, Class::Reversible);
    assert_eq!(rig.count("refold").await, 0);
    rig.assert_verified().await;
}

async fn folding_that_was_left_over_goes_on_with_the_sweep(rig: Rig) {
    rig.import(&case("R01")).await;
    // As if a process had ended between the declaration and the folding.
    let declared = rig.declare("other", Class::Reversible).await;
    let body = serde_json::to_string(&Tool { name: ToolName::parse("payments.charge").unwrap(), ..declared });
    rig.sql(&format!("INSERT INTO tool VALUES ('main', 'payments.charge', 1, '{}')", body.unwrap())).await;
    rig.sql("INSERT INTO refold VALUES ('main', 'r1', 'tool', 'payments.charge', '', 0)").await;
    assert_eq!(rig.ledger.sweep(10).await.unwrap(), 1);
    assert_eq!(rig.listed("credit_purchase:cart-77").await.unwrap().row.class, Class::Reversible);
    assert_eq!(rig.count("refold").await, 0);
}

async fn a_source_is_on_record_from_its_first_line(rig: Rig) {
    rig.import_from("feed", &case("R01")).await;
    let sources = rig.ledger.sources(&viewer()).await.unwrap();
    assert_eq!((sources[0].name.as_str(), sources[0].trust), ("feed", Trust::Unknown));
}

/// Each process keeps what it read of tools, sources and settings.
async fn what_another_process_declares_counts_at_once(rig: Rig) {
    let other = rig.another().await;
    rig.import(&case("R01")).await;
    let classes = async || {
        let key = "credit_purchase:cart-77";
        let id = rig.id(key).await;
        rig.ledger.operation(&viewer(), &id).await.unwrap().unwrap().tool.class
    };
    let zone = async || rig.ledger.settings().await.unwrap().zone;
    for class in [Class::Reversible, Class::Read, Class::Irreversible] {
        let _ = classes().await;
        other.declare_tool(&admin(), tool("payments.charge", class)).await.unwrap();
        assert_eq!(classes().await, class);
    }
    assert_eq!(zone().await, "UTC");
    other.set_zone(&admin(), "Europe/Lisbon", 0).await.unwrap();
    assert_eq!(zone().await, "Europe/Lisbon");
    // By whatever way it is written.
    rig.sql("UPDATE setting SET value = 'Asia/Kathmandu' WHERE name = 'zone'").await;
    assert_eq!(zone().await, "Asia/Kathmandu");
    rig.sql("DELETE FROM setting WHERE name = 'zone'").await;
    assert_eq!(zone().await, "UTC");
    rig.sql("DELETE FROM tool").await;
    assert!(rig.ledger.tool(&viewer(), &ToolName::parse("payments.charge").unwrap()).await.unwrap().is_none());
}

async fn a_declaration_that_was_undone_counts_nowhere(rig: Rig) {
    let (ledger, name) = (&rig.ledger, ToolName::parse("pay").unwrap());
    rig.declare("pay", Class::Reversible).await;
    // The declaration goes as far as its version, which is taken already; then all of it is undone.
    let taken = "INSERT INTO tool_version (workspace_id, name, version, body, declared_at, declared_by)
         SELECT workspace_id, name, 2, body, declared_at, declared_by FROM tool_version";
    rig.sql(taken).await;
    ledger.declare_tool(&admin(), tool("pay", Class::Read)).await.unwrap_err();
    assert_eq!(ledger.tool(&viewer(), &name).await.unwrap().unwrap().class, Class::Reversible);
    rig.sql("DELETE FROM tool_version WHERE version = 2").await;
    assert_eq!(ledger.declare_tool(&admin(), tool("pay", Class::Read)).await.unwrap().version, 2);
    assert_eq!(ledger.tool(&viewer(), &name).await.unwrap().unwrap().class, Class::Read);
}

async fn only_an_administrator_declares(rig: Rig) {
    let error = rig.ledger.declare_tool(&operator(), tool("pay", Class::Read)).await.unwrap_err();
    assert!(matches!(error, LedgerError::Refused(_)));
    let error = rig.ledger.declare_source(&operator(), &source("x"), Trust::Verified).await.unwrap_err();
    assert!(matches!(error, LedgerError::Refused(_)));
    assert!(rig.ledger.tools(&admin()).await.unwrap().is_empty());
    assert_eq!(rig.count("audit WHERE status = 'refused'").await, 2);
}

async fn a_tool_tells_who_declared_it_when_and_what_lies_above_it(rig: Rig) {
    let (ledger, name) = (&rig.ledger, ToolName::parse("payments.charge").unwrap());
    assert!(ledger.layers_of_tool(&viewer(), &name).await.unwrap().is_none(), "nobody knows it");
    rig.import(&case("R01")).await;
    let (undeclared, _) = ledger.layers_of_tool(&viewer(), &name).await.unwrap().unwrap();
    assert_eq!(undeclared.tool, Tool::undeclared(name.clone()), "in use, and nobody declared it");
    assert!(ledger.tool_declarations(&viewer(), &name, 10).await.unwrap().is_empty());
    for (class, time) in [(Class::Reversible, "09:00"), (Class::Irreversible, "10:00"), (Class::Irreversible, "11:00")]
    {
        ledger.set_clock(at(&format!("2026-10-05T{time}:00Z"))).await.unwrap();
        rig.declare("payments.charge", class).await;
    }
    let told = ledger.tool_declarations(&viewer(), &name, 10).await.unwrap();
    let lines: Vec<_> = told.iter().map(|one| (one.tool.version, one.tool.class, one.by.as_str(), one.at)).collect();
    let expected = [
        (2, Class::Irreversible, "ada", at("2026-10-05T10:00:00Z")),
        (1, Class::Reversible, "ada", at("2026-10-05T09:00:00Z")),
    ];
    assert_eq!(lines, expected);
    assert_eq!(ledger.tool_declarations(&viewer(), &name, 1).await.unwrap(), told[..1]);
    let (declared, _) = ledger.layers_of_tool(&viewer(), &name).await.unwrap().unwrap();
    assert_eq!(declared.tool, told[0].tool);
}

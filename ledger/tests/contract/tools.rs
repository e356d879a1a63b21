//! Tools and sources: declarations, their versions, and folding again.

use tallystick_domain::evidence::Trust;
use tallystick_domain::name::ToolName;
use tallystick_domain::tool::Class;
use tallystick_ledger::LedgerError;

use crate::rig::{Rig, admin, case, operator, source, tool, viewer};

on_both! {
    declaring_raises_the_version_only_when_something_changed,
    declaring_a_tool_folds_its_operations_again,
    folding_that_was_left_over_goes_on_with_the_sweep,
    a_source_is_on_record_from_its_first_line,
    only_an_administrator_declares,
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
    let body = serde_json::to_string(&tallystick_domain::tool::Tool {
        name: ToolName::parse("payments.charge").unwrap(),
        ..declared
    });
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

async fn only_an_administrator_declares(rig: Rig) {
    let error = rig.ledger.declare_tool(&operator(), tool("pay", Class::Read)).await.unwrap_err();
    assert!(matches!(error, LedgerError::Refused(_)));
    let error = rig.ledger.declare_source(&operator(), &source("x"), Trust::Verified).await.unwrap_err();
    assert!(matches!(error, LedgerError::Refused(_)));
    assert!(rig.ledger.tools(&admin()).await.unwrap().is_empty());
    assert_eq!(rig.count("audit WHERE status = 'refused'").await, 2);
}

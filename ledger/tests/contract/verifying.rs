//! `verify` names what is wrong: every column, every missing entry, every changed byte.

use crate::rig::{Rig, automation, case, proposal};
use tallystick_domain::tool::Class;

on_both! {
    a_sound_record_verifies,
    each_corrupted_column_of_an_operation_is_named,
    a_removed_middle_entry_is_named,
    a_removed_last_entry_is_named,
    a_changed_entry_is_named,
    a_removed_row_is_named,
    a_row_without_a_journal_is_named,
}

const KEY: &str = "credit_purchase:cart-77";

async fn fill(rig: &Rig) -> String {
    rig.declare("pay", Class::Reversible).await;
    rig.ledger
        .propose_operation(&automation(), proposal("g", "pay", r#"{"amount_minor":5,"currency":"eur"}"#))
        .await
        .unwrap();
    for line in case("R01").lines() {
        rig.import(line).await;
    }
    rig.id(KEY).await.to_string()
}

async fn named(rig: &Rig) -> Vec<(String, Option<u64>, String)> {
    let found = rig.ledger.verify().await.unwrap();
    found.discrepancies.into_iter().map(|one| (one.operation_id, one.version, one.place)).collect()
}

async fn a_sound_record_verifies(rig: Rig) {
    fill(&rig).await;
    let found = rig.ledger.verify().await.unwrap();
    assert_eq!((found.operations, found.entries), (2, 8));
    assert!(found.discrepancies.is_empty(), "{:#?}", found.discrepancies);
}

async fn each_corrupted_column_of_an_operation_is_named(rig: Rig) {
    let id = fill(&rig).await;
    let columns = rig.columns("operation").await;
    // Written by later editions only.
    let later = ["lease_owner", "lease_epoch", "lease_expires_at", "claimed_from", "provider_key", "wire_hash"];
    let mut corrupted = 0;
    for (column, kind) in columns {
        // The key itself: a row under another id is a missing row and a stranger, shown by other tests.
        if later.contains(&column.as_str()) || ["workspace_id", "op_id"].contains(&column.as_str()) {
            continue;
        }
        let wrong = match kind.as_str() {
            "text" => format!("COALESCE({column}, '') || 'x'"),
            "bytes" => rig.bytes_literal("00ff"),
            "boolean" => format!("NOT {column}"),
            _ => format!("COALESCE({column}, 0) + 1"),
        };
        rig.sql("CREATE TABLE kept AS SELECT * FROM operation").await;
        assert_eq!(rig.sql(&format!("UPDATE operation SET {column} = {wrong} WHERE op_id = '{id}'")).await, 1);
        let found = named(&rig).await;
        let place = format!("operation.{column}");
        assert!(found.iter().any(|(op, _, at)| *op == id && *at == place), "{column}: {found:?}");
        rig.sql("DELETE FROM operation").await;
        rig.sql("INSERT INTO operation SELECT * FROM kept").await;
        rig.sql("DROP TABLE kept").await;
        corrupted += 1;
    }
    assert_eq!(corrupted, 44);
    rig.assert_verified().await;
}

async fn a_removed_middle_entry_is_named(rig: Rig) {
    let id = fill(&rig).await;
    rig.sql(&format!("DELETE FROM journal WHERE op_id = '{id}' AND version = 3")).await;
    let found = named(&rig).await;
    assert!(found.contains(&(id, Some(3), "journal".into())), "{found:?}");
}

async fn a_removed_last_entry_is_named(rig: Rig) {
    let id = fill(&rig).await;
    rig.sql(&format!("DELETE FROM journal WHERE op_id = '{id}' AND version = 7")).await;
    let found = named(&rig).await;
    assert!(found.contains(&(id, Some(7), "journal".into())), "{found:?}");
}

async fn a_changed_entry_is_named(rig: Rig) {
    let id = fill(&rig).await;
    for column in ["facts", "changes", "rules", "command", "actor_name"] {
        rig.sql("CREATE TABLE kept AS SELECT * FROM journal").await;
        rig.sql(&format!("UPDATE journal SET {column} = {column} || ' ' WHERE op_id = '{id}' AND version = 4")).await;
        let found = named(&rig).await;
        assert!(found.contains(&(id.clone(), Some(4), "journal.hash".into())), "{column}: {found:?}");
        rig.sql("DELETE FROM journal").await;
        rig.sql("INSERT INTO journal SELECT * FROM kept").await;
        rig.sql("DROP TABLE kept").await;
    }
}

async fn a_removed_row_is_named(rig: Rig) {
    let id = fill(&rig).await;
    rig.sql(&format!("DELETE FROM operation WHERE op_id = '{id}'")).await;
    let found = named(&rig).await;
    assert_eq!(found, [(id, None, "operation".to_owned())]);
}

async fn a_row_without_a_journal_is_named(rig: Rig) {
    let id = fill(&rig).await;
    rig.sql(&format!("DELETE FROM journal WHERE op_id = '{id}'")).await;
    assert_eq!(named(&rig).await, [(id, None, "journal".to_owned())]);
}

//! The two schemas are one schema; a newer one is refused; queries on tables that grow use their indexes.

use std::collections::BTreeMap;

use tallystick_ledger::{Ledger, LedgerError, OpenOptions};

use crate::rig::{Engine, Rig};

on_both! {
    a_newer_schema_is_refused_and_left_alone,
    an_older_schema_is_refused_unless_migrating_is_allowed,
    opening_again_changes_nothing,
    lists_are_read_by_their_indexes,
}

async fn a_newer_schema_is_refused_and_left_alone(rig: Rig) {
    rig.ledger.close().await;
    let insert = "INSERT INTO schema_migration (version, name, checksum, applied_at) VALUES (99, 'later', ";
    rig.sql(&format!("{insert}{}, 0)", rig.bytes_literal("00"))).await;
    let error = Ledger::open(&OpenOptions { url: rig.url.clone(), migrate: true }).await.err().unwrap();
    assert!(matches!(error, LedgerError::Schema { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("newer binary"), "{error}");
}

async fn an_older_schema_is_refused_unless_migrating_is_allowed(rig: Rig) {
    rig.ledger.close().await;
    rig.sql("DELETE FROM schema_migration").await;
    let error = Ledger::open(&OpenOptions { url: rig.url.clone(), migrate: false }).await.err().unwrap();
    assert!(error.to_string().contains("tallystick migrate"), "{error}");
}

async fn opening_again_changes_nothing(rig: Rig) {
    let another = rig.another().await;
    another.check_ready().await.unwrap();
    assert_eq!(rig.count("schema_migration").await, 11);
}

async fn lists_are_read_by_their_indexes(rig: Rig) {
    // Enough rows that reading a table whole would be wrong, and numbers that say so.
    let lines: Vec<String> = (0..2000)
        .map(|number| {
            let outcome = if number % 10 == 0 { r#""timeout""# } else { r#""ok","receipt":"r""# };
            format!(
                r#"{{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"o{number}","key":"k{number}","tool":"t{}","dest":"d{}","saga":"s{}","dest_key":"k{number}","outcome":{outcome}}}"#,
                number % 50, number % 40, number / 4,
            )
        })
        .collect();
    rig.import(&lines.join("\n")).await;
    rig.ledger.count_all_outcomes(500).await.unwrap();
    if rig.engine == Engine::Postgres {
        // A small table is read whole, and rightly. What is asked here is which index serves when it has grown.
        let name = rig.texts("SELECT current_database()::TEXT").await.pop().unwrap();
        rig.sql(&format!("ANALYZE; ALTER DATABASE {name} SET enable_seqscan = off")).await;
    }
    let primary = match rig.engine {
        Engine::Sqlite => "sqlite_autoindex_operation_1",
        Engine::Postgres => "operation_pkey",
    };
    for plan in rig.another().await.plans().await.unwrap() {
        let index = if plan.index == "primary key" { primary } else { plan.index };
        assert!(plan.text.contains(index), "{index}\n{}\n{}", plan.sql, plan.text);
        let reads_whole = |table: &str| {
            plan.text.contains(&format!("SCAN {table};")) || plan.text.contains(&format!("Seq Scan on {table} "))
        };
        let is_read_whole = ["operation", "a", "c", "outcome_sum", "outcome_time"].into_iter().any(reads_whole);
        assert!(!is_read_whole, "{}\n{}", plan.sql, plan.text);
    }
}

/// Tables, columns with kinds and nullability, and indexes of one engine.
async fn shape(rig: &Rig) -> BTreeMap<String, Vec<String>> {
    let (tables, indexes) = match rig.engine {
        Engine::Sqlite => (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
            "SELECT name FROM sqlite_master WHERE type = 'index' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        ),
        Engine::Postgres => (
            "SELECT table_name::TEXT FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
            "SELECT indexname::TEXT FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%_pkey' ORDER BY 1",
        ),
    };
    let mut shape = BTreeMap::new();
    for table in rig.texts(tables).await {
        let columns = rig.columns(&table).await.into_iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        shape.insert(table, columns);
    }
    shape.insert("indexes".into(), rig.texts(indexes).await);
    shape
}

#[tokio::test]
async fn both_engines_have_the_same_schema() {
    let (sqlite, postgres) = (Rig::sqlite().await, Rig::postgres().await);
    let (left, right) = (shape(&sqlite).await, shape(&postgres).await);
    assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
    for (table, columns) in left {
        assert_eq!(columns, right[&table], "{table}");
    }
}

//! Retry layers: what was declared is read back from the lines as they were received, also from lines kept before anybody
//! read them, beside what was seen on attempts.

use tallystick_domain::evidence::Trust;
use tallystick_domain::layers::{Attempts, RetryClass};
use tallystick_domain::name::LayerName;
use tallystick_domain::permission::Role;
use tallystick_domain::tool::{Class, Tool};
use tallystick_ledger::layers::ToolLayers;

use crate::rig::{Rig, actor, admin, at, tool, viewer};

on_both! {
    what_layers_declare_is_read_back_with_whose_word_it_is,
    what_made_attempts_stands_beside_what_was_declared,
    declarations_kept_before_this_edition_are_found,
}

fn declared(layer: &str, second: u32, more: &str) -> String {
    format!(r#"{{"ts":"2026-10-05T08:00:{second:02}Z","ev":"layer.declared","layer":"{layer}"{more}}}"#)
}

async fn layers_of(rig: &Rig, name: &str) -> ToolLayers {
    let layers = rig.ledger.layers(&viewer()).await.unwrap();
    layers.tools.into_iter().find(|one| one.tool.name.as_str() == name).unwrap()
}

fn named(one: &ToolLayers) -> Vec<(&str, Option<Attempts>)> {
    one.layers.iter().map(|layer| (layer.name.as_str(), layer.attempts)).collect()
}

async fn start(rig: &Rig) {
    rig.ledger.set_clock(at("2026-10-05T09:00:00Z")).await.unwrap();
    let owners = [(RetryClass::Temporary, LayerName::parse("adapter").unwrap())].into();
    rig.ledger.declare_tool(&admin(), Tool { retry_owners: owners, ..tool("pay", Class::Irreversible) }).await.unwrap();
}

async fn what_layers_declare_is_read_back_with_whose_word_it_is(rig: Rig) {
    start(&rig).await;
    let lines = [
        declared("adapter", 1, r#","tool":"pay","max_attempts":3"#),
        declared("adapter", 2, r#","tool":"pay","max_attempts":4"#),
        declared("proxy", 3, r#","dest":"elsewhere","max_attempts":9"#),
    ];
    rig.import(&lines.join("\n")).await;
    // The same again, later, is not a second declaration.
    rig.import(&declared("adapter", 30, r#","tool":"pay","max_attempts":4"#)).await;
    rig.import_from("gossip", &declared("sdk", 4, r#","dest":"psp""#)).await;
    let all = rig.ledger.layers(&viewer()).await.unwrap();
    let told: Vec<_> =
        all.declarations.iter().map(|one| (one.declaration.layer.as_str(), one.source.as_str(), one.trust)).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told.contains(&("sdk", "gossip", Trust::Unknown)) && told.contains(&("proxy", "cases", Trust::Verified)));
    let pay = layers_of(&rig, "pay").await;
    assert_eq!(
        named(&pay),
        [("adapter", Some(Attempts::Fixed(4))), ("sdk", None)],
        "the later of two, and not the proxy's"
    );
    assert_eq!(pay.tool.retry_owners[&RetryClass::Temporary].as_str(), "adapter");
    assert_eq!(all.tools.len(), 1);
    // Everybody who is signed in may read it.
    rig.ledger.layers(&actor("vic", Role::Viewer)).await.unwrap();
}

async fn what_made_attempts_stands_beside_what_was_declared(rig: Rig) {
    start(&rig).await;
    let ended = |op: &str, n: u32, owner: &str| {
        format!(
            r#"{{"ts":"2026-10-05T08:10:{n:02}Z","ev":"attempt.ended","op":"{op}","key":"{op}","tool":"pay","dest":"psp","n":{n},"owner":"{owner}","outcome":"throttled","http":429}}"#
        )
    };
    let lines = [
        declared("adapter", 1, r#","tool":"pay","max_attempts":3"#),
        ended("a", 1, "adapter"),
        ended("a", 2, "adapter"),
        ended("a", 3, "cron"),
        ended("b", 1, "adapter"),
        ended("other", 1, "x").replace("\"pay\"", "\"mail\""),
    ];
    rig.import(&lines.join("\n")).await;
    rig.ledger.count_all_outcomes(100).await.unwrap();
    let most = rig.id("a").await;
    let mut pay = layers_of(&rig, "pay").await;
    while pay.most.is_none() {
        // On PostgreSQL a change is read only when no older transaction of the server runs.
        rig.ledger.count_all_outcomes(100).await.unwrap();
        pay = layers_of(&rig, "pay").await;
    }
    assert_eq!(pay.most, Some((most, 3)));
    let seen: Vec<_> = pay.seen.iter().map(|(layer, count)| (layer.as_str(), *count)).collect();
    assert_eq!(seen, [("adapter", 3), ("cron", 1)]);
    assert_eq!(named(&pay), [("adapter", Some(Attempts::Fixed(3))), ("cron", None)]);
    assert_eq!(pay.declared, 1);
    assert!(!layers_of(&rig, "mail").await.tool.declared, "a tool that nobody declared has its row too");
}

async fn declarations_kept_before_this_edition_are_found(rig: Rig) {
    start(&rig).await;
    rig.import(&declared("adapter", 1, r#","tool":"pay","max_attempts":3"#)).await;
    rig.import(r#"{"ts":"2026-10-05T08:00:00Z","ev":"attempt.ended","op":"x","key":"layer.declared","tool":"pay","outcome":"ok","receipt":"layer.declared"}"#)
        .await;
    rig.ledger.close().await;
    // As the edition before left it: the lines are there, and nothing says which of them are declarations.
    rig.sql("DROP TABLE layer_line").await;
    rig.sql("DROP INDEX outcome_by_attempts").await;
    // And what came after it.
    rig.sql("DROP TABLE budget_refusal").await;
    for column in ["short_since", "short_until"] {
        rig.sql(&format!("ALTER TABLE destination DROP COLUMN {column}")).await;
    }
    rig.sql("DELETE FROM schema_migration WHERE version >= 10").await;
    let later = rig.another().await.layers(&viewer()).await.unwrap();
    assert_eq!(later.declarations.len(), 1);
    assert_eq!(rig.count("layer_line").await, 1);
}

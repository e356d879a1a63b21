//! The table of what is proved: every rule of the semantics that the domain decides, with the test that proves it. It is
//! made by running the proofs again, and an id that no executed assertion names fails. Tests only.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::proof;

/// Test functions by name.
type Proofs = Vec<(&'static str, fn())>;

/// Every module that has proofs.
fn modules() -> Vec<(&'static str, Proofs)> {
    vec![
        ("verdict", crate::verdict::tests::proofs()),
        ("outcome", crate::outcome::PROOFS.to_vec()),
        ("decision", crate::decision::PROOFS.to_vec()),
        ("transition rows", crate::transition::ROWS_PROOFS.to_vec()),
        ("acts", crate::transition::ACTS_PROOFS.to_vec()),
        ("traces", crate::transition::TRACE_PROOFS.to_vec()),
        ("tricky cases", crate::transition::TRICKY_PROOFS.to_vec()),
        ("tricky cases, guarded", crate::transition::GUARDED_TRICKY_PROOFS.to_vec()),
        (
            "contracts",
            [
                crate::contract::tests::PROOFS,
                crate::contract::defaults::tests::PROOFS,
                crate::contract::library::PROOFS,
            ]
            .concat(),
        ),
        ("budgets", crate::budget::PROOFS.to_vec()),
        ("back-off", crate::backoff::PROOFS.to_vec()),
        ("layers", crate::layers::PROOFS.to_vec()),
        ("workflows", crate::workflow::PROOFS.to_vec()),
        ("counters", crate::counting::PROOFS.to_vec()),
    ]
}

fn numbered(prefix: &str, numbers: std::ops::RangeInclusive<u32>) -> impl Iterator<Item = String> {
    numbers.map(move |number| format!("{prefix}{number}"))
}

/// What must be proved here. What others prove is not in it: I3, I4 and I28 by the model, which looks at the destination
/// after every step; I16 and I20 by the store and I42 by the server, on both engines (7.12 and 7.13 are I20); I25 by what
/// runs the sweep.
fn required() -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    ids.extend(numbered("E", 1..=36));
    ids.extend(numbered("K", 1..=7));
    ids.extend(numbered("F", 1..=21));
    ids.extend(numbered("T", 1..=49));
    ids.extend(crate::decision::ROWS.iter().map(|row| row.id.to_owned()));
    let overlays = ["O1", "22a", "22b", "O2", "O3", "O4", "O5", "O6", "O7", "O8", "O9", "O9a", "O10", "O11"];
    ids.extend(overlays.map(String::from));
    ids.extend(numbered("A", 1..=16).map(|id| format!("A{:0>2}", &id[1..])));
    ids.extend(["B23", "B30", "B33"].map(String::from));
    let elsewhere = [3, 4, 16, 20, 25, 28, 42];
    ids.extend((1..=42).filter(|number| !elsewhere.contains(number)).map(|number| format!("I{number}")));
    ids.extend((1..=38).filter(|number| ![12, 13].contains(number)).map(|number| format!("7.{number}")));
    ids
}

#[test]
fn every_rule_is_proved_by_an_executed_assertion() {
    let mut proved: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (module, proofs) in modules() {
        for (name, run) in proofs {
            proof::forget();
            run();
            for id in proof::recorded() {
                proved.entry(id).or_default().insert(format!("{module}: {name}"));
            }
        }
    }
    let mut table = String::from("| rule | proved by |\n|---|---|\n");
    let mut missing = Vec::new();
    for id in required() {
        match proved.get(id.as_str()) {
            Some(tests) => {
                let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
                let _ = writeln!(table, "| {id} | {} |", tests.join("<br>"));
            }
            None => missing.push(id),
        }
    }
    println!("{table}");
    assert!(missing.is_empty(), "no assertion names {}", missing.join(", "));
}

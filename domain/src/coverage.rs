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
    ]
}

fn numbered(prefix: &str, numbers: std::ops::RangeInclusive<u32>) -> impl Iterator<Item = String> {
    numbers.map(move |number| format!("{prefix}{number}"))
}

/// What must be proved here. What others prove is not in it: T31 by `workflow`, T37 and T48 by lines, I3 and I4 by the
/// model, and the invariants of the store, of intake, of arguments and of budgets where those are.
fn required() -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    ids.extend(numbered("E", 1..=36));
    ids.extend(numbered("K", 1..=7));
    ids.extend(numbered("F", 1..=21));
    ids.extend(numbered("T", 1..=49).filter(|id| !["T31", "T37", "T48"].contains(&id.as_str())));
    ids.extend(crate::decision::ROWS.iter().map(|row| row.id.to_owned()));
    let overlays = ["O1", "22a", "22b", "O2", "O3", "O4", "O5", "O6", "O7", "O8", "O9", "O9a", "O10", "O11"];
    ids.extend(overlays.map(String::from));
    ids.extend(numbered("A", 1..=16).map(|id| format!("A{:0>2}", &id[1..])));
    ids.extend(["B23", "B30", "B33"].map(String::from));
    let elsewhere = [3, 4, 14, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26, 28, 29, 30, 37, 38, 42];
    ids.extend((1..=42).filter(|number| !elsewhere.contains(number)).map(|number| format!("I{number}")));
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

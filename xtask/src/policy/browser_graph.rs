//! What may reach the browser: no runtime, no SQL, no server, no clock of its own, no id generator. Checked twice, in the graph
//! that cargo resolves for the browser's target and in the WebAssembly itself, because linking drops what nobody calls.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{conclude, tree};
use crate::browser::PACKAGE;
use crate::toolchain::TARGET;

/// Proc macros run in the compiler: what they depend on never reaches the browser.
const ARGUMENTS: [&str; 6] = ["--package", PACKAGE, "--target", TARGET, "--edges", "normal,no-proc-macro"];

/// Crates the browser must not have, by name or by the start of it, and why.
const FORBIDDEN: [(&str, &str); 13] = [
    ("tallystick-ledger", "the record lives on the server"),
    ("tokio", "the browser has its own event loop"),
    ("sqlx", "the record lives on the server"),
    ("axum", "the browser serves nothing"),
    ("hyper", "the browser fetches by itself"),
    ("regex", "half a megabyte; rules do not need it"),
    ("chrono-tz", "all zones of the world; the server prints times"),
    ("iana-time-zone", "means chrono's clock is on"),
    ("uuid", "ids are made by the ledger"),
    ("getrandom", "ids are made by the ledger"),
    ("rand", "nothing is decided by chance"),
    ("ring", "cryptography belongs to the server"),
    ("rustls", "the browser has its own TLS"),
];

/// Crates that one foreign crate brings into the graph without their code ever being called in the browser. The graph
/// accepts them from there alone; [`check_linked`] proves that the linker dropped them.
const ONLY_THROUGH: [(&str, &[&str]); 3] = [
    // Leptos reads its configuration file with it, on the server.
    ("regex", &["leptos_config"]),
    ("regex-automata", &["regex"]),
    ("regex-syntax", &["regex", "regex-automata"]),
];

/// What chrono may offer the browser: arithmetic and formatting. `clock` and `now` would be a second clock.
const CHRONO_FEATURES: [&str; 4] = ["alloc", "core-error", "serde", "std"];

/// Checks the graph that cargo resolves for the browser.
pub fn check_resolved() -> Result<()> {
    let packages = tree::packages(&ARGUMENTS)?;
    let mut findings = feature_findings(&packages);
    for package in &packages {
        if let Some(reason) = reason_against(&package.name) {
            let users = tree::direct_users(&package.name, &ARGUMENTS)?;
            findings.extend(presence_finding(&package.name, reason, &users));
        }
    }
    let holds = format!(
        "{} packages reach the browser: no runtime, SQL, server, clock or id generator among them",
        packages.len()
    );
    conclude(&holds, &findings)
}

/// Checks that none of the forbidden crates left its name in the WebAssembly, where panics name their source files.
pub fn check_linked(wasm: &[u8]) -> Result<()> {
    conclude("nothing of the forbidden crates is linked into the WebAssembly", &linked_findings(wasm))
}

fn reason_against(name: &str) -> Option<&'static str> {
    let is_meant = |forbidden: &str| {
        name.strip_prefix(forbidden).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
    };
    FORBIDDEN.iter().find(|(forbidden, _)| is_meant(forbidden)).map(|(_, reason)| *reason)
}

fn presence_finding(name: &str, reason: &str, users: &BTreeSet<String>) -> Option<String> {
    let accepted = ONLY_THROUGH.iter().find(|(accepted, _)| *accepted == name).map_or(&[][..], |(_, through)| *through);
    let others: Vec<&str> = users.iter().map(String::as_str).filter(|user| !accepted.contains(user)).collect();
    let is_accepted = others.is_empty() && !accepted.is_empty();
    (!is_accepted).then(|| format!("{name} reaches the browser through {}: {reason}", others.join(", ")))
}

fn feature_findings(packages: &BTreeSet<tree::Package>) -> Vec<String> {
    let chrono = packages.iter().filter(|package| package.name == "chrono").flat_map(|package| &package.features);
    chrono
        .filter(|feature| !CHRONO_FEATURES.contains(&feature.as_str()))
        .map(|feature| {
            format!(
                "chrono reaches the browser with its feature `{feature}`; only {} may be on",
                CHRONO_FEATURES.join(", ")
            )
        })
        .collect()
}

fn linked_findings(wasm: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(wasm);
    let names = FORBIDDEN.iter().map(|(name, _)| *name).chain(ONLY_THROUGH.iter().map(|(name, _)| *name));
    let found: BTreeSet<&str> = names.filter(|name| names_source_of(&text, name)).collect();
    found.into_iter().map(|name| format!("code of {name} is linked into the WebAssembly")).collect()
}

/// A panic's location reads `…/regex-1.13.2/src/…`.
fn names_source_of(text: &str, name: &str) -> bool {
    text.match_indices(&format!("/{name}-"))
        .any(|(at, found)| text[at + found.len()..].starts_with(|next: char| next.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn families_are_meant_but_not_mere_likeness() {
        assert!(reason_against("tokio").is_some());
        assert!(reason_against("tokio-util").is_some());
        assert!(reason_against("sqlx-core").is_some());
        assert!(reason_against("axum_extra").is_some());
        assert!(reason_against("ringbuffer").is_none());
        assert!(reason_against("serde").is_none());
    }

    #[test]
    fn an_accepted_way_in_does_not_open_another() {
        assert_eq!(presence_finding("regex", "big", &users(&["leptos_config"])), None);
        assert!(
            presence_finding("regex", "big", &users(&["leptos_config", "tallystick-domain"]))
                .unwrap()
                .contains("tallystick-domain")
        );
        assert!(presence_finding("tokio", "own loop", &users(&["leptos_config"])).is_some());
        assert!(presence_finding("tokio", "own loop", &users(&[])).is_some());
    }

    #[test]
    fn chrono_may_not_bring_its_clock() {
        let chrono = |features: &[&str]| {
            BTreeSet::from([tree::Package {
                name: "chrono".to_owned(),
                version: "0.4.45".to_owned(),
                features: features.iter().map(|feature| (*feature).to_owned()).collect(),
                licence: String::new(),
            }])
        };
        assert!(feature_findings(&chrono(&["alloc", "std"])).is_empty());
        assert_eq!(feature_findings(&chrono(&["alloc", "clock", "now"])).len(), 2);
    }

    #[test]
    fn linked_code_is_known_by_its_source_files() {
        assert!(linked_findings(b"\0\x01/tachys-0.2.19/src/view.rs\0not regex-like").is_empty());
        assert_eq!(
            linked_findings(b"crates/regex-syntax-0.8.12/src/x.rs"),
            ["code of regex-syntax is linked into the WebAssembly"]
        );
        assert_eq!(linked_findings(b"crates/uuid-1.29.3/src/x.rs").len(), 1);
    }
}

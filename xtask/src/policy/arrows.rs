//! The arrows of ARCHITECTURE.md: which crate of ours may depend on which, and which foreign crate belongs to which room.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::Value;

use super::{conclude, tree};

/// Who may depend on which of our own crates. What is not listed points backwards.
const ARROWS: [(&str, &[&str]); 8] = [
    ("tallystick-domain", &[]),
    ("tallystick-fuzz", &["tallystick-domain"]),
    ("tallystick-ledger", &["tallystick-domain"]),
    ("tallystick-app", &["tallystick-domain", "tallystick-ledger"]),
    ("tallystick-browser", &["tallystick-app"]),
    ("tallystick", &["tallystick-app", "tallystick-domain", "tallystick-ledger"]),
    ("tallystick-destination", &[]),
    ("xtask", &[]),
];

/// What only tests may depend on.
const FOR_TESTS: &str = "tallystick-destination";

/// Crates that only the named rooms may depend on, and why.
const ROOMS: [(&str, &[&str], &str); 4] = [
    ("sqlx", &["tallystick-ledger"], "only the ledger knows SQL"),
    ("axum", &["tallystick-app", "tallystick"], "only the edge speaks HTTP"),
    ("tokio", &["tallystick-ledger", "tallystick", FOR_TESTS], "the rules and the screens neither wait nor spawn"),
    ("anyhow", &["tallystick", "xtask"], "a library's errors are typed: callers decide by them"),
];

/// Dependencies that must be optional: they exist on the server's side of the app alone.
const OPTIONAL: [(&str, &[&str]); 1] =
    [("tallystick-app", &["tallystick-ledger", "axum", "leptos_axum", "chrono", "chrono-tz", "getrandom", "tracing"])];

#[derive(Debug)]
struct Edge {
    from: String,
    to: String,
    is_optional: bool,
    is_for_tests: bool,
}

/// Compares the manifests with the rules.
pub fn check() -> Result<()> {
    let edges: Vec<Edge> = tree::members()?.iter().flat_map(edges_of).collect();
    conclude("domain ◄ ledger ◄ app (ssr) ◄ server, domain ◄ app ◄ browser: nothing points back", &findings(&edges))
}

fn edges_of(member: &Value) -> Vec<Edge> {
    let from = member["name"].as_str().unwrap_or_default();
    let dependencies = member["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    dependencies
        .iter()
        .map(|dependency| Edge {
            from: from.to_owned(),
            to: dependency["name"].as_str().unwrap_or_default().to_owned(),
            is_optional: dependency["optional"].as_bool().unwrap_or_default(),
            is_for_tests: dependency["kind"].as_str() == Some("dev"),
        })
        .collect()
}

fn findings(edges: &[Edge]) -> Vec<String> {
    let ours: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let mut findings = Vec::new();
    for edge in edges {
        let allowed = ARROWS.iter().find(|(name, _)| *name == edge.from).map(|(_, allowed)| *allowed);
        match allowed {
            None => findings.push(format!("{} is not in the table of arrows", edge.from)),
            Some(_) if edge.to == FOR_TESTS && edge.is_for_tests => {}
            // A crate's tests may name the crate itself, to switch a feature on.
            Some(allowed)
                if ours.contains(edge.to.as_str()) && !allowed.contains(&edge.to.as_str()) && edge.from != edge.to =>
            {
                findings.push(format!("{} must not depend on {}", edge.from, edge.to));
            }
            Some(_) => {}
        }
        findings.extend(room_finding(edge));
        let must_be_optional = OPTIONAL.iter().any(|(from, to)| *from == edge.from && to.contains(&edge.to.as_str()));
        if must_be_optional && !edge.is_optional && !edge.is_for_tests {
            findings.push(format!("{} must depend on {} only under its feature `ssr`", edge.from, edge.to));
        }
    }
    findings.sort();
    findings.dedup();
    findings
}

fn room_finding(edge: &Edge) -> Option<String> {
    let (name, rooms, reason) = ROOMS.iter().find(|(name, _, _)| *name == edge.to)?;
    let is_allowed = rooms.contains(&edge.from.as_str()) || edge.is_for_tests;
    (!is_allowed).then(|| format!("{} must not depend on {name}: {reason}", edge.from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str) -> Edge {
        Edge { from: from.to_owned(), to: to.to_owned(), is_optional: false, is_for_tests: false }
    }

    #[test]
    fn arrows_point_towards_the_domain() {
        assert!(
            findings(&[edge("tallystick", "tallystick-domain"), edge("tallystick-browser", "tallystick-app")])
                .is_empty()
        );
        for (from, to) in [
            ("tallystick-domain", "tallystick-ledger"),
            ("tallystick-ledger", "tallystick-app"),
            ("tallystick-browser", "tallystick-ledger"),
            ("xtask", "tallystick-domain"),
        ] {
            assert_eq!(findings(&[edge(from, to)]), [format!("{from} must not depend on {to}")]);
        }
    }

    #[test]
    fn a_new_member_must_be_given_its_place() {
        assert_eq!(findings(&[edge("tallystick-new", "serde")]), ["tallystick-new is not in the table of arrows"]);
    }

    #[test]
    fn the_app_sees_the_ledger_only_on_the_server() {
        assert_eq!(findings(&[edge("tallystick-app", "tallystick-ledger")]).len(), 1);
        let optional = Edge { is_optional: true, ..edge("tallystick-app", "tallystick-ledger") };
        assert!(findings(&[optional]).is_empty());
    }

    #[test]
    fn sql_stays_in_the_ledger_except_in_tests() {
        assert!(findings(&[edge("tallystick-ledger", "sqlx")]).is_empty());
        assert_eq!(
            findings(&[edge("tallystick", "sqlx")]),
            ["tallystick must not depend on sqlx: only the ledger knows SQL"]
        );
        assert!(findings(&[Edge { is_for_tests: true, ..edge("tallystick", "sqlx") }]).is_empty());
    }
}

//! Licences we may pass on, and crates we accept in two versions. The same policy as `deny.toml`, read from `cargo tree`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::{conclude, tree};
use crate::browser::PACKAGE as BROWSER_PACKAGE;
use crate::toolchain::TARGET;

/// Licences whose terms we meet, and how.
const LICENCES: [(&str, &str); 11] = [
    ("MIT", "notice kept in the crate's sources"),
    ("Apache-2.0", "notice kept; patent grant"),
    ("BSD-2-Clause", "notice kept"),
    ("BSD-3-Clause", "notice kept, no endorsement"),
    ("ISC", "notice kept"),
    ("Zlib", "no false claim of origin"),
    ("BSL-1.0", "binaries need no notice"),
    ("CC0-1.0", "public domain dedication"),
    ("Unlicense", "public domain dedication"),
    ("Unicode-3.0", "data tables of the Unicode consortium; notice kept"),
    ("CDLA-Permissive-2.0", "the web's root certificates, as data"),
];

/// Crates accepted in more than one version, and what keeps them apart.
const DUPLICATES: [(&str, &str); 11] = [
    ("sha2", "sqlx 0.9 still has 0.10; ours is 0.11"),
    ("digest", "with sha2"),
    ("block-buffer", "with sha2"),
    ("crypto-common", "with sha2"),
    ("cpufeatures", "with sha2"),
    ("rand", "leptos 0.8 has 0.9, sqlx-postgres 0.10"),
    ("rand_core", "with rand"),
    ("getrandom", "ring has 0.2, rand 0.9 has 0.3, the rest 0.4"),
    ("hashbrown", "sqlx and governor have 0.16, indexmap 0.17"),
    ("thiserror", "gloo-net 0.6, through leptos, has 1; ours is 2"),
    ("tower-http", "leptos_axum 0.8 has 0.6; ours is 0.7, for its `csrf` layer"),
];

/// Checks every package of every native and browser build, build tools included.
pub fn check() -> Result<()> {
    let mut packages = tree::packages(&["--workspace", "--edges", "all"])?;
    packages.extend(tree::packages(&["--package", BROWSER_PACKAGE, "--target", TARGET, "--edges", "all"])?);
    let holds = format!("{} packages, all under licences we accept", packages.len());
    conclude(&holds, &licence_findings(&packages))
}

/// Checks what the product itself links twice.
pub fn check_duplicates() -> Result<()> {
    let packages = tree::packages(&["--package", "tallystick", "--edges", "normal,no-proc-macro"])?;
    let twice = versions_by_name(&packages);
    for (name, _) in DUPLICATES.iter().filter(|(name, _)| !twice.contains_key(name)) {
        println!("  {name} is no longer there twice: take it off the list in licences.rs");
    }
    conclude(&format!("{} crates linked in two versions, all known", twice.len()), &duplicate_findings(&twice))
}

fn licence_findings(packages: &BTreeSet<tree::Package>) -> Vec<String> {
    packages
        .iter()
        .filter(|package| !is_accepted(&package.licence))
        .map(|package| {
            format!("{} {} is under `{}`, which is not on the list", package.name, package.version, package.licence)
        })
        .collect()
}

fn versions_by_name(packages: &BTreeSet<tree::Package>) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

fn duplicate_findings(twice: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let unknown = twice.iter().filter(|(name, _)| !DUPLICATES.iter().any(|(known, _)| known == *name));
    unknown
        .map(|(name, versions)| {
            let versions: Vec<_> = versions.iter().copied().collect();
            format!(
                "{name} is linked in versions {}: avoid it, or give the reason in licences.rs",
                versions.join(" and ")
            )
        })
        .collect()
}

/// Whether an SPDX expression can be met with licences of the list. The old form `MIT/Apache-2.0` means a choice.
fn is_accepted(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    meets_choice(&mut words) == Some(true) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

/// One of several; `None` where the expression cannot be read.
fn meets_choice(words: &mut Words) -> Option<bool> {
    let mut is_met = meets_all(words)?;
    while words.next_if_eq(&"OR").is_some() {
        is_met |= meets_all(words)?;
    }
    Some(is_met)
}

fn meets_all(words: &mut Words) -> Option<bool> {
    let mut is_met = meets_one(words)?;
    while words.next_if_eq(&"AND").is_some() {
        is_met &= meets_one(words)?;
    }
    Some(is_met)
}

fn meets_one(words: &mut Words) -> Option<bool> {
    let name = words.next()?;
    if name == "(" {
        let is_met = meets_choice(words)?;
        return words.next_if_eq(&")").map(|_| is_met);
    }
    // An exception only ever adds permissions.
    if words.next_if_eq(&"WITH").is_some() {
        words.next()?;
    }
    Some(LICENCES.iter().any(|(accepted, _)| *accepted == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, licence: &str) -> tree::Package {
        tree::Package {
            name: name.to_owned(),
            version: version.to_owned(),
            features: Vec::new(),
            licence: licence.to_owned(),
        }
    }

    #[test]
    fn a_choice_needs_one_accepted_side_and_a_sum_needs_both() {
        for accepted in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
            "MIT AND (GPL-2.0 OR BSD-3-Clause)",
        ] {
            assert!(is_accepted(accepted), "{accepted}");
        }
        for refused in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MPL-2.0",
            "(MIT OR GPL-2.0) AND MPL-2.0",
            "MIT OR",
            "(MIT",
            "MIT)",
            "MIT ISC",
        ] {
            assert!(!is_accepted(refused), "{refused}");
        }
    }

    #[test]
    fn a_licence_off_the_list_is_named_with_its_crate() {
        let packages = BTreeSet::from([package("good", "1.0.0", "MIT"), package("bad", "2.0.0", "AGPL-3.0")]);
        assert_eq!(licence_findings(&packages), ["bad 2.0.0 is under `AGPL-3.0`, which is not on the list"]);
    }

    #[test]
    fn only_different_versions_are_duplicates() {
        let packages =
            BTreeSet::from([package("a", "1.0.0", ""), package("a", "2.0.0", ""), package("b", "1.0.0", "")]);
        let twice = versions_by_name(&packages);
        assert_eq!(twice.keys().copied().collect::<Vec<_>>(), ["a"]);
        assert_eq!(
            duplicate_findings(&twice),
            ["a is linked in versions 1.0.0 and 2.0.0: avoid it, or give the reason in licences.rs"]
        );
    }

    #[test]
    fn the_list_and_deny_toml_agree() {
        let deny = include_str!("../../../deny.toml");
        for (licence, _) in LICENCES {
            assert!(deny.contains(&format!("\"{licence}\"")), "{licence} is not in deny.toml");
        }
    }
}

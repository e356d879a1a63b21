//! Reading `cargo tree` and `cargo metadata`: cargo's own answers, so that features and targets are resolved as in a build.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::layout;
use crate::process::{capture, cargo};

/// One package as a build would use it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version, without the `v`.
    pub version: String,
    /// The features switched on.
    pub features: Vec<String>,
    /// Its licence expression, empty when it names none.
    pub licence: String,
}

/// The packages that `cargo tree` lists for these arguments, each once.
pub fn packages(arguments: &[&str]) -> Result<BTreeSet<Package>> {
    let mut tree = cargo();
    tree.current_dir(layout::root()).args(["tree", "--prefix", "none", "--format", "{p}|{f}|{l}"]).args(arguments);
    Ok(parse(&capture(&mut tree)?))
}

/// Who depends directly on the package, in the tree of these arguments.
pub fn direct_users(package: &str, arguments: &[&str]) -> Result<BTreeSet<String>> {
    let mut tree = cargo();
    tree.current_dir(layout::root())
        .args(["tree", "--prefix", "depth", "--format", "|{p}", "--invert", package, "--depth", "1"]);
    let text = capture(tree.args(arguments))?;
    Ok(text.lines().filter_map(|line| line.strip_prefix("1|")?.split(' ').next().map(str::to_owned)).collect())
}

/// The workspace members and what their manifests say.
pub fn members() -> Result<Vec<Value>> {
    let mut metadata = cargo();
    metadata.current_dir(layout::root()).args(["metadata", "--no-deps", "--locked", "--format-version", "1"]);
    let value: Value = serde_json::from_str(&capture(&mut metadata)?)?;
    value["packages"].as_array().cloned().context("cargo metadata lists no packages")
}

fn parse(text: &str) -> BTreeSet<Package> {
    text.lines().filter_map(parse_line).collect()
}

/// `name v1.2.3 (proc-macro)|feature,feature|MIT` with ` (*)` at the end where the line is a repetition.
fn parse_line(line: &str) -> Option<Package> {
    let mut fields = line.trim_end_matches(" (*)").splitn(3, '|');
    let mut words = fields.next()?.split(' ');
    let name = words.next().filter(|name| !name.is_empty())?.to_owned();
    let version = words.next()?.trim_start_matches('v').to_owned();
    let features = fields.next()?.split(',').filter(|feature| !feature.is_empty()).map(str::to_owned).collect();
    Some(Package { name, version, features, licence: fields.next()?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_name_version_features_and_licence() {
        let package = parse_line("serde_derive v1.0.229 (proc-macro)|default,std|MIT OR Apache-2.0 (*)").unwrap();
        assert_eq!(package.name, "serde_derive");
        assert_eq!(package.version, "1.0.229");
        assert_eq!(package.features, ["default", "std"]);
        assert_eq!(package.licence, "MIT OR Apache-2.0");
        assert_eq!(parse_line("[build-dependencies]"), None);
        assert_eq!(parse_line(""), None);
    }

    #[test]
    fn repetitions_are_one_package() {
        assert_eq!(parse("a v1.0.0||MIT\na v1.0.0||MIT (*)\nb v2.0.0|x|MIT\n").len(), 2);
    }
}

//! Dependencies that no source file names. A simple honest check: a crate's name must occur as a word in the member's sources
//! of the matching kind. It cannot see a crate that is only named in vain, but it needs no compiler.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use super::{conclude, tree};

/// Dependencies that are there for their features or their version alone, and why.
const NEVER_NAMED: &[(&str, &str, &str)] = &[];

struct Dependency {
    /// As sources name it.
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Dev,
    Build,
}

/// Checks every member.
pub fn check() -> Result<()> {
    let members = tree::members()?;
    let mut findings = Vec::new();
    for member in &members {
        let name = member["name"].as_str().unwrap_or_default();
        let folder = Path::new(member["manifest_path"].as_str().unwrap_or_default()).with_file_name("");
        let unused: Vec<String> = dependencies_of(member)
            .into_iter()
            .filter(|dependency| !is_excused(name, &dependency.name) && !is_named(&folder, dependency))
            .map(|dependency| dependency.name)
            .collect();
        if !unused.is_empty() {
            findings.push(format!("{name} never names {}", unused.join(", ")));
        }
    }
    conclude("every dependency is named in the sources that declare it", &findings)
}

fn dependencies_of(member: &Value) -> Vec<Dependency> {
    let list = member["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .filter_map(|dependency| {
            let name = dependency["rename"].as_str().or_else(|| dependency["name"].as_str())?;
            let kind = match dependency["kind"].as_str() {
                Some("dev") => Kind::Dev,
                Some("build") => Kind::Build,
                _ => Kind::Normal,
            };
            // A crate that names itself for its tests does so to switch a feature on.
            (Some(name) != member["name"].as_str()).then(|| Dependency { name: name.replace('-', "_"), kind })
        })
        .collect()
}

fn is_excused(member: &str, dependency: &str) -> bool {
    NEVER_NAMED.iter().any(|(of, name, _)| *of == member && *name == dependency)
}

fn is_named(folder: &Path, dependency: &Dependency) -> bool {
    let places: &[&str] = match dependency.kind {
        Kind::Normal => &["src"],
        Kind::Dev => &["src", "tests", "benches", "examples"],
        Kind::Build => &["build.rs"],
    };
    let mut files = Vec::new();
    for place in places {
        collect(&folder.join(place), &mut files);
    }
    if dependency.kind == Kind::Build {
        // The build script may be made of files elsewhere; it names them itself.
        files.extend(included_by(&folder.join("build.rs")));
    }
    files.iter().filter_map(|file| fs::read_to_string(file).ok()).any(|text| names(&text, &dependency.name))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.extension().is_some_and(|end| end == "rs") {
        files.push(path.to_path_buf());
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        collect(&entry.path(), files);
    }
}

fn included_by(script: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(script).unwrap_or_default();
    let paths = text.lines().filter_map(|line| line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]"));
    paths.map(|path| script.with_file_name("").join(path)).collect()
}

/// Whether code, not a comment, holds the name as a whole word.
fn names(text: &str, name: &str) -> bool {
    let is_part_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let code = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(|line| line.match_indices(name).map(move |(at, _)| (line, at))).any(|(line, at)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        !before.is_some_and(is_part_of_word) && !after.is_some_and(is_part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_as_a_word_of_code() {
        assert!(names("use time::Date;", "time"));
        assert!(names("let x = time ::now();", "time"));
        assert!(names("#[derive(thiserror::Error)]", "thiserror"));
        assert!(!names("let runtime = 1; // time", "time"));
        assert!(!names("// use time::Date;", "time"));
        assert!(!names("let timed = 1;", "time"));
    }

    #[test]
    fn renamed_and_hyphenated_crates_are_known_by_their_name_in_code() {
        let member = serde_json::json!({"name": "me", "dependencies": [
            {"name": "tower-http", "kind": null, "rename": null},
            {"name": "long", "kind": "dev", "rename": "short-name"},
            {"name": "me", "kind": "dev", "rename": null},
        ]});
        let found: Vec<String> = dependencies_of(&member).into_iter().map(|dependency| dependency.name).collect();
        assert_eq!(found, ["tower_http", "short_name"]);
    }
}

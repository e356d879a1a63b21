//! `cargo xtask dev`: rebuild and restart whenever a source file changes. It asks the file system each half second,
//! which needs no further crate and works on every kind of mount.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use crate::layout;
use crate::process::{Running, command, say};
use crate::server::Options;

const WATCHED: [&str; 8] = ["Cargo.toml", "app", "domain", "ledger", "migrations", "server", "style", "xtask"];
const PAUSE: Duration = Duration::from_millis(500);

/// Runs until interrupted. A build that fails leaves the last good server running.
pub fn dev(options: &Options) -> Result<()> {
    let mut server = None;
    loop {
        let seen = newest_change(&layout::root());
        match options.build() {
            Ok(binary) => {
                // The old one must give up its address and its database first.
                drop(server.take());
                server = Some(Running::start(command(binary).args(options.arguments()?))?);
            }
            Err(error) => say(format!("{error:#}")),
        }
        say("Waiting for changes; Ctrl-C stops");
        while newest_change(&layout::root()) == seen {
            pause();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the standard library has no event for a changed file")]
fn pause() {
    thread::sleep(PAUSE);
}

fn newest_change(root: &Path) -> Option<SystemTime> {
    WATCHED.iter().filter_map(|name| newest_in(&root.join(name))).max()
}

/// Folders count as well: removing a file changes only the folder it was in.
fn newest_in(path: &Path) -> Option<SystemTime> {
    let own = fs::metadata(path).ok()?.modified().ok();
    if path.ends_with("node_modules") || !path.is_dir() {
        return own;
    }
    let inner = fs::read_dir(path).into_iter().flatten().flatten().filter_map(|entry| newest_in(&entry.path())).max();
    own.max(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_and_removing_a_file_are_both_changes() {
        let folder = std::env::temp_dir().join(format!("xtask-dev-{}", std::process::id()));
        fs::create_dir_all(folder.join("app/src")).unwrap();
        let file = folder.join("app/src/lib.rs");
        fs::write(&file, "").unwrap();
        let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        for path in [&folder.join("app"), &folder.join("app/src"), &file] {
            fs::File::open(path).unwrap().set_modified(past).unwrap();
        }
        assert_eq!(newest_change(&folder), Some(past));
        fs::write(&file, "changed").unwrap();
        let written = newest_change(&folder);
        assert!(written > Some(past));
        fs::remove_file(&file).unwrap();
        assert!(newest_change(&folder) >= written);
        fs::remove_dir_all(folder).unwrap();
    }
}

//! Which process this is, and how the others on this machine know that it has ended: it holds a lock of the operating
//! system on a file of its own name for as long as it lives. A lock that can be taken is proof from outside (K6); a missing
//! file proves nothing. A process that stands still keeps its lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The most processes whose locks are looked at in one go.
const LOOKED_AT: usize = 200;

/// This process, with its lock.
pub struct Incarnation {
    name: String,
    folder: Option<PathBuf>,
    /// Held until the process ends.
    _lock: Option<File>,
}

impl Incarnation {
    /// A new name, locked in the folder if there is one.
    pub fn begin(name: String, folder: Option<PathBuf>) -> io::Result<Self> {
        let lock = folder.as_deref().map(|folder| lock(folder, &name)).transpose()?;
        Ok(Self { name, folder, _lock: lock })
    }

    /// Its name in the record.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which of these processes are proved to have ended.
    pub fn ended_among(&self, senders: &[String]) -> Vec<String> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let others = senders.iter().filter(|name| **name != self.name).take(LOOKED_AT);
        others.filter(|name| is_free(&path_of(folder, name))).cloned().collect()
    }

    /// Forgets a process that ended and of which nothing is left to be told.
    pub fn forget(&self, name: &str) {
        if let Some(folder) = &self.folder {
            let _ = fs::remove_file(path_of(folder, name));
        }
    }
}

impl Drop for Incarnation {
    fn drop(&mut self) {
        // In order: nothing is under way any more. What is gone needs no proof.
        self.forget(&self.name);
    }
}

fn path_of(folder: &Path, name: &str) -> PathBuf {
    let safe = name.chars().map(|one| if one.is_ascii_alphanumeric() || one == '-' { one } else { '_' });
    folder.join(format!("{}.lock", safe.collect::<String>()))
}

/// Locked first and named afterwards, so that nobody ever finds it by its name and not locked.
fn lock(folder: &Path, name: &str) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let path = path_of(folder, name);
    let unnamed = path.with_extension("new");
    let file = OpenOptions::new().create_new(true).write(true).open(&unnamed)?;
    file.try_lock().map_err(|error| match error {
        TryLockError::Error(error) => error,
        TryLockError::WouldBlock => io::Error::other("a new file is locked already"),
    })?;
    fs::rename(&unnamed, &path)?;
    Ok(file)
}

fn is_free(path: &Path) -> bool {
    // Never made here: a file that is not there proves nothing.
    let Ok(file) = OpenOptions::new().write(true).open(path) else { return false };
    file.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_gone_when_its_lock_is_free_and_only_then() {
        let folder = tempfile::tempdir().unwrap();
        let begin = |name: &str| Incarnation::begin(name.into(), Some(folder.path().to_owned())).unwrap();
        let (one, other) = (begin("one"), begin("other"));
        let names = ["one".to_owned(), "other".to_owned(), "never/seen".to_owned()];
        assert!(one.ended_among(&names).is_empty());
        // What a kill leaves behind: the file without the lock.
        File::create(folder.path().join("other.lock.killed")).unwrap();
        fs::rename(folder.path().join("other.lock.killed"), folder.path().join("other.lock")).unwrap();
        assert_eq!(one.ended_among(&names), ["other"]);
        one.forget("other");
        assert!(one.ended_among(&names).is_empty());
        drop(other);
    }

    #[test]
    fn without_a_folder_nothing_is_proved() {
        let one = Incarnation::begin("one".into(), None).unwrap();
        assert!(one.ended_among(&["two".to_owned()]).is_empty());
    }
}

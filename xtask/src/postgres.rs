//! A private PostgreSQL for tests and benches: its own data folder, a Unix socket, no network, gone when dropped.
//! Tests find it by `TALLYSTICK_TEST_POSTGRES`, the URL of its administrative database, and make their own databases in it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::debian;
use crate::process::{Running, capture, command, find_program, fresh_folder, is_root, run, say, succeeds};

/// Names the administrative database for tests.
pub const URL_VARIABLE: &str = "TALLYSTICK_TEST_POSTGRES";

/// Followed by the number of the xtask process that owns the cluster.
const FOLDER_PREFIX: &str = "tallystick-pg-";
const READY_ATTEMPTS: u32 = 300;
const READY_PAUSE: Duration = Duration::from_millis(50);

/// Whether a commit is on disk when it returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Commits go no further than memory: tests throw the cluster away.
    Off,
    /// As a real installation: benches compare against it.
    On,
}

/// A running cluster.
pub struct Cluster {
    folder: PathBuf,
    server: Running,
}

impl Cluster {
    /// Starts one; installs PostgreSQL first where it is missing and can be installed.
    pub fn start(durability: Durability) -> Result<Self> {
        let programs = find_programs()?;
        remove_leftovers();
        let folder = std::env::temp_dir().join(format!("{FOLDER_PREFIX}{}", std::process::id()));
        fresh_folder(&folder)?;
        let account = Account::choose()?;
        account.own(&folder)?;
        let data = folder.join("data");
        run(account
            .command(&programs.join("initdb"))
            .arg("--pgdata")
            .arg(&data)
            .args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"])
            .stdout(Stdio::null()))?;
        let log = fs::File::create(folder.join("log"))?;
        let mut start = account.command(&programs.join("postgres"));
        start.arg("-D").arg(&data).args(settings(&folder, durability));
        start.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut cluster = Self { server: Running::start(&mut start)?, folder };
        cluster.wait_until_ready(&programs)?;
        Ok(cluster)
    }

    /// The URL of the administrative database, in the form that sqlx and libpq share.
    pub fn url(&self) -> String {
        url_in(&self.folder)
    }

    fn wait_until_ready(&mut self, programs: &Path) -> Result<()> {
        for _ in 0..READY_ATTEMPTS {
            if succeeds(command(programs.join("pg_isready")).arg("--quiet").arg("--host").arg(&self.folder)) {
                return Ok(());
            }
            if self.server.ended()?.is_some() {
                break;
            }
            pause();
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        bail!("the private PostgreSQL did not start:\n{log}")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A fast shutdown; the polite one would wait for clients that tests may have left connected.
        self.server.stop("INT");
        // Leftovers in the temporary folder are harmless, and nothing can be done about them here.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The URL tests should use: of a cluster the person already runs, or of one that lives as long as the returned value.
pub fn for_tests() -> Result<(String, Option<Cluster>)> {
    if let Ok(url) = std::env::var(URL_VARIABLE) {
        return Ok((url, None));
    }
    let cluster = Cluster::start(Durability::Off)?;
    Ok((cluster.url(), Some(cluster)))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server's readiness has no event to wait for, only a question to repeat"
)]
fn pause() {
    thread::sleep(READY_PAUSE);
}

/// An xtask that was killed outright could not remove its folder; its server ended with it.
fn remove_leftovers() {
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let owner = entry.file_name().to_str().and_then(|name| name.strip_prefix(FOLDER_PREFIX)?.parse::<u32>().ok());
        // `kill -0` sends nothing; it asks whether there is somebody to send to.
        if owner.is_some_and(|id| !succeeds(command("kill").args(["-0", &id.to_string()]))) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn url_in(folder: &Path) -> String {
    format!("postgres://postgres@localhost/postgres?host={}", folder.display())
}

fn settings(folder: &Path, durability: Durability) -> Vec<String> {
    let mut settings = vec![
        "listen_addresses=".to_owned(),
        format!("unix_socket_directories={}", folder.display()),
        "max_connections=200".to_owned(),
        "logging_collector=off".to_owned(),
    ];
    if durability == Durability::Off {
        settings.extend(["fsync=off".to_owned(), "full_page_writes=off".to_owned()]);
    }
    settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect()
}

/// Who the server runs as: ourselves, or `postgres` when we are root, which PostgreSQL refuses.
struct Account {
    steps_down_to: Option<(u32, u32)>,
}

impl Account {
    fn choose() -> Result<Self> {
        if !is_root() {
            return Ok(Self { steps_down_to: None });
        }
        let number = |what: &str| -> Result<u32> {
            let text = capture(command("id").args([what, "postgres"]))
                .context("PostgreSQL refuses to run as root, and there is no user `postgres` to run it as")?;
            Ok(text.trim().parse()?)
        };
        Ok(Self { steps_down_to: Some((number("-u")?, number("-g")?)) })
    }

    fn own(&self, folder: &Path) -> Result<()> {
        if let Some((user, group)) = self.steps_down_to {
            chown(folder, Some(user), Some(group))?;
        }
        // Clients of any account must reach the socket in it.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// The program under that account. `setpriv` also ends it when xtask is killed outright and cannot tidy up.
    fn command(&self, program: &Path) -> Command {
        let Some(setpriv) = find_program("setpriv") else { return command(program) };
        let mut command = command(setpriv);
        if self.steps_down_to.is_some() {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        }
        command.arg("--pdeathsig=INT").arg(program).current_dir("/");
        command
    }
}

/// For tests that start clusters of their own.
pub fn ensure_installed() -> Result<()> {
    find_programs().map(drop)
}

fn find_programs() -> Result<PathBuf> {
    if let Some(folder) = installed_programs() {
        return Ok(folder);
    }
    debian::install(&["postgresql"], "the tests on PostgreSQL")?;
    installed_programs().context("PostgreSQL is installed but its programs `initdb` and `postgres` were not found")
}

/// Debian keeps them off the search path, one folder a version.
fn installed_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin"))))
        .filter(|(_, folder)| folder.join("initdb").is_file())
        .max_by_key(|(version, _)| *version)
        .map(|(_, folder)| folder);
    newest.or_else(|| find_program("initdb")?.parent().map(Path::to_path_buf))
}

/// Starts a cluster, says how to use it, and keeps it until interrupted.
pub fn keep_running() -> Result<()> {
    let mut cluster = Cluster::start(Durability::Off)?;
    say("A private PostgreSQL runs until you press Ctrl-C. In another terminal:");
    println!("export {URL_VARIABLE}='{}'", cluster.url());
    cluster.server.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_names_the_socket_folder() {
        assert_eq!(url_in(Path::new("/tmp/x")), "postgres://postgres@localhost/postgres?host=/tmp/x");
    }

    #[test]
    fn only_clusters_for_tests_skip_the_disk() {
        let joined = |durability| settings(Path::new("/tmp/x"), durability).join(" ");
        assert!(joined(Durability::Off).contains("-c fsync=off"));
        assert!(!joined(Durability::On).contains("fsync"));
        assert!(joined(Durability::On).starts_with("-c listen_addresses= -c unix_socket_directories=/tmp/x "));
    }
}

//! A PostgreSQL of a test's own, which it may crash, copy while it is down, and put back.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sqlx::Connection as _;

/// How long it may take until it answers: after a crash it first replays its log.
const READY_WITHIN: Duration = Duration::from_mins(1);
const ASK_AGAIN: Duration = Duration::from_millis(50);

pub struct Cluster {
    folder: tempfile::TempDir,
    programs: PathBuf,
    server: Option<Child>,
}

impl Cluster {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut cluster = Self { folder, programs: programs(), server: None };
        if is_root() {
            // PostgreSQL does not run as root.
            run(Command::new("chown").arg("postgres:postgres").arg(cluster.folder.path()));
        }
        // Clients of any account must reach the socket in it.
        run(Command::new("chmod").arg("755").arg(cluster.folder.path()));
        let data = cluster.data();
        let options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"];
        run(cluster.command("initdb").arg("--pgdata").arg(data).args(options).stdout(Stdio::null()));
        cluster.start_again().await;
        cluster
    }

    /// Its administrative database.
    pub fn url(&self) -> String {
        format!("postgres://postgres@localhost/postgres?host={}", self.folder.path().display())
    }

    /// Ends it at once, as a crash does: no transaction ends, no client is told.
    pub fn crash(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        run(Command::new("kill").args(["-QUIT", &server.id().to_string()]));
        server.wait().unwrap();
    }

    pub async fn start_again(&mut self) {
        let log = std::fs::File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let sockets = format!("unix_socket_directories={}", self.folder.path().display());
        let mut start = self.command("postgres");
        start.arg("-D").arg(self.data());
        // A commit goes no further than the operating system, which outlives the server.
        for setting in ["listen_addresses=", &sockets, "max_connections=200", "fsync=off", "max_wal_size=128MB"] {
            start.args(["-c", setting]);
        }
        start.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.server = Some(start.spawn().unwrap());
        let answers = async {
            while sqlx::PgConnection::connect(&self.url()).await.is_err() {
                tokio::time::sleep(ASK_AGAIN).await;
            }
        };
        tokio::time::timeout(READY_WITHIN, answers).await.expect("the database answers");
    }

    /// Keeps a copy of what it holds; while it is down.
    pub fn keep_copy(&self) {
        self.replace(&self.data(), &self.copy());
    }

    /// Puts the copy in its place; while it is down.
    pub fn put_copy_back(&self) {
        self.replace(&self.copy(), &self.data());
    }

    fn replace(&self, from: &Path, to: &Path) {
        assert!(self.server.is_none(), "it runs");
        let _ = std::fs::remove_dir_all(to);
        run(Command::new("cp").arg("-a").arg(from).arg(to));
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn copy(&self) -> PathBuf {
        self.folder.path().join("copy")
    }

    /// One of its programs, under an account that it accepts; ended with the test, however that ends.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        if is_root() {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        }
        command.arg("--pdeathsig=QUIT").arg(self.programs.join(program)).current_dir("/");
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = Command::new("kill").args(["-QUIT", &server.id().to_string()]).status();
            let _ = server.wait();
        }
    }
}

fn run(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

/// Debian keeps them off the search path, one folder a version.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin"))))
        .filter(|(_, folder)| folder.join("initdb").is_file())
        .max_by_key(|(version, _)| *version);
    let on_path = || {
        let paths = std::env::var_os("PATH")?;
        std::env::split_paths(&paths).find(|folder| folder.join("initdb").is_file())
    };
    newest.map(|(_, folder)| folder).or_else(on_path).expect("PostgreSQL is installed")
}

//! The binary itself: what it prints, and how it ends when something is not as it should be.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tallystick"));
    command
        .current_dir(folder)
        .env("TALLYSTICK_DB", "sqlite:tally.db")
        .env("TALLYSTICK_LOG", "warn")
        .stdin(Stdio::null());
    command
}

fn run(folder: &Path, words: &[&str]) -> Output {
    command(folder).args(words).output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A served record; ended when dropped.
struct Served {
    child: Child,
    link: String,
}

impl Served {
    fn start(folder: &Path, words: &[&str]) -> Self {
        let mut child = command(folder)
            .args(words)
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let mut links = said.lines().filter_map(|line| Some(line.unwrap().strip_prefix("Sign in: ")?.to_owned()));
        let link = links.next().expect("a sign-in line");
        Self { child, link }
    }

    /// The host and port it listens on.
    fn host(&self) -> &str {
        self.link.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// One plain request; the whole answer as text.
    fn get(&self, path: &str) -> String {
        let mut stream = std::net::TcpStream::connect(self.host()).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: {}\r\naccept: text/html\r\nconnection: close\r\n\r\n",
            self.host()
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(op: usize) -> String {
    format!("{{\"ts\":\"2026-10-05T09:00:00Z\",\"ev\":\"operation.proposed\",\"op\":\"op {op}\",\"key\":\"k {op}\"}}\n")
}

#[test]
fn the_first_administrator_signs_in_with_the_printed_address() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), &["serve", "--first-admin"]);
    let path = served.link.split_once(served.host()).unwrap().1;
    assert!(path.starts_with("/sign-in/link/"), "{path}");
    let answer = served.get(path);
    assert!(answer.starts_with("HTTP/1.1 303") && answer.contains("set-cookie: tallystick="), "{answer}");
    assert!(served.get(path).starts_with("HTTP/1.1 410"));
}

#[test]
fn a_port_in_use_is_said_in_one_sentence_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let output = run(folder.path(), &["serve", "--listen", &taken.local_addr().unwrap().to_string()]);
    assert_eq!(output.status.code(), Some(1));
    let said = errors(&output);
    assert!(
        said.contains("nothing was started") && said.contains("port is in use") && said.contains("--listen"),
        "{said}"
    );
    assert!(!folder.path().join("tally.db").exists(), "the record was not touched");
}

#[test]
fn an_unreachable_database_is_said_without_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["migrate", "--db", "postgres://tally:secret-word@127.0.0.1:1/tally"]);
    assert_eq!(output.status.code(), Some(1));
    let said = errors(&output);
    assert!(said.contains("nothing was done") && said.contains("127.0.0.1:1"), "{said}");
    assert!(!said.contains("secret-word"), "{said}");
}

#[test]
fn a_database_in_a_folder_that_is_not_there_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["migrate", "--db", "sqlite:nowhere/tally.db"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("nothing was done"), "{}", errors(&output));
}

#[test]
fn a_read_only_record_takes_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), &["migrate"]).status.code(), Some(0));
    std::fs::write(folder.path().join("events.ndjson"), line(1)).unwrap();
    let output = run(folder.path(), &["import", "events.ndjson", "--db", "sqlite:tally.db?mode=ro"]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    let said = errors(&output);
    assert!(said.contains("nothing was done") && said.contains("read-only"), "{said}");
    assert_eq!(printed(&run(folder.path(), &["export"])), "");
}

#[test]
#[cfg(unix)]
fn a_full_disk_ends_an_import_and_what_was_recorded_stays() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), &["migrate"]).status.code(), Some(0));
    let text: String = (0..20_000).map(line).collect();
    std::fs::write(folder.path().join("events.ndjson"), text).unwrap();
    // No file may grow beyond 4 MiB, as if the disk ended there; the signal is ignored, so that writing fails instead.
    let script = "trap '' XFSZ; ulimit -f 4096; exec \"$0\" import events.ndjson";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_tallystick")])
        .current_dir(folder.path())
        .env("TALLYSTICK_DB", "sqlite:tally.db")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(errors(&output).contains("nothing was done"), "{}", errors(&output));
    let verified = run(folder.path(), &["verify"]);
    assert_eq!(verified.status.code(), Some(0), "{}", printed(&verified));
    let again = run(folder.path(), &["import", "events.ndjson"]);
    assert!(printed(&again).starts_with("20000 lines: "), "{}{}", printed(&again), errors(&again));
    assert_eq!(printed(&run(folder.path(), &["export"])).lines().count(), 20_000);
}

#[test]
fn a_file_is_imported_with_a_summary_and_bad_lines_do_not_fail_it_unless_strict() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{}nonsense\n{}", line(1), line(2));
    std::fs::write(folder.path().join("events.ndjson"), text).unwrap();
    let output = run(folder.path(), &["import", "events.ndjson", "--source", "feed", "--trust", "verified"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(
        printed(&output)
            .starts_with("3 lines: 2 recorded, 0 repeated, 0 not linked yet, 1 not taken; 2 operations made"),
        "{}",
        printed(&output)
    );
    assert!(errors(&output).contains("line 2: not taken: "), "{}", errors(&output));
    let strict = run(folder.path(), &["import", "events.ndjson", "--source", "feed", "--strict"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(printed(&strict).contains("Stopped at the first bad line"), "{}", printed(&strict));
    let missing = run(folder.path(), &["import", "no-such-file"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(errors(&missing).contains("no-such-file"));
}

#[test]
fn standard_input_is_imported_and_exported_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(folder.path())
        .args(["import", "-", "--source", "pipe"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let text: String = (0..1200).map(line).collect();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(printed(&output).starts_with("1200 lines: 1200 recorded"), "{}{}", printed(&output), errors(&output));
    let exported = run(folder.path(), &["export"]);
    let rows: Vec<Value> = printed(&exported).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 1200, "{}", errors(&exported));
    assert!(rows.iter().all(|row| row["state"] == "proposed"));
    let verified = run(folder.path(), &["verify"]);
    assert_eq!(verified.status.code(), Some(0), "{}", printed(&verified));
}

#[test]
fn an_import_that_is_killed_and_repeated_loses_nothing_and_doubles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..6000).map(line).collect();
    let path = folder.path().join("events.ndjson");
    std::fs::write(&path, lines.concat()).unwrap();
    let mut child = command(folder.path())
        .args(["import", "-", "--source", "feed"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Half of it is handed over, then the process dies: kill is SIGKILL.
    let half = lines.get(..3000).unwrap().concat();
    child.stdin.as_mut().unwrap().write_all(half.as_bytes()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let again = run(folder.path(), &["import", "events.ndjson", "--source", "feed"]);
    assert_eq!(again.status.code(), Some(0), "{}", errors(&again));
    let said = printed(&again);
    assert!(said.starts_with("6000 lines: "), "{said}");
    let exported = run(folder.path(), &["export"]);
    assert_eq!(printed(&exported).lines().count(), 6000);
    assert_eq!(run(folder.path(), &["verify"]).status.code(), Some(0));
}

#[test]
fn people_tokens_sources_and_tools_are_made_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let added = run(folder.path(), &["user", "add", "ada", "--role", "approver", "--name", "Ada Byron"]);
    assert!(
        printed(&added).contains("Added ada (approver)\nSign in: http://127.0.0.1:8642/sign-in/link/"),
        "{}",
        printed(&added)
    );
    let taken = run(folder.path(), &["user", "add", "ada", "--role", "viewer"]);
    assert_eq!(taken.status.code(), Some(1), "a login is given once");
    run(folder.path(), &["user", "add", "robot", "--role", "automation"]);
    let token = run(folder.path(), &["token", "new", "--for", "robot"]);
    assert!(printed(&token).starts_with("ts_"), "{}", printed(&token));
    assert_eq!(run(folder.path(), &["token", "new", "--for", "nobody"]).status.code(), Some(1));
    let list = printed(&run(folder.path(), &["user", "list"]));
    assert!(list.contains("ada\tapprover\tAda Byron") && list.contains("robot\tautomation"), "{list}");
    assert_eq!(printed(&run(folder.path(), &["source", "trust", "feed", "verified"])), "feed is verified\n");
    std::fs::write(folder.path().join("pay.json"), r#"{"name":"pay","class":"irreversible"}"#).unwrap();
    assert_eq!(printed(&run(folder.path(), &["tool", "put", "pay.json"])), "pay is declared, version 1\n");
}

#[test]
#[cfg(unix)]
fn a_served_process_ends_in_order_when_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &["serve", "--first-admin"]);
    let told = Command::new("kill").args(["-TERM", &served.child.id().to_string()]).status().unwrap();
    assert!(told.success());
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_demo_prints_one_address_that_signs_in() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), &["demo"]);
    let path = served.link.split_once(served.host()).unwrap().1.to_owned();
    assert!(served.get(&path).starts_with("HTTP/1.1 303"));
}

#[test]
fn an_unknown_setting_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tally.toml"), "listne = \"127.0.0.1:1\"").unwrap();
    let output = run(folder.path(), &["serve", "--config", "tally.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors(&output).contains("nothing was started") && errors(&output).contains("listne"),
        "{}",
        errors(&output)
    );
}

const TIMED_OUT: &str = concat!(
    r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"a","key":"k","tool":"pay","dest":"psp"}"#,
    "\nnonsense\n",
    r#"{"ts":"2026-10-05T09:00:02Z","ev":"attempt.started","op":"a","n":1,"owner":"tool","dest_key":"k"}"#,
    "\n",
);

#[test]
fn a_file_is_explained_without_a_record_and_bad_lines_show_in_the_status() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("events.ndjson"), TIMED_OUT).unwrap();
    let output = run(folder.path(), &["explain", "events.ndjson"]);
    let text = printed(&output);
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert!(text.contains("line 2 · not taken"), "{text}");
    assert!(text.contains("executing [F15]") && !text.contains('\x1b'), "{text}");
    assert!(text.contains("As of 2026-10-05T09:00:02Z: the time of the last line"), "{text}");
    let later = run(folder.path(), &["explain", "events.ndjson", "--as-of", "2026-10-05T10:00:00Z"]);
    assert!(printed(&later).contains("uncertain(lost) [F14]"), "{}", printed(&later));
    assert!(!folder.path().join("tally.db").exists(), "nothing is recorded");
    let missing = run(folder.path(), &["explain", "no-such-file"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(errors(&missing).contains("no-such-file"), "{}", errors(&missing));
    assert_eq!(run(folder.path(), &["explain", "events.ndjson", "--as-of", "noon"]).status.code(), Some(2));
}

#[test]
fn standard_input_is_explained_as_documents_with_declared_tools() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tools.json"), r#"[{"name":"pay","class":"reversible"}]"#).unwrap();
    let mut child = command(folder.path())
        .args(["explain", "-", "--json", "--tools", "tools.json", "--as-of", "2026-10-05T10:00:00Z"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(TIMED_OUT.replace("nonsense\n", "").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let documents: Vec<Value> = printed(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(documents.len(), 3);
    assert_eq!(documents[1]["operations"][0]["fold_rule"], "F15");
    assert_eq!(documents[2]["operations"][0]["decision"]["row"], "20");
    assert_eq!(documents[2]["as_of"], "2026-10-05T10:00:00Z");
}

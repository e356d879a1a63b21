//! What happened to people, line by line: after each line, with the clock at the line's time, the API and the operation's
//! page show the right value.

use serde_json::{Value, json};
use tallystick_domain::evidence::Trust;
use tallystick_domain::operation::State;
use tallystick_domain::permission::Role;
use tallystick_domain::view::state::state_badge;

use crate::support::App;

macro_rules! cases {
    ($($name:literal),*) => {
        /// Every case: its name and its lines.
        pub const CASES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../cases/", $name, ".ndjson")))),*];
    };
}

cases!(
    "R01", "R02", "R03", "R04", "R05", "R06", "R07", "R08", "R09", "R10", "R11", "R12", "R13", "R14", "R15", "R16",
    "R17", "R18", "R19", "R20", "R21"
);

/// Every line of every case.
pub fn every_line() -> Vec<String> {
    CASES.iter().flat_map(|(_, text)| text.lines()).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// A case being played.
struct Play {
    app: App,
    lines: Vec<String>,
    played: usize,
}

impl Play {
    /// The case, from a verified source.
    async fn of(name: &str) -> Self {
        let (_, text) = CASES.iter().find(|(known, _)| *known == name).unwrap();
        let app = App::start().await;
        app.trust("case", Trust::Verified).await;
        Self { app, lines: text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect(), played: 0 }
    }

    /// Other lines than the file's.
    fn change(mut self, change: impl Fn(&str) -> String) -> Self {
        self.lines = self.lines.iter().map(|line| change(line)).collect();
        self
    }

    async fn declare(self, tool: &str, declaration: Value) -> Self {
        self.app.declare(tool, declaration).await;
        self
    }

    /// Plays the next line with the clock at its time; what came of it.
    async fn next(&mut self) -> Value {
        let line = self.lines[self.played].clone();
        self.played += 1;
        let read: Value = serde_json::from_str(&line).unwrap();
        self.app.set_clock(read["ts"].as_str().unwrap()).await;
        let report = self.app.client(Role::Automation).events("case", &line).await;
        assert_eq!(report.status, 200, "{}", report.text());
        let report = report.json();
        assert_eq!(report["bad"], json!([]), "line {}", self.played);
        report
    }

    /// What the API shows of an operation; its page must show the same.
    async fn see(&self, name: &str) -> Seen {
        let document = self.app.client(Role::Operator).operation_named(name).await;
        let id = document["id"].as_str().unwrap();
        let page = self.app.client(Role::Operator).with("accept", "text/html").get(&format!("/operations/{id}")).await;
        assert_eq!(page.status, 200, "{}", page.text());
        let seen = Seen { name: format!("{name} after line {}", self.played), document, page: unescaped(&page.text()) };
        seen.assert_page_agrees();
        seen
    }

    async fn operations(&self) -> usize {
        let page = self.app.client(Role::Viewer).get("/api/v1/operations?limit=200").await.json();
        page["rows"].as_array().unwrap().len()
    }
}

/// Text of a page as a person reads it, near enough.
fn unescaped(html: &str) -> String {
    html.replace("<!>", "")
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// What is shown of one operation.
struct Seen {
    name: String,
    document: Value,
    page: String,
}

impl Seen {
    #[track_caller]
    fn assert_page_agrees(&self) {
        let state: State = serde_json::from_value(self.document["state"].clone()).unwrap();
        let phrase = state_badge(state).phrase;
        assert!(self.page.contains(&phrase), "{}: the page does not say {phrase:?}", self.name);
        if let Some(receipt) = self.document["receipt"].as_str() {
            assert!(self.page.contains(receipt), "{}: the page does not show {receipt:?}", self.name);
        }
        for finding in self.document["findings"].as_array().unwrap() {
            let text = finding["text"].as_str().unwrap();
            assert!(self.page.contains(text), "{}: the page does not say {text:?}", self.name);
        }
    }

    #[track_caller]
    fn state(&self, expected: &str) -> &Self {
        assert_eq!(self.document["state"], expected, "{}: {:#}", self.name, self.document);
        self
    }

    /// Operations, attempts, effects.
    #[track_caller]
    fn counts(&self, operations: u32, attempts: u32, effects: u32) -> &Self {
        let counts = json!({"operations": operations, "attempts": attempts, "effects": effects});
        assert_eq!(self.document["counts"], counts, "{}", self.name);
        self
    }

    #[track_caller]
    fn receipt(&self, expected: &str) -> &Self {
        assert_eq!(self.document["receipt"], expected, "{}", self.name);
        self
    }

    #[track_caller]
    fn row(&self, row: &str, recommended: &str) -> &Self {
        let decision = &self.document["decision"];
        let found = (decision["row"].as_str().unwrap(), decision["recommended"].as_str().unwrap());
        assert_eq!(found, (row, recommended), "{}", self.name);
        self
    }

    #[track_caller]
    fn verdict(&self, action: &str, expected: &str) -> &Self {
        let rulings = self.document["decision"]["actions"].as_array().unwrap();
        let ruling = rulings.iter().find(|ruling| ruling["action"] == action).unwrap();
        assert_eq!(ruling["verdict"], expected, "{}: {action}: {ruling}", self.name);
        self
    }

    #[track_caller]
    fn finding(&self, words: &str) -> &Self {
        let findings = self.document["findings"].as_array().unwrap();
        let says = |finding: &Value| finding["text"].as_str().unwrap().to_lowercase().contains(&words.to_lowercase());
        assert!(findings.iter().any(says), "{}: no finding says {words:?}: {findings:#?}", self.name);
        self
    }

    #[track_caller]
    fn no_findings(&self) -> &Self {
        assert_eq!(self.document["findings"], json!([]), "{}", self.name);
        self
    }

    #[track_caller]
    fn is_never_failed(&self) -> &Self {
        assert_ne!(self.document["state_word"], "failed", "{}", self.name);
        self
    }

    fn receipts(&self) -> Vec<(&str, bool)> {
        let effects = self.document["effects"].as_array().unwrap();
        effects
            .iter()
            .map(|effect| (effect["receipt"].as_str().unwrap(), effect["is_surplus"].as_bool().unwrap()))
            .collect()
    }
}

#[tokio::test]
async fn r01_a_slow_success_that_was_sent_again_with_a_tool_nobody_declared() {
    let mut play = Play::of("R01").await;
    play.next().await;
    play.see("op_101").await.state("proposed").counts(1, 0, 0);
    play.next().await;
    play.see("op_101").await.state("authorized").counts(1, 0, 0);
    play.next().await;
    play.see("op_101").await.state("executing").counts(1, 1, 0);
    play.next().await;
    play.see("op_101")
        .await
        .state("uncertain(timeout)")
        .is_never_failed()
        .counts(1, 1, 0)
        .verdict("mark_succeeded", "dual")
        .verdict("rerun_new", "forbidden")
        .verdict("rerun_same_key", "forbidden");
    assert_eq!(play.see("op_101").await.document["decision"]["row"], "21");
    let report = play.next().await;
    assert_eq!(report["operations"], 0, "op_102 is an alias: {report}");
    assert_eq!(play.operations().await, 1);
    let alias = play.see("op_102").await;
    alias.state("uncertain(timeout)").counts(1, 1, 0);
    assert_eq!(alias.document["id"], play.see("op_101").await.document["id"]);
    play.next().await;
    play.see("op_101").await.state("succeeded").receipt("pi_A").counts(1, 1, 1);
    play.next().await;
    assert_r01_is_a_duplicate(&play.see("op_101").await);
    assert_eq!(play.operations().await, 1);
}

fn assert_r01_is_a_duplicate(seen: &Seen) {
    seen.state("contradicted(duplicate)")
        .receipt("pi_A")
        .counts(1, 1, 2)
        .finding("2 effects for 1 intent")
        .finding("without a send on record")
        .row("3", "pick_verdict")
        .verdict("pick_verdict", "dual")
        .verdict("compensate", "dual")
        .verdict("rerun_same_key", "forbidden")
        .verdict("rerun_new", "forbidden");
    assert_eq!(seen.receipts(), [("pi_A", false), ("pi_B", true)]);
}

#[tokio::test]
async fn r01_with_a_reversible_tool_that_can_be_looked_up() {
    let declared = json!({"class": "reversible", "destination": "psp", "executable": true, "contract": {"lookup": {"by": "key", "consistency": "eventual"}}});
    let mut play = Play::of("R01").await.declare("payments.charge", declared).await;
    for _ in 0..4 {
        play.next().await;
    }
    play.see("op_101")
        .await
        .state("uncertain(timeout)")
        .is_never_failed()
        .row("18", "look_up")
        .verdict("mark_succeeded", "confirm")
        .verdict("adopt", "confirm")
        .verdict("rerun_same_key", "forbidden");
    for _ in 4..6 {
        play.next().await;
    }
    play.see("op_101").await.state("succeeded").receipt("pi_A").counts(1, 1, 1);
    play.next().await;
    play.see("op_101").await.state("contradicted(duplicate)").receipt("pi_A").counts(1, 1, 2);
}

#[tokio::test]
async fn r01_ends_the_same_with_its_deliveries_swapped_and_repeated() {
    let mut play = Play::of("R01").await;
    play.lines.swap(5, 6);
    let again = [play.lines[5].clone(), play.lines[6].clone()];
    play.lines.extend(again);
    for _ in 0..7 {
        play.next().await;
    }
    assert_r01_is_a_duplicate(&play.see("op_101").await);
    for _ in 0..2 {
        assert_eq!(play.next().await["repeated"], 1);
    }
    assert_r01_is_a_duplicate(&play.see("op_101").await);
}

#[tokio::test]
async fn r03_a_key_that_leaked_onto_another_endpoint() {
    let executable = json!({"class": "irreversible", "destination": "psp", "executable": true});
    let mut play = Play::of("R03").await.declare("invoice.pay", executable).await;
    play.next().await;
    play.see("op_301").await.state("proposed").counts(1, 0, 0);
    play.next().await;
    play.see("op_301").await.state("executing").counts(1, 1, 0);
    play.next().await;
    play.see("op_301").await.state("succeeded").receipt("in_900").counts(1, 1, 1);
    play.next().await;
    play.see("op_302").await.state("proposed").counts(1, 0, 0);
    play.next().await;
    play.see("op_302").await.state("executing").counts(1, 1, 0);
    play.next().await;
    let refused = play.see("op_302").await;
    refused
        .state("failed.proven(permanent)")
        .counts(1, 1, 0)
        .finding("key")
        .row("6a", "adopt")
        .verdict("adopt", "confirm")
        .verdict("rerun_new", "forbidden");
    assert_eq!(refused.document["attempts"][0]["closed_by"], "K5");
    let owner = play.see("op_301").await;
    owner.state("succeeded").receipt("in_900").counts(1, 1, 1);
    let sharers = refused.document["relatives"].as_array().unwrap();
    assert!(
        sharers.iter().any(|other| other["id"] == owner.document["id"] && other["link"] == "same destination key"),
        "the page shows both operations that used K1: {sharers:?}"
    );
    assert_eq!(play.operations().await, 2);
}

#[tokio::test]
async fn r03_stays_uncertain_while_the_owner_of_the_key_is_open() {
    let mut play = Play::of("R03").await;
    play.lines.remove(2);
    for _ in 0..5 {
        play.next().await;
    }
    play.see("op_302").await.state("uncertain(key_mismatch)").is_never_failed();
    assert_eq!(play.see("op_302").await.document["decision"]["row"], "13");
}

#[tokio::test]
async fn r13_retry_failed_where_503_proves_that_nothing_ran() {
    let mut play = Play::of("R13").await;
    play.next().await;
    play.next().await;
    for name in ["op_1301", "op_1302"] {
        play.see(name).await.state("proposed").counts(1, 0, 0);
    }
    play.next().await;
    play.see("op_1301").await.state("failed.proven(observed)").counts(1, 1, 0);
    play.see("op_1302").await.state("proposed").counts(1, 0, 0);
    play.next().await;
    play.see("op_1302").await.state("failed.proven(observed)").counts(1, 1, 0);
    assert_eq!(failed(&play).await, 2);
    play.next().await;
    for name in ["op_1301", "op_1302"] {
        play.see(name).await.state("failed.proven(observed)").counts(1, 1, 0);
    }
    assert_eq!(play.next().await["repeated"], 1, "the same act");
    for name in ["op_1301", "op_1302"] {
        play.see(name).await.state("failed.proven(observed)").counts(1, 1, 0);
    }
    play.next().await;
    play.see("op_1301").await.state("failed.proven(observed)").counts(1, 2, 0);
    play.next().await;
    play.see("op_1302").await.state("succeeded").receipt("m_2").counts(1, 2, 1);
    assert_eq!((failed(&play).await, play.operations().await), (1, 2));
    play.next().await;
    play.see("op_1301").await.state("failed.proven(observed)").counts(1, 2, 0);
    play.see("op_1302").await.state("succeeded").receipt("m_2").counts(1, 2, 1);
    assert_eq!((failed(&play).await, play.operations().await), (1, 2));
}

async fn failed(play: &Play) -> usize {
    let page = play.app.client(Role::Viewer).get("/api/v1/operations?state=failed").await.json();
    page["rows"].as_array().unwrap().len()
}

#[tokio::test]
async fn r13_where_503_proves_nothing() {
    let declared = r#","dest_contract":{"negative_signals":[{"http":503}]}"#;
    let mut play = Play::of("R13").await.change(|line| line.replace(declared, ""));
    for _ in 0..4 {
        play.next().await;
    }
    for name in ["op_1301", "op_1302"] {
        play.see(name).await.state("uncertain(server_error)").is_never_failed().counts(1, 1, 0);
    }
    assert_eq!(failed(&play).await, 0, "retry failed has nothing to retry");
    for _ in 4..8 {
        play.next().await;
    }
    play.see("op_1301").await.state("uncertain(server_error)").counts(1, 2, 0);
    let watched = play.see("op_1302").await;
    watched.state("succeeded").receipt("m_2").counts(1, 2, 1);
    assert!(watched.document["watch_until"].is_string(), "attempt 1 is open: {:#}", watched.document);
    play.next().await;
    play.see("op_1302").await.state("succeeded").counts(1, 2, 1);
}

#[tokio::test]
async fn r14_a_late_result_does_not_reopen_a_closed_job() {
    let mut play = Play::of("R14").await;
    r14_until_line_5(&mut play).await;
    play.next().await;
    let last = play.see("op_1401").await;
    last.state("failed.proven(permanent)").counts(1, 3, 0);
    assert_eq!(last.document["attempts_allowed"], 3);
}

async fn r14_until_line_5(play: &mut Play) {
    play.next().await;
    play.see("op_1401").await.state("executing").counts(1, 1, 0);
    play.next().await;
    play.see("op_1401").await.state("failed.proven(permanent)").counts(1, 1, 0);
    play.next().await;
    play.see("op_1401").await.state("executing").counts(1, 2, 0);
    play.next().await;
    let overlapping = play.see("op_1401").await;
    overlapping.state("uncertain(lost)").is_never_failed().counts(1, 3, 0);
    assert_eq!(overlapping.document["attempts"][2]["overlaps"], true);
    play.next().await;
    play.see("op_1401").await.state("uncertain(lost)").is_never_failed().counts(1, 3, 0);
}

#[tokio::test]
async fn r14_a_late_success_is_a_success() {
    let mut play = Play::of("R14").await.change(|line| {
        line.replace(r#""n":2,"outcome":"rejected","http":422"#, r#""n":2,"outcome":"ok","receipt":"job-9""#)
    });
    r14_until_line_5(&mut play).await;
    play.next().await;
    play.see("op_1401").await.state("succeeded").receipt("job-9").counts(1, 3, 1);
}

#[tokio::test]
async fn r14_stays_uncertain_for_good_if_the_last_word_never_comes() {
    let mut play = Play::of("R14").await;
    r14_until_line_5(&mut play).await;
    play.app.set_clock("2026-10-12T20:31:00Z").await;
    while play.app.ledger.sweep(500).await.unwrap() > 0 {}
    play.see("op_1401").await.state("uncertain(lost)").is_never_failed().counts(1, 3, 0);
}

#[tokio::test]
async fn r15_a_step_that_nothing_will_advance() {
    let executable = json!({"class": "irreversible", "destination": "psp", "executable": true});
    let mut play = Play::of("R15").await.declare("publish", executable).await;
    play.next().await;
    let claimed = play.see("op_1501").await;
    claimed.state("executing").counts(1, 1, 0);
    assert_eq!(claimed.document["attempts"][0]["is_possible_send"], true);
    play.next().await;
    play.see("op_1501").await.state("succeeded").receipt("r_0").counts(1, 1, 1);
    play.next().await;
    play.see("op_1502").await.state("proposed").counts(1, 0, 0).no_findings();
    play.app.set_clock("2026-10-05T01:31:20Z").await;
    while play.app.ledger.sweep(500).await.unwrap() > 0 {}
    let stalled = play.see("op_1502").await;
    stalled.state("proposed").is_never_failed().counts(1, 0, 0).row("32a", "adopt").verdict("adopt", "confirm");
    assert_eq!(stalled.document["attention"]["reason"], "stalled");
    stalled.finding("nothing will advance this");
    let queue = play.app.client(Role::Operator).get("/api/v1/queue?reason=stalled").await.json();
    assert_eq!(queue["rows"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn r18_a_64_bit_number_is_never_rounded() {
    let mut play = Play::of("R18").await;
    play.next().await;
    play.see("op_1801").await.state("proposed").counts(1, 0, 0);
    play.next().await;
    let (one, two) = (play.see("op_1801").await, play.see("op_1802").await);
    one.state("proposed");
    two.state("proposed").counts(1, 0, 0);
    assert_eq!(play.operations().await, 2);
    assert_eq!(one.document["arguments"], r#"{"id":1970670598291982290}"#);
    assert!(one.page.contains("1970670598291982290") && !one.page.contains("1970670598291982300"));
    assert_eq!(one.document["args_hash"], "51c9d72308f4be5fd061f79fbe665a6d38c0d3186d8f3618196c922ce14a6c0e");
    assert_eq!(two.document["args_hash"], "62da59d165ba33ab23fcef311e4f09087e9f840a03f1d0d141390a8aab7c24ca");
    let found = play.app.client(Role::Viewer).get("/api/v1/operations?search=row:1970670598291982290").await.json();
    assert_eq!(found["rows"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn r20_a_day_belongs_to_the_workspace_and_every_time_names_its_zone() {
    let mut play = Play::of("R20").await;
    let admin = &play.app.actors[&Role::Administrator];
    let version = play.app.ledger.settings().await.unwrap().version;
    play.app.ledger.set_zone(admin, "America/Los_Angeles", version).await.unwrap();
    for (name, receipt, local) in [
        ("op_2001", "x", "2026-07-31 18:30"),
        ("op_2002", "y", "2026-07-31 23:59"),
        ("op_2003", "z", "2026-08-01 00:00"),
    ] {
        play.next().await;
        let seen = play.see(name).await;
        seen.state("succeeded").receipt(receipt).counts(1, 1, 1);
        assert!(
            seen.page.contains(local) && seen.page.contains("PDT") && seen.page.contains("UTC"),
            "{name}: {}",
            seen.page
        );
    }
    assert!(play.see("op_2001").await.page.contains("2026-07-31 18:30 PDT (01:30 UTC, 1 Aug)"));
    assert_eq!(play.operations().await, 3);
    assert_eq!(play.see("op_2001").await.document["since"], "2026-08-01T01:30:00Z", "documents carry UTC only");
}

#[tokio::test]
async fn a_source_that_is_only_declared_proves_nothing() {
    let mut play = Play::of("R20").await;
    play.app.trust("case", Trust::Declared).await;
    play.next().await;
    play.see("op_2001").await.state("uncertain(likely)").counts(1, 1, 0);
}

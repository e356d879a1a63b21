//! Everything at once: several real processes that die at their failpoints, are killed, frozen and slow; a destination that loses,
//! delays and cuts, and forgets keys; look-ups that are down for a while; connections to the database that break, and a database that
//! crashes as a whole; a copy of the record that is five minutes old, put in its place; approvals that run out; executors outside whose
//! clocks are four minutes off and of whom some are never heard of again. At the end every intent has at most one effect, none is lost,
//! and nothing is unexplained.
//!
//! The record's clock runs four times as fast as the destination's, so that leases and settle windows pass within the test.

mod day;
mod restore;
mod tally;
mod weather;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use tallystick_destination::LookUps;
use tallystick_domain::name::OperationId;
use tallystick_domain::tool::Class;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::outside::{Dawdler, Outside};
use crate::scene::{Process, Scene};

use restore::Copy;
use tally::Tally;
use weather::Blow;

/// How much faster the record's clock runs.
const PACE: u32 = 4;
/// The same once the weather has cleared, and what was on its way has come.
const CLEAR_PACE: u32 = 8;
const TICK: Duration = Duration::from_millis(250);
/// So many beats a run goes on for what only chance brings.
const PATIENCE: u32 = 240;

/// How a run goes.
struct Run {
    /// At least so many.
    operations: usize,
    processes: usize,
    /// A process ends at any point with a chance of one in so many.
    dies_one_in: u64,
    /// At least so many must have ended so.
    kills: usize,
    seed: u64,
    on_postgres: bool,
    /// A safety rule to leave out, to see that the run notices.
    without: Option<&'static str>,
    settles_within: Duration,
}

/// xorshift: the same seed, the same choices.
pub struct Chance(u64);

impl Chance {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

struct Chaos {
    scene: Scene,
    /// The database server, where the record is on PostgreSQL.
    cluster: Option<Cluster>,
    run: Run,
    chance: Chance,
    processes: Vec<Process>,
    /// One that stands still before each dispatch until it may go on.
    slow: Option<Process>,
    hits: BTreeMap<String, usize>,
    happened: BTreeMap<&'static str, usize>,
    /// How many orders the automation has.
    orders: usize,
    /// What the record has lost and the caller found done at the destination.
    found_done: Vec<String>,
    presses: usize,
    beats: u32,
    pace: u32,
    /// Whose attempts were used up and who got more.
    granted: BTreeSet<OperationId>,
    is_deadly: bool,
    outside: Vec<JoinHandle<u32>>,
    dawdlers: Vec<JoinHandle<()>>,
    deaths_outside: u32,
    /// Whether executors outside may die, and whether they are to stop.
    outside_may_die: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    /// How often a key had run out when it was to be sent.
    too_old: Arc<AtomicU32>,
    copy: Option<Copy>,
}

impl Chaos {
    async fn start(run: Run) -> Self {
        let cluster = if run.on_postgres { Some(Cluster::start().await) } else { None };
        let scene = Scene::start_in(cluster.as_ref().map(Cluster::url), "any_once_started").await;
        for (name, contract) in tools() {
            scene.declare(name, contract).await;
        }
        scene
            .redeclare(FLEETING, |tool| {
                let headers = &mut tool.request.as_mut().unwrap().headers;
                headers.insert("key-kept-ms".into(), KEPT_FLEETING_MS.to_string());
            })
            .await;
        scene.declare_for_others(OUTSIDE, Class::Reversible, tools()[0].1.clone()).await;
        let chance = Chance(run.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut chaos = Self {
            scene,
            cluster,
            run,
            chance,
            processes: Vec::new(),
            slow: None,
            hits: BTreeMap::new(),
            happened: BTreeMap::new(),
            orders: 0,
            found_done: Vec::new(),
            presses: 0,
            beats: 0,
            pace: PACE,
            granted: BTreeSet::new(),
            is_deadly: true,
            outside: Vec::new(),
            dawdlers: Vec::new(),
            deaths_outside: 0,
            outside_may_die: Arc::new(AtomicBool::new(true)),
            is_over: Arc::default(),
            too_old: Arc::default(),
            copy: None,
        };
        chaos.behave(300, LookUps::Strong);
        chaos.start_everybody();
        chaos
    }

    /// All processes and executors outside.
    fn start_everybody(&mut self) {
        // Four minutes apart, and as many pairs as there is work for.
        for _ in 0..=self.run.operations / 4_000 {
            for ahead in [120_000_000, -120_000_000] {
                self.send_outside(ahead);
            }
        }
        let dawdler = Dawdler {
            ledger: self.scene.ledger.clone(),
            destination: self.scene.destination.address(),
            tool: FLEETING,
            takes: KEY_RUNS_OUT,
            is_over: Arc::clone(&self.is_over),
            too_old: Arc::clone(&self.too_old),
        };
        self.dawdlers.push(dawdler.start());
        for _ in 0..self.run.processes {
            let process = self.process();
            self.processes.push(process);
        }
        if self.is_deadly {
            self.slow = Some(self.slow_process());
        }
    }

    /// Another executor of somebody else.
    fn send_outside(&mut self, ahead: i64) {
        let outside = Outside {
            ledger: self.scene.ledger.clone(),
            destination: self.scene.destination.address(),
            tool: OUTSIDE,
            chance: Chance(self.chance.below(u64::MAX) | 1),
            ahead,
            is_deadly: Arc::clone(&self.outside_may_die),
            is_over: Arc::clone(&self.is_over),
        };
        self.outside.push(outside.start());
    }

    fn process(&self) -> Process {
        let mut environment = self.left_out();
        if self.is_deadly {
            environment.push(("TALLYSTICK_FAILPOINT", format!("*:{}", self.run.dies_one_in)));
        }
        self.scene.process_with(&environment)
    }

    fn slow_process(&self) -> Process {
        let mut environment = self.left_out();
        environment.push(("TALLYSTICK_FAILPOINT", "before_dispatch".to_owned()));
        self.scene.process_with(&environment)
    }

    fn left_out(&self) -> Vec<(&'static str, String)> {
        self.run.without.map(|rule| ("TALLYSTICK_WITHOUT", rule.to_owned())).into_iter().collect()
    }

    /// Counts what stopped where, and starts again what has ended.
    fn tend(&mut self) {
        self.count_hits();
        for index in 0..self.processes.len() {
            if self.processes[index].has_ended() {
                self.processes[index] = self.process();
            }
        }
        if self.slow.as_mut().is_some_and(Process::has_ended) {
            self.slow = Some(self.slow_process());
        }
    }

    fn count_hits(&mut self) {
        for process in &self.processes {
            while let Ok(line) = process.hits.try_recv() {
                *self.hits.entry(line.replace("failpoint ", "")).or_default() += 1;
            }
        }
    }

    fn note(&mut self, what: &'static str, count: usize) {
        *self.happened.entry(what).or_default() += count;
    }

    async fn stop_outside(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        for outside in self.outside.drain(..) {
            self.deaths_outside += outside.await.unwrap();
        }
        for dawdler in std::mem::take(&mut self.dawdlers) {
            dawdler.await.unwrap();
        }
        let too_old = self.too_old.swap(0, Ordering::SeqCst);
        self.note("keys too old at dispatch", usize::try_from(too_old).unwrap());
        self.is_over.store(false, Ordering::SeqCst);
    }

    fn kill_processes(&mut self) {
        for process in self.processes.drain(..).chain(self.slow.take()) {
            // What it said before its end counts.
            while let Ok(line) = process.hits.try_recv() {
                if self.is_deadly && !line.ends_with("before_dispatch") {
                    *self.hits.entry(line.replace("failpoint ", "")).or_default() += 1;
                }
            }
            process.kill();
        }
    }

    async fn go(mut self) -> Tally {
        let batch = (self.run.operations / 60).clamp(4, 128);
        let mut ahead = Blow::SCHEDULE.iter().peekable();
        while self.orders < self.run.operations
            || self.hits.values().sum::<usize>() < self.run.kills
            || (!self.has_seen_an_old_key() && self.beats < PATIENCE)
        {
            // Until enough have died there is always something to do.
            for _ in 0..batch.min(self.run.operations.saturating_sub(self.orders)).max(2) {
                self.order().await;
                if self.orders.is_multiple_of(8) {
                    self.tend();
                }
            }
            while let Some((_, blow)) =
                ahead.next_if(|(percent, _)| self.orders * 100 >= self.run.operations * usize::from(*percent))
            {
                self.suffer(*blow).await;
            }
            self.strike().await;
            self.beat().await;
            if self.orders >= self.run.operations && self.beats.is_multiple_of(4) {
                self.operate().await;
            }
        }
        println!("orders {} after {} beats", self.orders, self.beats);
        // The weather clears: what is uncertain now is what cannot be known.
        self.kill_processes();
        self.is_deadly = false;
        self.outside_may_die.store(false, Ordering::SeqCst);
        self.behave(0, LookUps::Strong);
        for _ in 0..self.run.processes {
            let process = self.process();
            self.processes.push(process);
        }
        let until = Instant::now() + self.run.settles_within;
        while self.operate().await > 0 && Instant::now() < until {
            for _ in 0..8 {
                self.beat().await;
            }
            self.pace = CLEAR_PACE;
        }
        self.count().await
    }

    /// Whether a key ran out between a claim and its dispatch: it takes a repeat that comes late enough, and that is chance.
    fn has_seen_an_old_key(&self) -> bool {
        self.too_old.load(Ordering::SeqCst) > 0
            || self.happened.get("keys too old at dispatch").is_some_and(|&count| count > 0)
    }

    async fn beat(&mut self) {
        tokio::time::sleep(TICK).await;
        self.beats += 1;
        self.let_slow_go();
        self.scene.offset += TICK * (self.pace - 1);
        self.set_clock().await;
        self.tend();
    }

    /// For one beat in twelve whoever stands still goes on.
    fn let_slow_go(&self) {
        let go = self.scene.go();
        if self.beats.is_multiple_of(12) {
            std::fs::write(go, "").unwrap();
        } else {
            let _ = std::fs::remove_file(go);
        }
    }
}

/// The tool that only others carry out.
const OUTSIDE: &str = "outside";
/// The tool whose keys are kept for a short while only.
const FLEETING: &str = "fleeting";
/// So long is enough, by the machine's clock, for such a key to run out.
const KEY_RUNS_OUT: Duration = Duration::from_secs(8);
/// For so long the destination keeps such a key, by its own clock: longer than is promised by the record's, which runs faster.
const KEPT_FLEETING_MS: u64 = 60_000;

/// One whose key protects, one whose key keeps successes only, one whose approvals run out soon, and one whose key is certain
/// for ten seconds.
fn tools() -> [(&'static str, serde_json::Value); 4] {
    let paced = json!({"client_deadline_s": 2, "max_arrival_delay_s": 16, "lease_s": 2, "lookup_span_s": 240});
    let with = |more: serde_json::Value| {
        let mut all = paced.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    [
        ("protected", with(json!({}))),
        ("unprotected", with(json!({"stores": "2xx_only"}))),
        ("hurried", with(json!({"approval_life_s": 25}))),
        // Its lease outlives its key, also where whoever took it is slow.
        (FLEETING, with(json!({"key_retention_s": 29, "key_age_margin_s": 1, "lease_s": 60}))),
    ]
}

fn assert_sound(tally: &Tally) {
    tally.print();
    assert_eq!((tally.duplicates, tally.lost, tally.unexplained), (0, 0, 0), "{tally:?}");
    assert_eq!(tally.uncertain_without_need, 0, "{tally:?}");
    // Doing nothing must not pass.
    assert!(tally.confirmed_permille >= 950, "{tally:?}");
}

/// Whatever was to happen did. That a key runs out is waited for, and still chance; `canaries` shows it without any.
fn assert_eventful(tally: &Tally, on_postgres: bool) {
    let expected: &[&str] = &["restores", "orders forgotten", "deaths outside"];
    let on_server: &[&str] = if on_postgres { &["database crashes"] } else { &[] };
    for what in expected.iter().chain(on_server) {
        assert!(tally.happened.get(what).is_some_and(|count| *count > 0), "no {what}: {tally:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_operations_and_a_hundred_deaths_leave_one_effect_each() {
    let run = Run {
        operations: 500,
        processes: 3,
        dies_one_in: 25,
        kills: 100,
        seed: 1,
        on_postgres: true,
        without: None,
        settles_within: Duration::from_mins(2),
    };
    let tally = Chaos::start(run).await.go().await;
    assert_sound(&tally);
    assert!(tally.kills() >= 100, "{tally:?}");
    assert_eventful(&tally, true);
}

/// The same on the embedded store, smaller.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_operations_on_the_embedded_store_leave_one_effect_each() {
    let run = Run {
        operations: 120,
        processes: 2,
        dies_one_in: 25,
        kills: 20,
        seed: 2,
        on_postgres: false,
        without: None,
        settles_within: Duration::from_mins(2),
    };
    let tally = Chaos::start(run).await.go().await;
    assert_sound(&tally);
    assert!(tally.happened["restores"] == 1 && tally.happened["orders forgotten"] > 0, "{tally:?}");
}

/// `cargo xtask chaos` runs this one, as large as it is told.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "as large as the environment says; cargo xtask chaos runs it"]
async fn as_large_as_told() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let operations = usize::try_from(number("CHAOS_OPERATIONS", 2_000)).unwrap();
    let on_postgres = number("CHAOS_POSTGRES", 1) == 1;
    let run = Run {
        operations,
        processes: 3,
        dies_one_in: number("CHAOS_DIES_ONE_IN", 200),
        // Half of what chance makes likely: once all is ordered, deaths become rare.
        kills: operations / 100,
        seed: number("CHAOS_SEED", 1),
        on_postgres,
        without: std::env::var("CHAOS_WITHOUT").ok().map(|rule| &*rule.leak()),
        settles_within: Duration::from_mins(number("CHAOS_MINUTES", 10)),
    };
    let tally = Chaos::start(run).await.go().await;
    assert_sound(&tally);
    if operations >= 500 {
        assert_eventful(&tally, on_postgres);
    }
}

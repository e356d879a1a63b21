//! Everything at once: several real processes that die at their failpoints, are killed and frozen; a destination that loses,
//! delays and cuts; look-ups that are down for a while; connections to the database that break; approvals that run out; executors
//! outside whose clocks are four minutes off and of whom some are never heard of again. At the end every intent has at most one effect, none is lost, and nothing is unexplained.
//!
//! The record's clock runs four times as fast as the destination's, so that leases and settle windows pass within the test.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tallystick_destination::{Contract, LookUps, Plan};
use tallystick_domain::action::{Act, Action, ActionInput};
use tallystick_domain::decision::Verdict;
use tallystick_domain::name::{ActionKey, OperationKey, ToolName};
use tallystick_domain::operation::{Failure, Projection, State, SuccessBasis};
use tallystick_domain::permission::Role;
use tallystick_ledger::failpoint::POINTS;
use tallystick_ledger::operations::{Listed, NewProposal};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::outside::Outside;
use crate::scene::{Process, Scene, actor, administer};

/// How much faster the record's clock runs.
const PACE: u32 = 4;
const TICK: Duration = Duration::from_millis(250);

/// How a run goes.
struct Run {
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

/// What came of a run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    operations: usize,
    attempts: u64,
    effects: u32,
    duplicates: usize,
    lost: usize,
    unexplained: usize,
    uncertain: usize,
    confirmed_permille: usize,
    hits: BTreeMap<String, usize>,
}

impl Tally {
    fn print(&self) {
        println!("operations {}", self.operations);
        println!("attempts {}", self.attempts);
        println!("effects {}", self.effects);
        println!("duplicates {}", self.duplicates);
        println!("lost {}", self.lost);
        println!("unexplained {}", self.unexplained);
        println!("uncertain {}", self.uncertain);
        println!("confirmed_percent {}.{}", self.confirmed_permille / 10, self.confirmed_permille % 10);
        for point in POINTS {
            println!("failpoint {point} {}", self.hits.get(point).copied().unwrap_or(0));
        }
    }

    fn kills(&self) -> usize {
        self.hits.values().sum()
    }
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
    run: Run,
    chance: Chance,
    processes: Vec<Process>,
    hits: BTreeMap<String, usize>,
    presses: usize,
    is_deadly: bool,
    outside: Vec<JoinHandle<u32>>,
    /// Whether executors outside may die, and whether they are to stop.
    outside_may_die: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl Chaos {
    async fn start(run: Run) -> Self {
        let scene = Scene::start(run.on_postgres, "any_once_started").await;
        for (name, contract) in tools() {
            scene.declare(name, contract).await;
        }
        scene.declare_for_others(OUTSIDE, tools()[0].1.clone()).await;
        let chance = Chance(run.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut chaos = Self {
            scene,
            run,
            chance,
            processes: Vec::new(),
            hits: BTreeMap::new(),
            presses: 0,
            is_deadly: true,
            outside: Vec::new(),
            outside_may_die: Arc::new(AtomicBool::new(true)),
            is_over: Arc::default(),
        };
        chaos.behave(300, LookUps::Strong);
        // Four minutes apart.
        for ahead in [120_000_000, -120_000_000] {
            chaos.send_outside(ahead);
        }
        for _ in 0..chaos.run.processes {
            let process = chaos.process();
            chaos.processes.push(process);
        }
        chaos
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

    fn behave(&self, permille: u32, look_ups: LookUps) {
        let contract = Contract { look_ups, ..Contract::default() };
        self.scene.destination.set_plan(Plan { contract, permille, seed: self.run.seed, ..Plan::default() });
    }

    fn process(&self) -> Process {
        let mut environment = Vec::new();
        if self.is_deadly {
            environment.push(("TALLYSTICK_FAILPOINT", format!("*:{}", self.run.dies_one_in)));
        }
        environment.extend(self.run.without.map(|rule| ("TALLYSTICK_WITHOUT", rule.to_owned())));
        self.scene.process_with(&environment)
    }

    /// Counts what stopped where, and starts again what has ended.
    fn tend(&mut self) {
        for index in 0..self.processes.len() {
            while let Ok(line) = self.processes[index].hits.try_recv() {
                *self.hits.entry(line.replace("failpoint ", "")).or_default() += 1;
            }
            if self.processes[index].has_ended() {
                self.processes[index] = self.process();
            }
        }
    }

    async fn propose(&mut self, number: usize) {
        let tools: Vec<&str> = tools().map(|(tool, _)| tool).into_iter().chain([OUTSIDE]).collect();
        let tool = tools[number % tools.len()];
        let key = format!("order-{number}");
        let new = NewProposal {
            key: OperationKey::parse(key.as_str()).unwrap(),
            tool: ToolName::parse(tool).unwrap(),
            arguments: json!({"intent": key}).to_string().into_bytes(),
            deadline: None,
            tool_call_id: None,
            step: None,
        };
        let made = self.scene.ledger.propose_operation(&actor("robot", Role::Automation), new).await.unwrap();
        self.scene.ids.push(made.operation.head.id.clone());
        self.press(&made.operation, ActionInput::Approve {}).await;
    }

    /// As a person would; a refusal is an answer.
    async fn press(&mut self, on: &Listed, input: ActionInput) {
        self.presses += 1;
        let confirmation = on.head.key.as_str().rsplit(':').next().unwrap_or_default().to_owned();
        let act = Act {
            key: ActionKey::parse(format!("press {}", self.presses)).unwrap(),
            input,
            actor: actor("ida", Role::Approver),
            reason: "the order stands".into(),
            confirmation: Some(confirmation),
            seen_version: on.version,
        };
        let _ = self.scene.ledger.act(&on.head.id, act).await;
    }

    async fn rows(&self) -> Vec<Listed> {
        let mut rows = Vec::new();
        for ids in self.scene.ids.chunks(200) {
            rows.extend(self.scene.ledger.operations_by_id(&actor("ada", Role::Administrator), ids).await.unwrap());
        }
        rows
    }

    /// One blow, by chance.
    async fn strike(&mut self) {
        let victim = usize::try_from(self.chance.below(self.processes.len() as u64)).unwrap();
        match self.chance.below(12) {
            0 => self.processes[victim].signal_kill(),
            1 | 2 => self.processes[victim].freeze_for(Duration::from_millis(700 + self.chance.below(900))),
            3 => self.behave(300, LookUps::Down),
            4 | 5 => self.behave(300, LookUps::Strong),
            6 if self.run.on_postgres => {
                let name = self.scene.database.clone().unwrap_or_default();
                administer(&format!(
                    "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}'"
                ))
                .await;
            }
            _ => {}
        }
    }

    /// What an operator would do at the end of the day: renew what ran out, where the rules offer it.
    async fn operate(&mut self) -> usize {
        let rows = self.rows().await;
        let open: Vec<Listed> = rows.into_iter().filter(|row| !is_settled(&row.row)).collect();
        for row in &open {
            let examined = self.scene.ledger.operation(&actor("ida", Role::Approver), &row.head.id).await.unwrap();
            let Some(examined) = examined else { continue };
            let may = |action| examined.ruling.on(action).is_some_and(|one| one.verdict <= Verdict::Confirm);
            let input = match row.row.state {
                State::ApprovalExpired if may(Action::Renew) => ActionInput::Renew {},
                State::Uncertain(_) if row.row.claim_at.is_none() && may(Action::Renew) => ActionInput::Renew {},
                State::Uncertain(_) if row.row.look_up_at.is_none() && may(Action::LookUp) => ActionInput::LookUp {},
                State::Failed(Failure::Budget) if may(Action::GrantAttempts) => {
                    ActionInput::GrantAttempts { attempts: 2, deadline: None }
                }
                _ => continue,
            };
            self.press(row, input).await;
        }
        open.len()
    }

    async fn go(mut self) -> Tally {
        let mut proposed = 0;
        let batch = (self.run.operations / 60).max(4);
        while proposed < self.run.operations || self.hits.values().sum::<usize>() < self.run.kills {
            for _ in 0..batch.min(self.run.operations - proposed) {
                self.propose(proposed).await;
                proposed += 1;
            }
            self.strike().await;
            self.beat().await;
            if proposed == self.run.operations {
                self.operate().await;
            }
        }
        // The weather clears: what is uncertain now is what cannot be known.
        self.is_deadly = false;
        self.outside_may_die.store(false, Ordering::SeqCst);
        self.behave(0, LookUps::Strong);
        for process in self.processes.drain(..) {
            process.kill();
        }
        for _ in 0..self.run.processes {
            let process = self.process();
            self.processes.push(process);
        }
        let until = Instant::now() + self.run.settles_within;
        while self.operate().await > 0 && Instant::now() < until {
            for _ in 0..4 {
                self.beat().await;
            }
        }
        self.count().await
    }

    async fn beat(&mut self) {
        tokio::time::sleep(TICK).await;
        self.scene.pass_by(TICK * (PACE - 1)).await;
        self.tend();
    }

    async fn count(mut self) -> Tally {
        self.is_over.store(true, Ordering::SeqCst);
        let mut deaths = 0;
        for outside in self.outside.drain(..) {
            deaths += outside.await.unwrap();
        }
        println!("deaths outside {deaths}");
        assert!(deaths > 0 || self.run.operations < 100, "nobody outside died");
        let rows = self.rows().await;
        let report = self.scene.destination.report();
        assert!(report.violations.is_empty(), "{:?}", report.violations);
        let mut tally = Tally { operations: rows.len(), hits: self.hits, ..Tally::default() };
        tally.effects = report.made.values().sum();
        tally.duplicates = report.made.values().filter(|count| **count > 1).count();
        let mut told = 0;
        for row in &rows {
            let made = report.made.get(row.head.key.as_str()).copied().unwrap_or(0);
            told += made;
            tally.attempts += u64::from(row.row.attempts);
            match row.row.state {
                State::Succeeded(SuccessBasis::Receipt) if made == 0 => tally.lost += 1,
                State::Succeeded(SuccessBasis::Receipt) => tally.confirmed_permille += 1,
                State::Uncertain(_) => tally.uncertain += 1,
                // Proved to have no effect: it must have none (I3).
                State::Failed(_) if made > 0 => tally.unexplained += 1,
                State::Failed(_) => {}
                // Contradictions are shown, but none is expected; and nothing may lie about unnoticed.
                _ => {
                    println!("left {} {} {}: {:?}", row.head.key, row.row.state, row.row.row, row.row.claim_at);
                    tally.unexplained += 1;
                }
            }
        }
        tally.unexplained += usize::try_from(tally.effects - told).unwrap();
        tally.confirmed_permille = tally.confirmed_permille * 1_000 / rows.len().max(1);
        let found = self.scene.ledger.verify().await.unwrap();
        assert!(found.discrepancies.is_empty(), "{:#?}", found.discrepancies);
        for process in self.processes {
            process.kill();
        }
        self.scene.end().await;
        tally
    }
}

fn is_settled(row: &Projection) -> bool {
    match row.state {
        State::Succeeded(_) => true,
        State::Failed(failure) => failure != Failure::Budget,
        _ => false,
    }
}

/// The tool that only others carry out.
const OUTSIDE: &str = "outside";

/// One whose key protects, one whose key keeps successes only, one whose approvals run out soon.
fn tools() -> [(&'static str, serde_json::Value); 3] {
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
    ]
}

fn assert_sound(tally: &Tally) {
    tally.print();
    assert_eq!((tally.duplicates, tally.lost, tally.unexplained), (0, 0, 0), "{tally:?}");
    // Doing nothing must not pass.
    assert!(tally.confirmed_permille >= 950, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_operations_and_a_hundred_deaths_leave_one_effect_each() {
    let run = Run {
        operations: 500,
        processes: 3,
        dies_one_in: 40,
        kills: 100,
        seed: 1,
        on_postgres: true,
        without: None,
        settles_within: Duration::from_mins(3),
    };
    let tally = Chaos::start(run).await.go().await;
    assert_sound(&tally);
    assert!(tally.kills() >= 100, "{tally:?}");
}

/// `cargo xtask chaos` runs this one, as large as it is told.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "as large as the environment says; cargo xtask chaos runs it"]
async fn as_large_as_told() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let operations = usize::try_from(number("CHAOS_OPERATIONS", 2_000)).unwrap();
    let run = Run {
        operations,
        processes: 3,
        dies_one_in: number("CHAOS_DIES_ONE_IN", 200),
        kills: operations / 50,
        seed: number("CHAOS_SEED", 1),
        on_postgres: number("CHAOS_POSTGRES", 1) == 1,
        without: std::env::var("CHAOS_WITHOUT").ok().map(|rule| &*rule.leak()),
        settles_within: Duration::from_mins(number("CHAOS_MINUTES", 10)),
    };
    assert_sound(&Chaos::start(run).await.go().await);
}

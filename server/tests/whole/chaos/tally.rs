//! What came of a run, counted at the destination and compared with the record.

use std::collections::BTreeMap;

use tallystick_domain::action::Action;
use tallystick_domain::decision::Verdict;
use tallystick_domain::name::SourceName;
use tallystick_domain::operation::{Fact, Record, State, SuccessBasis};
use tallystick_domain::outcome::{Surroundings, fold};
use tallystick_domain::permission::Role;
use tallystick_domain::transition::{Command, decide};
use tallystick_ledger::failpoint::POINTS;
use tallystick_ledger::operations::Examined;

use super::Chaos;
use crate::scene::actor;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) operations: usize,
    attempts: u64,
    effects: u32,
    pub(super) duplicates: usize,
    pub(super) lost: usize,
    pub(super) unexplained: usize,
    uncertain: usize,
    /// Uncertain although a repeat under the same key would tell.
    pub(super) uncertain_without_need: usize,
    pub(super) confirmed_permille: usize,
    hits: BTreeMap<String, usize>,
    /// What befell the run, and how often.
    pub(super) happened: BTreeMap<&'static str, usize>,
}

impl Tally {
    pub(super) fn print(&self) {
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
        for (what, count) in &self.happened {
            println!("{} {count}", what.replace(' ', "_"));
        }
    }

    pub(super) fn kills(&self) -> usize {
        self.hits.values().sum()
    }
}

impl Chaos {
    pub(super) async fn count(mut self) -> Tally {
        self.stop_outside().await;
        let deaths = usize::try_from(self.deaths_outside).unwrap();
        self.note("deaths outside", deaths);
        let report = self.scene.destination.report();
        assert!(report.violations.is_empty(), "{:?}", report.violations);
        let mut tally = Tally { hits: self.hits.clone(), ..Tally::default() };
        tally.effects = report.made.values().sum();
        tally.duplicates = report.made.values().filter(|count| **count > 1).count();
        for (intent, count) in report.made.iter().filter(|(_, count)| **count > 1) {
            println!("duplicate {intent} {count}");
        }
        let mut told: u32 = self.found_done.iter().filter_map(|key| report.made.get(key)).sum();
        let ids = self.scene.ids.clone();
        tally.operations = ids.len();
        let around = self.surroundings().await;
        for id in &ids {
            let examined = self.examined(id).await;
            let record = &examined.record;
            let row = record.row.as_ref().expect("it has a row");
            let made = report.made.get(record.head.key.as_str()).copied().unwrap_or(0);
            told += made;
            tally.attempts += u64::from(row.attempts);
            match row.state {
                State::Succeeded(SuccessBasis::Receipt) if made == 0 => tally.lost += 1,
                State::Succeeded(SuccessBasis::Receipt) => tally.confirmed_permille += 1,
                State::Uncertain(_) => {
                    tally.uncertain += 1;
                    println!("uncertain {} {} {}", record.head.key, row.state, row.row);
                    let repeat = examined.ruling.on(Action::RerunSameKey);
                    let may_repeat = repeat.is_some_and(|repeat| repeat.verdict <= Verdict::Confirm);
                    tally.uncertain_without_need += usize::from(row.claim_at.is_some() || may_repeat);
                }
                // Proved to have no effect: it must have none (I3).
                State::Failed(_) if made > 0 => tally.unexplained += 1,
                State::Failed(_) => {}
                // Contradictions are shown, but none is expected; and nothing may lie about unnoticed.
                _ => {
                    println!("left {} {} {}: {:?}", record.head.key, row.state, row.row, row.claim_at);
                    tally.unexplained += 1;
                }
            }
            assert_same_whatever_the_order(&examined, &around);
        }
        tally.unexplained += usize::try_from(tally.effects - told).unwrap();
        tally.confirmed_permille = tally.confirmed_permille * 1_000 / ids.len().max(1);
        tally.happened = self.happened.clone();
        let found = self.scene.ledger.verify().await.unwrap();
        assert!(found.discrepancies.is_empty(), "{:#?}", found.discrepancies);
        self.kill_processes();
        self.scene.end().await;
        tally
    }

    /// What the record knows beside single operations, but for their tools.
    async fn surroundings(&self) -> Surroundings {
        let ada = actor("ada", Role::Administrator);
        let ledger = &self.scene.ledger;
        let tool = ledger.tools(&ada).await.unwrap().remove(0);
        let trusts =
            ledger.sources(&ada).await.unwrap().into_iter().map(|source| (source.name, source.trust)).collect();
        let scope = ledger.destinations(&ada).await.unwrap().remove(0).scope;
        Surroundings {
            trusts,
            own_executors: [SourceName::own_executor()].into(),
            scope: Some(scope),
            ..Surroundings::of_tool(tool)
        }
    }
}

/// What was reported and what was found, twice each and the last first, come to the same row as they came in (I27).
fn assert_same_whatever_the_order(examined: &Examined, around: &Surroundings) {
    let around = Surroundings { tool: examined.tool.clone(), ..around.clone() };
    let record = &examined.record;
    let (told, acts): (Vec<Fact>, Vec<Fact>) =
        record.facts.iter().cloned().partition(|fact| matches!(fact, Fact::Report(_) | Fact::Evidence(_)));
    let before = Record { facts: acts.into(), ..record.clone() };
    let twice: Vec<Fact> = told.iter().rev().chain(&told).cloned().collect();
    let again = decide(&before, &around, &Command::Record(twice), examined.now).unwrap();
    let as_it_came = decide(record, &around, &Command::Refold, examined.now).unwrap();
    assert_eq!(fold(record, &around, examined.now).state, examined.outcome.state, "{}", record.head.key);
    assert_eq!(again.facts.len(), told.len(), "{}: what is told again is nothing new", record.head.key);
    assert_eq!(again.row, as_it_came.row, "{}", record.head.key);
}

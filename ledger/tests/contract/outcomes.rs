//! Sums: what the outcomes page shows is what the operations are, however it was counted.

use std::collections::BTreeMap;

use tallystick_domain::operation::{Mark, State};
use tallystick_domain::query::{OperationQuery, UNTOLD};
use tallystick_domain::sums::{Repeat, Sum, span_start};
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Class;
use tallystick_ledger::operations::Listed;
use tallystick_ledger::outcomes::{Outcomes, Round, Standing};
use tallystick_ledger::{Ledger, LedgerError};

use crate::rig::{Engine, Rig, at, automation, proposal, viewer};

on_both! {
    the_sums_are_those_of_the_operations,
    what_changes_is_moved_and_not_added,
    a_change_that_is_seen_again_counts_once,
    two_who_count_at_once_count_once,
    a_round_that_fails_in_its_middle_moves_nothing,
    a_feed_that_was_cut_is_made_good_by_reading_everything_again,
    the_list_shows_exactly_what_a_sum_counts,
    attempts_beyond_what_a_row_shows_are_counted_too,
    a_repeat_counts_when_it_came,
    sums_tell_how_far_they_have_come,
}

const SINCE: &str = "2026-10-01T00:00:00Z";
const UNTIL: &str = "2026-11-01T00:00:00Z";

/// Operations of several tools over two days: one in two timed out, one in three tried twice, by one layer or another.
fn lines(numbers: std::ops::Range<u32>) -> String {
    let mut lines = Vec::new();
    for number in numbers {
        let (day, hour, minute) = (5 + number / 90, number / 4 % 24, number * 7 % 60);
        let mut end = |n: u32, second: u32, outcome: &str| {
            let layer =
                if number % 5 == 0 { "" } else { [r#","owner":"sdk""#, r#","owner":"workflow""#][n as usize % 2] };
            let dest = if number % 7 == 0 { String::new() } else { format!(r#","dest":"d{}""#, number % 2) };
            lines.push(format!(
                r#"{{"ts":"2026-10-{day:02}T{hour:02}:{minute:02}:{second:02}Z","ev":"attempt.ended","op":"op{number}","key":"k:{number:05}","tool":"t{}","n":{n}{layer}{dest},"outcome":{outcome}}}"#,
                number % 3,
            ));
        };
        let last = if number % 3 == 0 {
            end(1, 1, r#""throttled","http":429"#);
            2
        } else {
            1
        };
        if number % 2 == 0 {
            end(last, 20, r#""timeout""#);
        } else {
            end(last, 20 + number % 30, &format!(r#""ok","receipt":"r-{number}""#));
        }
    }
    lines.join("\n")
}

/// Counts until everything is counted. On PostgreSQL a change can be read only when no older transaction of the server runs,
/// another test's among them.
async fn count(ledger: &Ledger) {
    loop {
        ledger.count_all_outcomes(25).await.unwrap();
        let sums = ledger.outcomes(&viewer(), at(SINCE), at(UNTIL)).await.unwrap();
        if sums.standing_changes() == Some(0) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

async fn outcomes(rig: &Rig) -> Outcomes {
    rig.ledger.outcomes(&viewer(), at(SINCE), at(UNTIL)).await.unwrap()
}

/// Every operation, a filter's pages put together.
async fn all(rig: &Rig, query: OperationQuery) -> Vec<Listed> {
    let mut query = OperationQuery { limit: Some(40), ..query };
    let mut rows = Vec::new();
    loop {
        let page = rig.ledger.operations(&viewer(), &query).await.unwrap();
        rows.extend(page.rows);
        match page.next {
            Some(next) => query.after = Some(next),
            None => return rows,
        }
    }
}

fn share(listed: &Listed) -> Sum {
    Sum {
        operations: 1,
        attempts: listed.row.attempts.into(),
        uncertain: i64::from(matches!(listed.row.state, State::Uncertain(_))),
        effects: listed.row.effects.into(),
        surplus: listed.row.effects.saturating_sub(1).into(),
    }
}

fn by<K: Ord>(rows: &[Listed], key: impl Fn(&Listed) -> K) -> Vec<(K, Sum)> {
    let mut sums: BTreeMap<K, Sum> = BTreeMap::new();
    for listed in rows.iter().filter(|listed| listed.row.first_dispatched_at.is_some()) {
        let sum = sums.entry(key(listed)).or_default();
        *sum = sum.plus(share(listed));
    }
    sums.into_iter().collect()
}

/// Compares every sum with what the rows of the record come to.
async fn assert_counted(rig: &Rig) -> Outcomes {
    let (rows, sums) = (all(rig, OperationQuery::default()).await, outcomes(rig).await);
    assert_eq!(sums.standing_changes(), Some(0));
    let quarter = |listed: &Listed| span_start(listed.row.first_dispatched_at.unwrap(), 900);
    assert_eq!(sums.quarters.iter().filter(|(_, sum)| !sum.is_zero()).copied().collect::<Vec<_>>(), by(&rows, quarter));
    let text = |name: Option<String>| name.unwrap_or_default();
    assert_eq!(sums.by_tool, by(&rows, |one| text(one.head.tool.as_ref().map(ToString::to_string))));
    assert_eq!(sums.by_destination, by(&rows, |one| text(one.head.destination.as_ref().map(ToString::to_string))));
    assert_eq!(sums.by_state, by(&rows, |one| one.row.state.word().to_owned()));
    let (mut layers, mut marks) = (BTreeMap::<String, i64>::new(), BTreeMap::<Mark, i64>::new());
    for notch in rows.iter().flat_map(|one| &one.row.tally) {
        *layers.entry(text(notch.layer.clone())).or_default() += 1;
        *marks.entry(notch.mark).or_default() += 1;
    }
    let attempts = |sums: &[(String, Sum)]| -> BTreeMap<String, i64> {
        sums.iter().map(|(name, sum)| (name.clone(), sum.attempts)).collect()
    };
    assert_eq!(attempts(&sums.by_layer), layers);
    assert_eq!(sums.by_mark.iter().map(|(mark, sum)| (*mark, sum.attempts)).collect::<BTreeMap<_, _>>(), marks);
    let resolved = rows.iter().filter(|one| matches!(one.row.state, State::Succeeded(_) | State::Failed(_))).count();
    assert_eq!(sums.times.values().map(|times| usize::try_from(times.count()).unwrap()).sum::<usize>(), resolved);
    sums
}

trait Changes {
    fn standing_changes(&self) -> Option<u32>;
}

impl Changes for Outcomes {
    fn standing_changes(&self) -> Option<u32> {
        match self.standing {
            Standing::NotBegun | Standing::Filling => None,
            Standing::Behind { changes, .. } => Some(changes),
        }
    }
}

fn total(outcomes: &Outcomes) -> Sum {
    outcomes.quarters.iter().fold(Sum::default(), |all, (_, sum)| all.plus(*sum))
}

async fn the_sums_are_those_of_the_operations(rig: Rig) {
    // What was there before anybody counted is read from the beginning, what comes after by its change.
    rig.import(&lines(0..70)).await;
    count(&rig.ledger).await;
    assert_counted(&rig).await;
    rig.import(&lines(70..120)).await;
    count(&rig.ledger).await;
    let sums = assert_counted(&rig).await;
    assert_eq!((total(&sums).operations, total(&sums).attempts), (120, 160), "I26: two figures, never one");
    assert_eq!(sums.by_tool.len(), 3);
    assert!(sums.by_layer.iter().any(|(layer, _)| layer.is_empty()), "what is not told has a row of its own");
    let alone = rig.ledger.destination_sums(&viewer(), at(SINCE), at(UNTIL)).await.unwrap();
    assert_eq!((alone.by_destination, alone.standing), (sums.by_destination.clone(), sums.standing));
    // A window that cuts through days and hours is the sum of its quarters.
    let (since, until) = (at("2026-10-05T05:45:00Z"), at("2026-10-06T02:15:00Z"));
    let part = rig.ledger.outcomes(&viewer(), since, until).await.unwrap();
    let by_tool = part.by_tool.iter().fold(Sum::default(), |all, (_, sum)| all.plus(*sum));
    assert_eq!(by_tool, total(&part));
    assert!(total(&part).operations > 0 && total(&part).operations < 120);
}

async fn what_changes_is_moved_and_not_added(rig: Rig) {
    rig.import(&lines(0..12)).await;
    count(&rig.ledger).await;
    let before = assert_counted(&rig).await;
    // Found out later: uncertain becomes succeeded. And an earlier attempt is told late: the operation moves to its quarter.
    rig.import(concat!(
        r#"{"ts":"2026-10-05T22:00:00Z","ev":"attempt.ended","op":"op2","key":"k:00002","tool":"t2","n":2,"owner":"agent","outcome":"ok","receipt":"r-2"}"#,
        "\n",
        r#"{"ts":"2026-10-04T03:00:00Z","ev":"attempt.ended","op":"op1","key":"k:00001","tool":"t1","n":9,"outcome":"throttled","http":429}"#,
    ))
    .await;
    count(&rig.ledger).await;
    let after = assert_counted(&rig).await;
    assert_eq!(after.quarters[0].0, at("2026-10-04T03:00:00Z"));
    assert_eq!(total(&after).operations, total(&before).operations);
    assert_eq!(total(&after).attempts, total(&before).attempts + 2);
}

async fn a_change_that_is_seen_again_counts_once(rig: Rig) {
    rig.import(&lines(0..30)).await;
    count(&rig.ledger).await;
    let before = assert_counted(&rig).await;
    rig.sql("UPDATE outcome_progress SET sequence = 0, read_to = ''").await;
    count(&rig.ledger).await;
    assert_eq!(assert_counted(&rig).await.by_tool, before.by_tool);
    assert_eq!(rig.ledger.count_outcomes(25).await.unwrap(), Round::Idle, "nothing is written where nothing changed");
}

async fn two_who_count_at_once_count_once(rig: Rig) {
    rig.import(&lines(0..150)).await;
    let others = [rig.another().await, rig.another().await];
    tokio::join!(count(&rig.ledger), count(&others[0]), count(&others[1]));
    rig.import(&lines(150..200)).await;
    tokio::join!(count(&rig.ledger), count(&others[0]), count(&others[1]));
    let sums = assert_counted(&rig).await;
    assert_eq!(total(&sums).operations, 200);
}

/// Makes the record refuse to write a table, as a full disk or a lost connection would in the middle of a round.
async fn refuse(rig: &Rig, table: &str) {
    let sql = match rig.engine {
        Engine::Sqlite => {
            format!("CREATE TRIGGER refuse BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'refused'); END")
        }
        Engine::Postgres => format!(
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$
                LANGUAGE plpgsql;
             CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()"
        ),
    };
    rig.sql(&sql).await;
}

async fn allow(rig: &Rig, table: &str) {
    let of = if rig.engine == Engine::Postgres { format!(" ON {table}") } else { String::new() };
    rig.sql(&format!("DROP TRIGGER refuse{of}")).await;
}

async fn a_round_that_fails_in_its_middle_moves_nothing(rig: Rig) {
    rig.import(&lines(0..20)).await;
    count(&rig.ledger).await;
    let mut next = 20;
    for table in ["outcome_sum", "outcome_time", "outcome_operation", "outcome_attempt"] {
        let before = outcomes(&rig).await;
        rig.import(&lines(next..next + 20)).await;
        next += 20;
        refuse(&rig, table).await;
        let mut failed = rig.ledger.count_outcomes(500).await;
        while matches!(failed, Ok(Round::Idle)) {
            failed = rig.ledger.count_outcomes(500).await;
        }
        assert!(
            matches!(failed, Err(LedgerError::StoreUnavailable { .. } | LedgerError::Corrupt { .. })),
            "{failed:?}"
        );
        let after = outcomes(&rig).await;
        assert_eq!((&after.quarters, &after.by_tool, &after.times), (&before.quarters, &before.by_tool, &before.times));
        assert!(after.standing_changes() > Some(0), "and it says that it is behind");
        allow(&rig, table).await;
        // Another process goes on where this one failed.
        count(&rig.another().await).await;
        assert_counted(&rig).await;
    }
}

async fn a_feed_that_was_cut_is_made_good_by_reading_everything_again(rig: Rig) {
    rig.import(&lines(0..40)).await;
    count(&rig.ledger).await;
    rig.import(&lines(40..60)).await;
    rig.sql("DELETE FROM outbox").await;
    rig.sql("INSERT INTO setting (workspace_id, name, value, version) VALUES ('main', 'feed_cut_to', '9000000000000000', 1)")
        .await;
    rig.ledger.count_outcomes(10).await.unwrap();
    assert_eq!(outcomes(&rig).await.standing, Standing::Filling);
    rig.sql("DELETE FROM setting WHERE name = 'feed_cut_to'").await;
    count(&rig.ledger).await;
    assert_eq!(total(&assert_counted(&rig).await).operations, 60);
}

async fn the_list_shows_exactly_what_a_sum_counts(rig: Rig) {
    rig.import(&lines(0..100)).await;
    count(&rig.ledger).await;
    let sums = outcomes(&rig).await;
    let window = || OperationQuery { since: Some(at(SINCE)), until: Some(at(UNTIL)), ..OperationQuery::default() };
    let named = |name: &str| Some(if name.is_empty() { UNTOLD.to_owned() } else { name.to_owned() });
    let mut lists: Vec<(OperationQuery, Sum)> = vec![(window(), total(&sums))];
    lists.extend(sums.by_tool.iter().map(|(name, sum)| (OperationQuery { tool: named(name), ..window() }, *sum)));
    lists.extend(
        sums.by_destination.iter().map(|(name, sum)| (OperationQuery { destination: named(name), ..window() }, *sum)),
    );
    lists.extend(sums.by_state.iter().map(|(name, sum)| (OperationQuery { state: named(name), ..window() }, *sum)));
    lists.extend(sums.by_layer.iter().map(|(name, sum)| (OperationQuery { layer: named(name), ..window() }, *sum)));
    lists.extend(sums.by_mark.iter().map(|(mark, sum)| (OperationQuery { mark: Some(*mark), ..window() }, *sum)));
    lists.extend(sums.quarters.iter().map(|(start, sum)| {
        let until = Some(Timestamp::from_micros(start.as_micros() + 900_000_000));
        (OperationQuery { since: Some(*start), until, ..window() }, *sum)
    }));
    assert!(lists.len() > 40, "{}", lists.len());
    for (query, sum) in lists {
        let rows = all(&rig, query.clone()).await;
        assert_eq!(i64::try_from(rows.len()).unwrap(), sum.operations, "{query:?}");
        let firsts: Vec<_> = rows.iter().map(|row| row.row.first_dispatched_at.unwrap()).collect();
        assert!(firsts.is_sorted_by(|one, next| one >= next), "the last first attempt first");
    }
    // Together with a search the same holds.
    let searched = OperationQuery { search: Some("k:".into()), mark: Some(Mark::Unknown), ..window() };
    let both = OperationQuery { layer: Some("sdk".into()), mark: Some(Mark::Unknown), ..window() };
    assert_eq!(all(&rig, searched).await.len(), 50);
    assert!(!all(&rig, both).await.is_empty());
}

async fn attempts_beyond_what_a_row_shows_are_counted_too(rig: Rig) {
    let storm: Vec<String> = (1..=75)
        .map(|n| {
            let owner = if n <= 10 { "first" } else { "second" };
            format!(
                r#"{{"ts":"2026-10-05T09:{:02}:{:02}Z","ev":"attempt.ended","op":"storm","key":"storm","tool":"t","n":{n},"owner":"{owner}","outcome":"throttled","http":429}}"#,
                n / 60,
                n % 60
            )
        })
        .collect();
    rig.import(&storm.join("\n")).await;
    count(&rig.ledger).await;
    let sums = outcomes(&rig).await;
    let layers: Vec<_> =
        sums.by_layer.iter().map(|(name, sum)| (name.as_str(), sum.operations, sum.attempts)).collect();
    assert_eq!(layers, [("first", 1, 10), ("second", 1, 65)]);
    assert_eq!(sums.by_mark, [(Mark::Refused, Sum { operations: 1, attempts: 75, ..Sum::default() })]);
}

async fn a_repeat_counts_when_it_came(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    for (time, replayed) in [("09:00", false), ("09:05", true), ("11:00", true)] {
        rig.ledger.set_clock(at(&format!("2026-10-05T{time}:00Z"))).await.unwrap();
        let answer = rig.ledger.propose_operation(&automation(), proposal("k", "pay", r#"{"a":1}"#)).await.unwrap();
        assert_eq!(answer.replayed, replayed);
        // Other arguments are a question for a person, and nothing that was answered.
        rig.ledger.propose_operation(&automation(), proposal("k", "pay", r#"{"a":2}"#)).await.unwrap_err();
    }
    count(&rig.ledger).await;
    let sums = outcomes(&rig).await;
    assert_eq!(sums.repeats, [(Repeat::Proposal, 2)].into());
    assert_eq!(total(&sums), Sum::default(), "nothing was sent, so no operation counts");
    let morning = rig.ledger.outcomes(&viewer(), at("2026-10-05T09:00:00Z"), at("2026-10-05T10:00:00Z")).await.unwrap();
    assert_eq!(morning.repeats, [(Repeat::Proposal, 1)].into());
    assert_eq!(rig.count("outcome_repeat").await, 0, "what was counted is taken away");
}

async fn sums_tell_how_far_they_have_come(rig: Rig) {
    assert_eq!(outcomes(&rig).await.standing, Standing::NotBegun);
    rig.import(&lines(0..30)).await;
    assert_eq!(rig.ledger.count_outcomes(10).await.unwrap(), Round::Moved);
    assert_eq!(outcomes(&rig).await.standing, Standing::Filling);
    count(&rig.ledger).await;
    assert_eq!(outcomes(&rig).await.standing_changes(), Some(0));
    rig.import(&lines(30..33)).await;
    assert_eq!(outcomes(&rig).await.standing_changes(), Some(3));
}

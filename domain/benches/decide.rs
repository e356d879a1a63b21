//! How long `decide` takes on a record with many attempts and as much evidence, and whether that grows linearly.
//! `cargo xtask bench decide`.

#![expect(clippy::disallowed_methods, reason = "a bench measures with the machine's own clock")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tallystick_domain::attempt::{AttemptRef, End, Report, ReportKind, ReportedOutcome};
use tallystick_domain::evidence::{Claim, Evidence, LinkedBy, Trust};
use tallystick_domain::name::{
    DestinationKey, IntentId, NameError, OperationId, OperationKey, SourceName, SourceOperation, ToolName,
};
use tallystick_domain::operation::{Fact, Head, Mode, Record};
use tallystick_domain::outcome::Surroundings;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::{Class, Tool};
use tallystick_domain::transition::{Command, decide};

const ROUNDS: usize = 200;

fn main() -> Result<(), NameError> {
    println!("{:<44} {:>11} {:>11} {:>13}", "decide: attempts and as many evidence", "p50", "p99", "per attempt");
    for size in [10, 100, 1_000, 10_000] {
        let (record, around) = record(size)?;
        let fresh = attempt_fact(&record, size + 1, true)?;
        let command = Command::Record(vec![fresh]);
        let now = at(i64::try_from(size).unwrap_or(0) + 100);
        let mut times: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                let decided = decide(&record, &around, &command, now);
                let took = start.elapsed();
                assert!(decided.is_ok());
                took
            })
            .collect();
        times.sort();
        let (p50, p99) = (times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
        println!("{size:<44} {p50:>11.1?} {p99:>11.1?} {:>13.2?}", p50 / u32::try_from(size).unwrap_or(1));
    }
    Ok(())
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros((1_790_000_000 + second) * 1_000_000)
}

fn attempt_fact(record: &Record, number: usize, ends: bool) -> Result<Fact, NameError> {
    let second = i64::try_from(number).unwrap_or(0);
    let mut end = End::new(ReportedOutcome::Timeout);
    end.http = None;
    let kind = if ends { ReportKind::Ended(end) } else { ReportKind::Started { args_hash: None, deadline: None } };
    Ok(Fact::Report(Report {
        attempt: AttemptRef::new(SourceOperation::from(record.head.id.clone()), None, u32::try_from(number).ok()),
        at: at(second),
        provider_time: None,
        source: SourceName::parse("bench")?,
        number: u32::try_from(number).ok(),
        owner: None,
        worker: Some(format!("worker-{number}").into()),
        dest_key: Some(DestinationKey::parse("invoice:order-1:issue")?),
        budget: None,
        kind,
    }))
}

fn record(size: usize) -> Result<(Record, Surroundings), NameError> {
    let id = OperationId::parse("op-1")?;
    let tool =
        Tool { class: Class::Reversible, declared: true, ..Tool::undeclared(ToolName::parse("invoice.create")?) };
    let mut record = Record::new(Head {
        intent_id: IntentId::from(id.clone()),
        id,
        mode: Mode::Observed,
        key: OperationKey::parse("invoice:order-1:issue")?,
        key_given: true,
        tool: Some(tool.name.clone()),
        destination: None,
        adopts: None,
        retries_of: None,
        supersedes: None,
        compensates: None,
        workflow: None,
        step: None,
        recorded_at: at(0),
    });
    for number in 1..=size {
        let report = attempt_fact(&record, number, true)?;
        record.facts.push(report);
        let second = i64::try_from(number).unwrap_or(0);
        record.facts.push(Fact::Evidence(Evidence {
            id: format!("look-up {number}"),
            source: SourceName::parse("bench")?,
            claim: Claim::Absent,
            object: None,
            linked_by: LinkedBy::Key,
            key: None,
            at: at(second),
            provider_time: None,
            sent_at: Some(at(second)),
        }));
    }
    let trusts = BTreeMap::from([(SourceName::parse("bench")?, Trust::Verified)]);
    Ok((record, Surroundings { trusts, ..Surroundings::of_tool(tool) }))
}

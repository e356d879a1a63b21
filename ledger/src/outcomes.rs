//! Sums over operations: moved after every change, beside the record and never in its way, and read by the outcomes page.
//!
//! A round reads which operations changed since the last one (the change feed, or the record from its beginning), what was
//! counted of each before, and what counts now. Then one short transaction takes the next version of the progress and adds
//! the differences; whoever finds another version there counted from what is no longer so, and adds nothing. So a process
//! may die anywhere, and several may count at once:
//!
//! | it dies | what is there | what happens |
//! |---|---|---|
//! | before the transaction, or in it | sums, rows and progress of the round before | the round is counted again, from the same place |
//! | after it | all of the round | the next round begins after it |
//!
//! A change that is seen twice finds its operation counted as it is, and differs by nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tallystick_domain::name::LayerName;
use tallystick_domain::operation::Mark;
use tallystick_domain::outcome;
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::sums::{Counted, Dimension, Repeat, SPANS_S, Sum, Times, span_start};
use tallystick_domain::time::Timestamp;
use tallystick_domain::transition::mark;

use crate::changes::CatchUp;
use crate::desk::Desk;
use crate::operations::Listed;
use crate::people::system_actor;
use crate::store::Tx;
use crate::store::outcome::{Move, Progress};
use crate::{Ledger, LedgerError};

/// How many changes are counted as "not counted yet"; one more stands for more.
const BEHIND_LIMIT: u32 = 1_000;
/// As many notches as a row keeps at the most: what is told of more attempts is not all of them.
const WHOLE_TALLY: usize = 60;

/// What a round of counting came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// There was nothing to count.
    Idle,
    /// The sums were moved, and there may be more.
    Moved,
    /// Somebody else moved them meanwhile.
    Overtaken,
}

/// The sums of a window, as they stand.
#[derive(Debug, Clone)]
pub struct Outcomes {
    /// Every quarter of an hour in which something counts.
    pub quarters: Vec<(Timestamp, Sum)>,
    /// By tool; an empty name where none is told.
    pub by_tool: Vec<(String, Sum)>,
    /// By destination; an empty name where none is told.
    pub by_destination: Vec<(String, Sum)>,
    /// By the word of the state.
    pub by_state: Vec<(String, Sum)>,
    /// Attempts by layer; an empty name where none is told.
    pub by_layer: Vec<(String, Sum)>,
    /// Attempts by what is known of them.
    pub by_mark: Vec<(Mark, Sum)>,
    /// What came again in the window, by when it came.
    pub repeats: BTreeMap<Repeat, u64>,
    /// How long it took until the outcome was known, by tool.
    pub times: BTreeMap<String, Times>,
    /// How far the sums have come.
    pub standing: Standing,
    /// The record's clock when they were read.
    pub now: Timestamp,
    /// The newest change when they were read.
    pub sequence: i64,
}

/// The sums of a window by destination, as they stand.
#[derive(Debug, Clone)]
pub struct DestinationSums {
    /// By destination; an empty name where none is told.
    pub by_destination: Vec<(String, Sum)>,
    /// How far the sums have come.
    pub standing: Standing,
    /// The record's clock when they were read.
    pub now: Timestamp,
}

/// How far the sums have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has begun to count.
    NotBegun,
    /// The record is read from its beginning: what was recorded before is counted in part.
    Filling,
    /// Everything is counted but this many changes; exact up to 1000, which stands for more.
    Behind {
        /// How many.
        changes: u32,
        /// When the sums last moved.
        moved_at: Timestamp,
    },
}

impl Ledger {
    /// Counts what changed, at most `limit` operations. Repeating it is harmless, whoever does it.
    pub async fn count_outcomes(&self, limit: u32) -> Result<Round, LedgerError> {
        let step = match self.store().read(move |tx| Box::pin(look(tx, limit))).await? {
            Step::Begin(sequence) => {
                self.store().write(move |tx| Box::pin(tx.outcome_begin(sequence))).await?;
                return Ok(Round::Moved);
            }
            Step::Idle => return Ok(Round::Idle),
            Step::Move(step) => Arc::new(*step),
        };
        let moved = self.store().write(move |tx| {
            let step = Arc::clone(&step);
            Box::pin(async move {
                let moved = tx.outcome_move(&step).await?;
                if moved && step.read_to.is_none() {
                    tx.tell("outcomes", "sums", step.seen + 1);
                }
                Ok(moved)
            })
        });
        if moved.await? {
            self.note_change();
            Ok(Round::Moved)
        } else {
            Ok(Round::Overtaken)
        }
    }

    /// Counts until nothing is left to be counted.
    pub async fn count_all_outcomes(&self, limit: u32) -> Result<(), LedgerError> {
        while self.count_outcomes(limit).await? != Round::Idle {}
        Ok(())
    }

    /// The sums of a window whose ends are ends of quarters of an hour.
    pub async fn outcomes(&self, by: &Actor, since: Timestamp, until: Timestamp) -> Result<Outcomes, LedgerError> {
        self.permit(by, Permission::Read, "outcomes").await?;
        self.store().read(move |tx| Box::pin(read(tx, since, until))).await
    }

    /// The sums of such a window by destination alone.
    pub async fn destination_sums(
        &self,
        by: &Actor,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<DestinationSums, LedgerError> {
        self.permit(by, Permission::Read, "outcomes").await?;
        self.store()
            .read(move |tx| {
                Box::pin(async move {
                    Ok(DestinationSums {
                        now: tx.now().await?,
                        standing: standing(tx).await?,
                        by_destination: tx.outcome_by(Dimension::Destination, since, until).await?,
                    })
                })
            })
            .await
    }
}

enum Step {
    Begin(i64),
    Idle,
    Move(Box<Move>),
}

/// What there is to count. The progress is read first: what is read after it may be newer, and is then seen again.
async fn look(tx: &mut Tx, limit: u32) -> Result<Step, LedgerError> {
    let Some(progress) = tx.outcome_progress().await? else { return Ok(Step::Begin(tx.newest_sequence().await?)) };
    let mut step = Move {
        seen: progress.version,
        sequence: progress.sequence,
        read_to: progress.read_to.clone(),
        ..Move::default()
    };
    step.count_repeats(tx.repeats(limit).await?);
    let ids = changed(tx, limit, &mut step).await?;
    let is_where_it_was = step.sequence == progress.sequence && step.read_to == progress.read_to;
    if is_where_it_was && ids.is_empty() && step.repeats.is_empty() {
        return Ok(Step::Idle);
    }
    let texts: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut before = tx.outcome_counted(&texts).await?;
    for (listed, _) in tx.operation_rows(&texts).await? {
        let before = before.remove(listed.head.id.as_str());
        if before.as_ref().is_some_and(|(version, _)| *version == listed.version) {
            continue;
        }
        let now = count(tx, &listed).await?;
        step.count(listed, before.as_ref().map(|(_, counted)| counted), now);
    }
    Ok(Step::Move(Box::new(step)))
}

/// Which operations are to be counted; the step is told how far the sums come with them.
async fn changed(tx: &mut Tx, limit: u32, step: &mut Move) -> Result<BTreeSet<String>, LedgerError> {
    let mut ids = BTreeSet::new();
    match tx.changes_after(step.sequence, limit).await? {
        // What was cut off is not known: everything is read again, and what is counted as it is differs by nothing.
        CatchUp::Resync { sequence } => {
            step.sequence = sequence;
            step.read_to = Some(String::new());
        }
        CatchUp::Changes(changes) => {
            let is_full = u32::try_from(changes.len()).unwrap_or(limit) >= limit;
            let last = changes.last().map_or(step.sequence, |change| change.sequence);
            ids.extend(changes.into_iter().filter(|change| change.topic == "operation").map(|change| change.id));
            // Changes of other topics, our own among them, are no reason to write; they are passed with the next that is.
            if is_full || !ids.is_empty() {
                step.sequence = last;
            }
        }
    }
    if let Some(after) = &step.read_to {
        let batch = tx.operation_ids_after(after, limit).await?;
        step.read_to = batch.last().cloned();
        ids.extend(batch);
    }
    Ok(ids)
}

/// What counts of an operation. Its row tells what is known of its attempts; where there are more than a row shows, or
/// those that it inherited stand among them, they are judged once more.
async fn count(tx: &mut Tx, listed: &Listed) -> Result<Option<Counted>, LedgerError> {
    let Listed { head, row, .. } = listed;
    if row.first_dispatched_at.is_none() {
        return Ok(None);
    }
    if row.tally.len() < WHOLE_TALLY && usize::try_from(row.attempts) == Ok(row.tally.len()) {
        return Ok(Counted::of(head, row, row.tally.iter().map(|notch| (notch.layer.as_deref(), notch.mark))));
    }
    let now = tx.now().await?;
    let actor = system_actor();
    let mut desk = Desk::open(tx, now, &actor).await?;
    desk.lay(std::slice::from_ref(&head.id)).await?;
    desk.lay_sharers(std::slice::from_ref(&head.id)).await?;
    let around = desk.around(&head.id).await?;
    let outcome = outcome::fold(&desk.sheet(&head.id)?.record, &around, now);
    let made = outcome.attempts.iter().map(|one| (one.owner.as_ref().map(LayerName::as_str), mark(one)));
    Ok(Counted::of(head, row, made))
}

impl Move {
    fn count(&mut self, listed: Listed, before: Option<&Counted>, now: Option<Counted>) {
        if before.is_none() && now.is_none() {
            return;
        }
        self.add(before, -1);
        self.add(now.as_ref(), 1);
        self.operations.push((listed.head.id, listed.version, now));
    }

    fn add(&mut self, counted: Option<&Counted>, sign: i64) {
        let Some(counted) = counted else { return };
        let shares = counted.shares();
        for span_s in SPANS_S {
            let start = span_start(counted.first_at, span_s);
            for (dimension, name, sum) in &shares {
                let to = self.sums.entry((*dimension, span_s, start, name.clone())).or_default();
                *to = to.plus(if sign < 0 { sum.negated() } else { *sum });
            }
            if let Some(took) = counted.resolved_in {
                *self.times.entry((span_s, start, counted.tool.clone(), took)).or_default() += sign;
            }
        }
    }

    fn count_repeats(&mut self, repeats: Vec<(String, Repeat, Timestamp)>) {
        for (id, kind, at) in repeats {
            for span_s in SPANS_S {
                let key = (Dimension::Repeat, span_s, span_start(at, span_s), kind.name().to_owned());
                self.sums.entry(key).or_default().operations += 1;
            }
            self.repeats.push(id);
        }
    }
}

async fn standing(tx: &mut Tx) -> Result<Standing, LedgerError> {
    Ok(match tx.outcome_progress().await? {
        None => Standing::NotBegun,
        Some(Progress { read_to: Some(_), .. }) => Standing::Filling,
        Some(progress) => Standing::Behind {
            changes: tx.outcome_behind(progress.sequence, BEHIND_LIMIT).await?,
            moved_at: progress.moved_at,
        },
    })
}

async fn read(tx: &mut Tx, since: Timestamp, until: Timestamp) -> Result<Outcomes, LedgerError> {
    let (sequence, now) = (tx.newest_sequence().await?, tx.now().await?);
    let standing = standing(tx).await?;
    let marks = tx.outcome_by(Dimension::Mark, since, until).await?;
    let repeats = tx.outcome_by(Dimension::Repeat, since, until).await?;
    Ok(Outcomes {
        quarters: tx.outcome_quarters(since, until).await?,
        by_tool: tx.outcome_by(Dimension::Tool, since, until).await?,
        by_destination: tx.outcome_by(Dimension::Destination, since, until).await?,
        by_state: tx.outcome_by(Dimension::State, since, until).await?,
        by_layer: tx.outcome_by(Dimension::Layer, since, until).await?,
        by_mark: marks.into_iter().filter_map(|(name, sum)| Some((Mark::parse(&name)?, sum))).collect(),
        repeats: repeats
            .into_iter()
            .filter_map(|(name, sum)| Some((Repeat::parse(&name)?, u64::try_from(sum.operations).ok()?)))
            .collect(),
        times: tx.outcome_times(since, until).await?,
        standing,
        now,
        sequence,
    })
}

//! The operation's row: from what the rules say to columns, and back. One list of columns serves reading, writing
//! and verifying, so that a column cannot be forgotten in one of them.

use serde::{Deserialize, Serialize};
use tallystick_domain::action::Action;
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::{
    DestinationName, IntentId, NameError, OperationId, OperationKey, PrincipalId, Receipt, ToolName,
};
use tallystick_domain::operation::{
    Attention, Chip, Finding, Head, Impact, KeyWindow, Mode, Notch, Projection, Reason, State,
};
use tallystick_domain::tool::Class;

use super::value::{Cells, Value, known, to_json};
use crate::LedgerError;
use crate::operations::Listed;

/// Every column that is written from head and projection, in the order of [`values`].
pub(crate) const COLUMNS: &[&str] = &[
    "op_id",
    "version",
    "head_hash",
    "mode",
    "intent_id",
    "operation_key",
    "key_given",
    "tool",
    "destination",
    "adopts",
    "retries_of",
    "supersedes",
    "compensates",
    "workflow",
    "recorded_at",
    "step",
    "state",
    "state_detail",
    "since",
    "attention_reason",
    "attention_rank",
    "next_change_at",
    "attempts",
    "attempts_allowed",
    "effects",
    "effects_likely",
    "receipt",
    "class",
    "decision_row",
    "recommended",
    "assignee",
    "first_dispatched_at",
    "last_fact_at",
    "identity_hash",
    "args_hash",
    "impact_amount",
    "impact_currency",
    "impact_people",
    "key_window",
    "key_from",
    "key_until",
    "summary",
    "claim_at",
    "look_up_at",
    "cause",
];

/// How many of [`COLUMNS`] are fixed by the head, the first two of them aside.
pub(crate) const HEAD_COLUMNS: usize = 16;

/// What of the projection has no column of its own.
#[derive(Serialize, Deserialize)]
struct Summary {
    tally: Vec<Notch>,
    chips: Vec<Chip>,
    findings: Vec<Finding>,
    impact: Option<Impact>,
}

/// The values of [`COLUMNS`].
pub(crate) fn values(head: &Head, version: u64, head_hash: Hash, row: &Projection) -> Result<Vec<Value>, LedgerError> {
    let mut values = head_values(head, version, head_hash)?;
    values.extend(projection_values(row)?);
    Ok(values)
}

fn head_values(head: &Head, version: u64, head_hash: Hash) -> Result<Vec<Value>, LedgerError> {
    Ok(vec![
        head.id.as_str().into(),
        version.into(),
        head_hash.into(),
        head.mode.name().into(),
        head.intent_id.as_str().into(),
        head.key.as_str().into(),
        head.key_given.into(),
        head.tool.as_ref().map(ToolName::as_str).into(),
        head.destination.as_ref().map(DestinationName::as_str).into(),
        head.adopts.as_ref().map(OperationId::as_str).into(),
        head.retries_of.as_ref().map(OperationId::as_str).into(),
        head.supersedes.as_ref().map(OperationId::as_str).into(),
        head.compensates.as_ref().map(OperationId::as_str).into(),
        head.workflow.as_deref().into(),
        head.recorded_at.into(),
        head.step.as_ref().map(to_json).transpose()?.into(),
    ])
}

/// The values of [`COLUMNS`] after the head's.
fn projection_values(row: &Projection) -> Result<Vec<Value>, LedgerError> {
    let impact = row.impact.as_ref();
    let (window, from, until) = match row.key_window {
        KeyWindow::NoKey => ("no_key", None, None),
        KeyWindow::Unknown => ("unknown", None, None),
        KeyWindow::Until { from, until } => ("until", Some(from), Some(until)),
    };
    let summary = to_json(&Summary {
        tally: row.tally.clone(),
        chips: row.chips.clone(),
        findings: row.findings.clone(),
        impact: row.impact.clone(),
    })?;
    Ok(vec![
        row.state.word().into(),
        row.state.detail().into(),
        row.since.into(),
        row.attention.map(|attention| attention.reason.name()).into(),
        row.attention.map(|attention| attention.rank).into(),
        row.next_change_at.into(),
        row.attempts.into(),
        row.attempts_allowed.into(),
        row.effects.into(),
        row.effects_likely.into(),
        row.receipt.as_ref().map(Receipt::as_str).into(),
        row.class.name().into(),
        row.row.as_str().into(),
        row.recommended.name().into(),
        row.assignee.as_ref().map(PrincipalId::as_str).into(),
        row.first_dispatched_at.into(),
        row.last_fact_at.into(),
        row.identity_hash.into(),
        row.args_hash.into(),
        impact.and_then(|impact| impact.amount_minor).into(),
        impact.and_then(|impact| impact.currency.as_deref()).into(),
        impact.and_then(|impact| impact.people).into(),
        window.into(),
        from.into(),
        until.into(),
        summary.into(),
        row.claim_at.into(),
        row.look_up_at.into(),
        row.cause.as_deref().into(),
    ])
}

/// Reads a row whose statement names [`COLUMNS`] first; also the hash of its newest journal entry.
pub(crate) fn read(cells: &mut Cells) -> Result<(Listed, Hash), LedgerError> {
    let id = cells.parsed(OperationId::parse)?;
    let version = cells.version()?;
    let head_hash = cells.hash()?;
    let head = read_head(cells, id)?;
    let row = read_projection(cells)?;
    Ok((Listed { head, version, row }, head_hash))
}

fn read_head(cells: &mut Cells, id: OperationId) -> Result<Head, LedgerError> {
    Ok(Head {
        id,
        mode: cells.parsed(known(Mode::parse))?,
        intent_id: cells.parsed(IntentId::parse)?,
        key: cells.parsed(OperationKey::parse)?,
        key_given: cells.bool()?,
        tool: cells.parsed_opt(ToolName::parse)?,
        destination: cells.parsed_opt(DestinationName::parse)?,
        adopts: cells.parsed_opt(OperationId::parse)?,
        retries_of: cells.parsed_opt(OperationId::parse)?,
        supersedes: cells.parsed_opt(OperationId::parse)?,
        compensates: cells.parsed_opt(OperationId::parse)?,
        workflow: cells.parsed_opt(Ok::<_, NameError>)?,
        recorded_at: cells.at()?,
        step: cells.json_opt()?,
    })
}

fn read_projection(cells: &mut Cells) -> Result<Projection, LedgerError> {
    let word = cells.text()?;
    let detail = cells.text_opt()?;
    let state = State::from_parts(&word, detail.as_deref()).ok_or_else(|| corrupt("state"))?;
    let since = cells.at()?;
    let reason = cells.parsed_opt(known(Reason::parse))?;
    let rank = cells.int_opt()?;
    let next_change_at = cells.at_opt()?;
    let (attempts, attempts_allowed) = (cells.count()?, cells.count_opt()?);
    let (effects, effects_likely) = (cells.count()?, cells.count()?);
    let receipt = cells.parsed_opt(Receipt::parse)?;
    let class = cells.parsed(known(Class::parse))?;
    let row = cells.text()?;
    let recommended = cells.parsed(known(Action::parse))?;
    let assignee = cells.parsed_opt(PrincipalId::parse)?;
    let (first_dispatched_at, last_fact_at) = (cells.at_opt()?, cells.at()?);
    let (identity_hash, args_hash) = (cells.hash_opt()?, cells.hash_opt()?);
    // Impact has columns for searching; the summary holds it exactly.
    let _ = (cells.int_opt()?, cells.text_opt()?, cells.int_opt()?);
    let key_window = read_window(cells)?;
    let Summary { tally, chips, findings, impact } = cells.json()?;
    let (claim_at, look_up_at) = (cells.at_opt()?, cells.at_opt()?);
    let cause = cells.text_opt()?;
    Ok(Projection {
        state,
        since,
        attention: reason.zip(rank).map(|(reason, rank)| Attention { reason, rank }),
        next_change_at,
        attempts,
        attempts_allowed,
        effects,
        effects_likely,
        receipt,
        class,
        tally,
        chips,
        key_window,
        impact,
        row,
        recommended,
        assignee,
        findings,
        first_dispatched_at,
        last_fact_at,
        identity_hash,
        args_hash,
        claim_at,
        look_up_at,
        cause,
    })
}

fn read_window(cells: &mut Cells) -> Result<KeyWindow, LedgerError> {
    let (window, from, until) = (cells.text()?, cells.at_opt()?, cells.at_opt()?);
    match (window.as_str(), from, until) {
        ("no_key", None, None) => Ok(KeyWindow::NoKey),
        ("unknown", None, None) => Ok(KeyWindow::Unknown),
        ("until", Some(from), Some(until)) => Ok(KeyWindow::Until { from, until }),
        _ => Err(corrupt("key_window")),
    }
}

fn corrupt(column: &str) -> LedgerError {
    LedgerError::Corrupt { what: format!("operation.{column} holds what no state has") }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use tallystick_domain::workflow::Place;

    use tallystick_domain::evidence::Strength;
    use tallystick_domain::operation::{Contradiction, Mark, Severity};
    use tallystick_domain::time::Timestamp;

    pub(in crate::store) fn row() -> Projection {
        let at = Timestamp::from_micros;
        Projection {
            state: State::Contradicted(Contradiction::Duplicate),
            since: at(5),
            attention: Some(Attention { reason: Reason::Contradicted, rank: -7 }),
            next_change_at: Some(at(9)),
            attempts: 2,
            attempts_allowed: Some(3),
            effects: 1,
            effects_likely: 1,
            receipt: Some(Receipt::parse("pi_A").unwrap()),
            class: Class::Irreversible,
            tally: vec![Notch { layer: Some("sdk".into()), mark: Mark::Unknown }],
            chips: vec![Chip { text: "receipt pi_A".into(), strength: Strength::P3 }],
            key_window: KeyWindow::Until { from: at(1), until: at(2) },
            impact: Some(Impact { amount_minor: Some(2000), currency: Some("usd".into()), people: None }),
            row: "21".into(),
            recommended: Action::LookUp,
            assignee: Some(PrincipalId::parse("p1").unwrap()),
            findings: vec![Finding { code: "x".into(), severity: Severity::Audit, text: "t".into() }],
            first_dispatched_at: Some(at(1)),
            last_fact_at: at(4),
            identity_hash: Some(Hash::of(b"a")),
            args_hash: None,
            claim_at: Some(at(6)),
            look_up_at: None,
            cause: Some("E12 timeout".into()),
        }
    }

    pub(in crate::store) fn head(id: &str) -> Head {
        let id = OperationId::parse(id).unwrap();
        Head {
            id: id.clone(),
            mode: Mode::Observed,
            intent_id: id.into(),
            key: OperationKey::parse("k").unwrap(),
            key_given: true,
            tool: None,
            destination: None,
            adopts: None,
            retries_of: None,
            supersedes: None,
            compensates: None,
            workflow: Some("saga".into()),
            step: Some(Place { number: 2, is_pivot: true, needs: Some(vec![OperationKey::parse("first").unwrap()]) }),
            recorded_at: Timestamp::from_micros(3),
        }
    }

    #[test]
    fn a_row_is_read_back_from_its_columns() {
        let head = head("0190");
        let values = values(&head, 4, Hash::of(b"h"), &row()).unwrap();
        assert_eq!(values.len(), COLUMNS.len());
        assert_eq!(COLUMNS[HEAD_COLUMNS], "state");
        let (listed, hash) = read(&mut Cells::new(values)).unwrap();
        assert_eq!((listed.head, listed.version, listed.row), (head, 4, row()));
        assert_eq!(hash, Hash::of(b"h"));
    }
}

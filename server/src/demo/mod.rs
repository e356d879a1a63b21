//! The demo data: two people, ten tools, what happened to them today, and a month before it.
//!
//! Everything comes in through the same use cases as real data: tools are declared, lines are imported,
//! people act. Times lead up to the start, so that key windows are alive.

mod month;
mod stories;
mod tools;

use tallystick_domain::action::{Act, ActionInput};
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::{ActionKey, NameError, OperationKey, Receipt, SourceName, ToolName};
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::query::OperationQuery;
use tallystick_domain::time::Timestamp;
use tallystick_domain::transition::confirmation_text;
use tallystick_ledger::operations::{Listed, NewProposal};
use tallystick_ledger::people::{NewPrincipal, system_actor};
use tallystick_ledger::{Ledger, LedgerError};

/// Lines in one transaction.
const BATCH: usize = 1_000;

/// The demo data could not be written.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The record did not take it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A name of the demo data is not one.
    #[error("the demo data names something wrongly")]
    Name(#[from] NameError),
    /// A line of the demo data was not taken.
    #[error("line {number} of the demo data was not taken: {reason}")]
    Line {
        /// Its number.
        number: u64,
        /// Why.
        reason: String,
    },
}

/// How much of the demo data is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Operations of the month before.
    pub month: u32,
}

impl Default for Size {
    fn default() -> Self {
        Self { month: 5_000 }
    }
}

/// Writes the demo data into an empty record, with times that lead up to `now`. Both people get the
/// password whose hash is given, so that one can complete what the other asks for.
pub async fn seed(ledger: &Ledger, now: Timestamp, size: Size, password_hash: &str) -> Result<(), DemoError> {
    let (noor, ida) = add_people(ledger, password_hash).await?;
    for tool in tools::all()? {
        ledger.declare_tool(&ida, tool).await?;
    }
    let feed = SourceName::parse("demo-feed")?;
    ledger.declare_source(&ida, &feed, Trust::Verified).await?;
    import(ledger, &ida, &feed, &month::lines(now, size.month)).await?;
    import(ledger, &ida, &feed, &stories::lines(now)).await?;
    let hearsay = SourceName::parse("partner-mailbox")?;
    ledger.declare_source(&ida, &hearsay, Trust::Declared).await?;
    import(ledger, &ida, &hearsay, &stories::hearsay(now)).await?;
    people_act(ledger, &noor, &ida).await?;
    propose(ledger, &ida).await?;
    // The amount was wrong: nothing was sent, so the proposal itself is changed, and needs an approval of its own.
    let corrected = r#"{"order":"ord_2290","amount_minor":5900,"currency":"eur"}"#;
    let change = ActionInput::ChangeArguments { arguments: corrected.into() };
    act(ledger, &ida, "refund:ord_2290:rr_1", change, "The order says 59.00.").await
}

async fn add_people(ledger: &Ledger, password_hash: &str) -> Result<(Actor, Actor), LedgerError> {
    let mut people = Vec::new();
    for (login, name, role) in [("noor", "Noor Haddad", Role::Operator), ("ida", "Ida Lindqvist", Role::Administrator)]
    {
        let new =
            NewPrincipal { login: login.into(), name: name.into(), role, password_hash: Some(password_hash.into()) };
        people.push(ledger.add_principal(&system_actor(), new).await?.actor());
    }
    let agent = NewPrincipal {
        login: "billing-agent".into(),
        name: "Billing agent".into(),
        role: Role::Automation,
        password_hash: None,
    };
    ledger.add_principal(&system_actor(), agent).await?;
    let ida = people.remove(1);
    Ok((people.remove(0), ida))
}

async fn import(ledger: &Ledger, by: &Actor, source: &SourceName, lines: &[Vec<u8>]) -> Result<(), DemoError> {
    for (index, batch) in lines.chunks(BATCH).enumerate() {
        let batch: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
        let first = u64::try_from(index * BATCH).unwrap_or(0) + 1;
        let report = ledger.import_lines(by, source, first, &batch).await?;
        if let Some(bad) = report.bad.into_iter().next() {
            return Err(DemoError::Line { number: bad.number, reason: bad.reason });
        }
    }
    Ok(())
}

/// What the two have done today: taken one, marked one, asked the other for a second word, remarked.
async fn people_act(ledger: &Ledger, noor: &Actor, ida: &Actor) -> Result<(), DemoError> {
    let assign = ActionInput::Assign { to: Some(noor.id.clone()) };
    act(ledger, noor, "refund:ord_1042:rr_7", assign, "The customer called and asks where the refund is.").await?;
    act(ledger, ida, "ticket:case_812:escalate", ActionInput::Comment {}, "Asked the desk to search by subject.")
        .await?;
    let marked = ActionInput::MarkSucceeded { receipt: Some(Receipt::parse("inv_20771")?), reference: None };
    act(ledger, noor, "invoice:cus_51:2026-10", marked, "Found on the ledger's own page.").await?;
    let failed = ActionInput::MarkFailed {};
    act(ledger, noor, "payout:run_17:acct_9", failed, "The bank's statement of the day does not show it.").await?;
    let escalated = "Six sends and no id: somebody must ask the desk by phone.";
    act(ledger, noor, "ticket:case_812:escalate", ActionInput::Escalate {}, escalated).await
}

async fn act(ledger: &Ledger, by: &Actor, key: &str, input: ActionInput, reason: &str) -> Result<(), DemoError> {
    let Some(operation) = find(ledger, by, key).await? else { return Ok(()) };
    let act = Act {
        key: ActionKey::parse(format!("demo:{}:{key}", input.action()))?,
        input,
        actor: by.clone(),
        reason: reason.into(),
        confirmation: Some(confirmation_text(&operation.head.key).into()),
        seen_version: operation.version,
    };
    ledger.act(&operation.head.id, act).await?;
    Ok(())
}

async fn find(ledger: &Ledger, by: &Actor, key: &str) -> Result<Option<Listed>, LedgerError> {
    let query = OperationQuery { search: Some(key.into()), ..OperationQuery::default() };
    let page = ledger.operations(by, &query).await?;
    Ok(page.rows.into_iter().find(|row| row.head.key.as_str() == key))
}

/// Guarded operations that wait for an approval.
async fn propose(ledger: &Ledger, by: &Actor) -> Result<(), DemoError> {
    for (key, tool, arguments) in [
        ("refund:ord_2290:rr_1", "payments.refund", r#"{"order":"ord_2290","amount_minor":4900,"currency":"eur"}"#),
        ("invoice:cus_90:2026-11", "invoice.create", r#"{"customer":"cus_90","amount_minor":31000,"currency":"usd"}"#),
    ] {
        let new = NewProposal {
            key: OperationKey::parse(key)?,
            tool: ToolName::parse(tool)?,
            arguments: arguments.as_bytes().to_vec(),
            deadline: None,
            tool_call_id: None,
            step: None,
        };
        // Each comes twice, as agents do that were not sure of their first call: the second makes nothing anew.
        ledger.propose_operation(by, new.clone()).await?;
        ledger.propose_operation(by, new).await?;
    }
    Ok(())
}

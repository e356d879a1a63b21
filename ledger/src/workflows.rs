//! Workflows: declaring who undoes one, looking at its steps, and going on with it when a step changed (semantics 1.7,
//! T30–T33, I23, I24).

use std::collections::BTreeMap;
use std::sync::Arc;

use tallystick_domain::name::{OperationId, PrincipalId, WorkflowName};
use tallystick_domain::operation::Mode;
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;
use tallystick_domain::transition::{Command, Unwind};
use tallystick_domain::workflow::{Direction, Unwinding, Unwinds, Workflow};

use crate::actions::arguments_to_keep;
use crate::audit::{Note, audit};
use crate::desk::{Desk, MEMBERS_LIMIT};
use crate::operations::{Listed, Page};
use crate::people::system_actor;
use crate::port::Ids;
use crate::store::Tx;
use crate::store::list::page_size;
use crate::{Ledger, LedgerError};

/// A workflow as it is declared; one that nobody declared is undone by people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Who undoes its steps when it goes back.
    pub unwinds: Unwinds,
    /// Who recovers it when an undo is stuck.
    pub owner: Option<PrincipalId>,
    /// When its first step was recorded.
    pub begun_at: Timestamp,
}

/// A workflow with its steps as they are now.
#[derive(Debug, Clone)]
pub struct SeenWorkflow {
    /// How it is declared.
    pub declared: Declared,
    /// Its steps; what is wrong with them, if they do not make a workflow.
    pub steps: Result<Workflow, String>,
    /// What would be done now in order to go back.
    pub unwinding: Unwinding,
    /// Its operations, undos included, the first recorded first.
    pub operations: Vec<Listed>,
}

impl Ledger {
    /// Says who undoes a workflow and who owns it; it need not have begun.
    pub async fn declare_workflow(
        &self,
        by: &Actor,
        name: &WorkflowName,
        unwinds: Unwinds,
        owner: Option<PrincipalId>,
    ) -> Result<Declared, LedgerError> {
        self.permit(by, Permission::Propose, name.as_str()).await?;
        let asked = Arc::new((by.clone(), name.clone(), owner));
        let ids = self.ids();
        let declared = self.store().write(move |tx| {
            let (ids, asked) = (Arc::clone(&ids), Arc::clone(&asked));
            Box::pin(async move {
                let (by, name, owner) = asked.as_ref();
                if let Some(owner) = owner
                    && tx.principal_by_id(owner.as_str()).await?.is_none()
                {
                    let problem = format!("{owner} is nobody here");
                    return Err(Refusal::BadField { field: "owner".into(), problem }.into());
                }
                let now = tx.now().await?;
                let begun_at = tx.workflow(name.as_str()).await?.map_or(now, |before| before.begun_at);
                let declared = Declared { name: name.to_string(), unwinds, owner: owner.clone(), begun_at };
                tx.workflow_declare(&declared, &ids.new_id(now), now).await?;
                let detail = serde_json::json!({ "unwinds": unwinds.name(), "owner": owner });
                let note = Note { verb: "declare_workflow", subject: name.as_str(), status: "done", detail };
                audit(tx, ids.as_ref(), now, by, note).await?;
                Ok(declared)
            })
        });
        let declared = declared.await?;
        self.note_change();
        Ok(declared)
    }

    /// One workflow with its steps.
    pub async fn workflow(&self, by: &Actor, name: &str) -> Result<Option<SeenWorkflow>, LedgerError> {
        self.permit(by, Permission::Read, name).await?;
        let asked = Arc::new((by.clone(), name.to_owned()));
        self.store()
            .read(move |tx| {
                let asked = Arc::clone(&asked);
                Box::pin(async move {
                    let Some(declared) = tx.workflow(&asked.1).await? else { return Ok(None) };
                    let members = tx.workflow_members(&asked.1, MEMBERS_LIMIT).await?;
                    Ok(look(tx, &asked.0, vec![(declared, members)]).await?.pop())
                })
            })
            .await
    }

    /// A page of workflows, the newest first. `after` is where the page before ended.
    pub async fn workflows(
        &self,
        by: &Actor,
        after: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Page<SeenWorkflow>, LedgerError> {
        self.permit(by, Permission::Read, "workflows").await?;
        let (begun_at, name) = after.map_or(Ok((Timestamp::from_micros(i64::MAX), "")), read_cursor)?;
        let (by, name, limit) = (by.clone(), name.to_owned(), page_size(limit));
        self.store()
            .read(move |tx| {
                let (by, name) = (by.clone(), name.clone());
                Box::pin(async move {
                    let (as_of, sequence) = (tx.now().await?, tx.newest_sequence().await?);
                    let declared = tx.workflows_page((begun_at, &name), limit + 1).await?;
                    let page = Page::cut(declared, limit, as_of, sequence, cursor);
                    let names: Vec<&str> = page.rows.iter().map(|one: &Declared| one.name.as_str()).collect();
                    let mut members: BTreeMap<String, Vec<OperationId>> = BTreeMap::new();
                    for (workflow, id) in tx.members_of_workflows(&names).await? {
                        members.entry(workflow).or_default().push(id);
                    }
                    let wanted = page.rows.iter().map(|one| {
                        let ids = members.remove(&one.name).unwrap_or_default();
                        (one.clone(), ids)
                    });
                    let rows = look(tx, &by, wanted.collect()).await?;
                    Ok(Page { rows, next: page.next, as_of, sequence })
                })
            })
            .await
    }

    /// Goes on with workflows of which a step changed: steps that waited may begin, and one that goes back proposes what
    /// is to be undone next. How many operations changed. Repeating it is harmless, whoever does it.
    pub async fn advance_workflows(&self, limit: u32) -> Result<u32, LedgerError> {
        let due = self.store().read(move |tx| Box::pin(tx.workflows_due(limit))).await?;
        let mut changed = 0;
        for name in due {
            let ids = self.ids();
            let one = self.store().write(move |tx| {
                let (ids, name) = (Arc::clone(&ids), name.clone());
                Box::pin(async move { advance(tx, ids.as_ref(), &name).await })
            });
            changed += one.await?;
        }
        if changed > 0 {
            self.note_change();
        }
        Ok(changed)
    }
}

fn cursor(last: &Declared) -> String {
    format!("{}.{}", last.begun_at.as_micros(), last.name)
}

fn read_cursor(cursor: &str) -> Result<(Timestamp, &str), Refusal> {
    let read = cursor.split_once('.').and_then(|(at, name)| Some((Timestamp::from_micros(at.parse().ok()?), name)));
    read.ok_or_else(|| Refusal::BadField {
        field: "after".into(),
        problem: format!("{cursor:?} is not where a page of workflows starts"),
    })
}

async fn look(
    tx: &mut Tx,
    by: &Actor,
    wanted: Vec<(Declared, Vec<OperationId>)>,
) -> Result<Vec<SeenWorkflow>, LedgerError> {
    let now = tx.now().await?;
    let mut desk = Desk::open(tx, now, by).await?;
    let mut seen = Vec::with_capacity(wanted.len());
    for (declared, members) in wanted {
        desk.lay_alone(&members).await?;
        let steps = desk.workflow(&declared.name).await?.map_err(|misbuilt| misbuilt.to_string());
        let unwinding = steps.as_ref().map(|steps| steps.unwind(now)).unwrap_or_default();
        let mut operations: Vec<Listed> = members.iter().map(|id| desk.listed(id)).collect::<Result<_, _>>()?;
        operations
            .sort_by(|one, other| (one.head.recorded_at, &one.head.id).cmp(&(other.head.recorded_at, &other.head.id)));
        seen.push(SeenWorkflow { declared, steps, unwinding, operations });
    }
    Ok(seen)
}

async fn advance(tx: &mut Tx, ids: &dyn Ids, name: &str) -> Result<u32, LedgerError> {
    tx.lock_workflow(name).await?;
    // First, so that a step that changes from here on is looked at again.
    tx.workflow_look(name).await?;
    let now = tx.now().await?;
    let unwinds = tx.workflow(name).await?.map_or(Unwinds::ByPeople, |declared| declared.unwinds);
    let actor = system_actor();
    let members = tx.workflow_members(name, MEMBERS_LIMIT).await?;
    let mut desk = Desk::open(tx, now, &actor).await?;
    desk.lay(&members).await?;
    let is_ours = |id: &&OperationId| {
        desk.sheet(id).is_ok_and(|sheet| sheet.record.head.mode == Mode::Guarded && sheet.record.head.step.is_some())
    };
    let steps: Vec<OperationId> = members.iter().filter(is_ours).cloned().collect();
    let mut changed = desk.refold(steps).await?;
    let mut kept = Vec::new();
    if unwinds == Unwinds::ByItself
        && let Ok(workflow) = desk.workflow(name).await?
        && let Direction::Back { because } = workflow.direction()
    {
        let because = desk.sheet(&because)?.record.head.key.clone();
        let plan = workflow.unwind(now);
        let todo = plan.cancel.into_iter().map(|id| (Unwind::Cancel, id));
        for (how, id) in todo.chain(plan.undo.into_iter().map(|id| (Unwind::Undo, id))) {
            let new_id = OperationId::parse(ids.new_id(now))
                .map_err(|error| LedgerError::Corrupt { what: error.to_string() })?;
            let command = Command::Unwind { how, because: because.clone(), by: actor.clone(), new_id };
            let decided = desk.decide(&id, &command, "unwind").await?;
            kept.extend(arguments_to_keep(&mut desk, &id, &decided).await?);
            // Refused, it is a person's: the workflow's page says so.
            if let Ok(decision) = decided {
                changed += 1;
                desk.refold(decision.refold).await?;
            }
        }
    }
    let tx = desk.save().await?;
    tx.arguments_insert(kept, now).await?;
    Ok(changed)
}

//! Workflows in the pages' words.

use tallystick_domain::name::{PrincipalId, WorkflowName};
use tallystick_domain::operation::{Head, Projection};
use tallystick_domain::permission::{Permission, Role};
use tallystick_domain::view::encoded;
use tallystick_domain::view::workflows::{Told, WorkflowView, WorkflowsView, step_lines, workflow_line};
use tallystick_domain::workflow::Unwinds;
use tallystick_ledger::workflows::SeenWorkflow;

use super::acting::bad_field;
use super::{Reader, bad_name, not_found, told};
use crate::api::{ApiError, Pairs};

impl Reader {
    /// A page of workflows.
    pub async fn workflows(&self, pairs: &Pairs) -> Result<WorkflowsView, ApiError> {
        let after = pairs.iter().find(|(name, _)| name == "after").map(|(_, value)| value.as_str());
        let page = self.ledger.workflows(&self.actor, after, None).await.map_err(told)?;
        let names = self.names().await;
        let lens = self.lens(page.as_of, &names);
        Ok(WorkflowsView {
            rows: page.rows.iter().map(|seen| workflow_line(&told_of(seen, &operations_of(seen)), &lens)).collect(),
            next: page.next,
            as_of: lens.moment(page.as_of),
            sequence: page.sequence.to_string(),
        })
    }

    /// One workflow.
    pub async fn workflow(&self, name: &str) -> Result<WorkflowView, ApiError> {
        let waiting = self.ledger.count_waiting(&self.actor).await.map_err(told)?;
        let seen = self.ledger.workflow(&self.actor, name).await.map_err(told)?;
        let seen = seen.ok_or_else(|| not_found("workflow"))?;
        let people = self.ledger.principals(&self.actor).await.unwrap_or_default();
        let names = self.names().await;
        let lens = self.lens(waiting.as_of, &names);
        let operations = operations_of(&seen);
        let of = told_of(&seen, &operations);
        Ok(WorkflowView {
            line: workflow_line(&of, &lens),
            unwinds_by_itself: seen.declared.unwinds == Unwinds::ByItself,
            owner_id: seen.declared.owner.as_ref().map(ToString::to_string),
            people: people
                .into_iter()
                .filter(|one| one.role != Role::Automation)
                .map(|one| (one.id.to_string(), one.name))
                .collect(),
            steps: step_lines(&of),
            problem: of.problem(),
            may_declare: self.actor.role.allows(Permission::Propose),
            sequence: waiting.sequence.to_string(),
        })
    }

    /// Says who undoes a workflow, and leads back to it.
    pub async fn declare_workflow(&self, name: &str, unwinds: &str, owner: &str) -> Result<(), ApiError> {
        let workflow = WorkflowName::parse(name).map_err(|error| bad_name(&error))?;
        let Some(unwinds) = Unwinds::parse(unwinds) else {
            return Err(bad_field("unwinds", "is not one of the choices; open the page again"));
        };
        let owner = Some(owner.trim()).filter(|owner| !owner.is_empty()).map(PrincipalId::parse);
        let owner = owner.transpose().map_err(|error| bad_name(&error))?;
        self.ledger.declare_workflow(&self.actor, &workflow, unwinds, owner).await.map_err(told)?;
        leptos_axum::redirect(&format!("/workflows/{}?saved=1", encoded(name)));
        Ok(())
    }
}

fn operations_of(seen: &SeenWorkflow) -> Vec<(&Head, &Projection)> {
    seen.operations.iter().map(|listed| (&listed.head, &listed.row)).collect()
}

fn told_of<'a>(seen: &'a SeenWorkflow, operations: &'a [(&'a Head, &'a Projection)]) -> Told<'a> {
    Told {
        name: &seen.declared.name,
        begun_at: seen.declared.begun_at,
        unwinds: seen.declared.unwinds,
        owner: seen.declared.owner.as_ref(),
        steps: seen.steps.as_ref().map_err(String::as_str),
        unwinding: &seen.unwinding,
        operations,
    }
}

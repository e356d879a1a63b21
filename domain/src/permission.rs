//! Roles, and what each may do. Checked in the ledger, whatever the surface.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::name::PrincipalId;

/// What a principal may do, as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Reads, reports and proposes; a program, never a person.
    Automation,
    /// Works the queue.
    Operator,
    /// Works the queue and authorises.
    Approver,
    /// All of it, and tools, sources, people and settings.
    Administrator,
}

impl Role {
    /// Every role, weakest first.
    pub const ALL: [Self; 5] = [Self::Viewer, Self::Automation, Self::Operator, Self::Approver, Self::Administrator];

    /// Its name in the record and on the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Automation => "automation",
            Self::Operator => "operator",
            Self::Approver => "approver",
            Self::Administrator => "administrator",
        }
    }

    /// The role with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Whether the role admits the permission.
    pub const fn allows(self, permission: Permission) -> bool {
        match permission {
            Permission::Read => true,
            Permission::Propose | Permission::Report => !matches!(self, Self::Viewer),
            Permission::Execute => matches!(self, Self::Automation | Self::Administrator),
            Permission::Act(action) => self.allows_action(action),
            Permission::DeclareTools | Permission::DeclareSources | Permission::Administer => {
                matches!(self, Self::Administrator)
            }
        }
    }

    const fn allows_action(self, action: Action) -> bool {
        let works_the_queue = matches!(self, Self::Operator | Self::Approver | Self::Administrator);
        match action {
            // An automation's acts are judged once more by overlay O11.
            Action::LookUp
            | Action::RerunSameKey
            | Action::RerunNew
            | Action::ChangeArguments
            | Action::Cancel
            | Action::AttachEvidence
            | Action::Comment
            | Action::Escalate => works_the_queue || matches!(self, Self::Automation),
            Action::Adopt
            | Action::MarkSucceeded
            | Action::MarkFailed
            | Action::GrantAttempts
            | Action::PickVerdict
            | Action::Compensate
            | Action::Waive
            | Action::Assign
            | Action::DismissFinding => works_the_queue,
            // Approvals are given by people (semantics 4.4.2).
            Action::Approve | Action::Deny | Action::Renew | Action::Revoke => {
                matches!(self, Self::Approver | Self::Administrator)
            }
        }
    }
}

/// One thing that may or may not be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// See operations, actions, tools and settings.
    Read,
    /// Propose a guarded operation.
    Propose,
    /// Report what already happened elsewhere.
    Report,
    /// Take work, send it, and say what came of it.
    Execute,
    /// Make an operator action.
    Act(Action),
    /// Declare a tool and its contract.
    DeclareTools,
    /// Say how far a source is believed.
    DeclareSources,
    /// Change settings, people and tokens.
    Administer,
}

impl Permission {
    /// What a refusal says could not be done.
    pub fn phrase(self) -> String {
        match self {
            Self::Read => "read operations".into(),
            Self::Propose => "propose operations".into(),
            Self::Report => "report events".into(),
            Self::Execute => "take work and send it".into(),
            Self::Act(action) => format!("use the action {}", action.name()),
            Self::DeclareTools => "declare tools".into(),
            Self::DeclareSources => "say how far a source is trusted".into(),
            Self::Administer => "change settings, people and tokens".into(),
        }
    }
}

/// Who acts. A person's session and that person's tokens are one actor (semantics 4.4.9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Whose act it is: the person behind a session or token, or the automation itself.
    pub id: PrincipalId,
    /// As shown.
    pub name: String,
    /// What they may do.
    pub role: Role,
}

impl Actor {
    /// Whether a program acts rather than a person.
    pub const fn is_automation(&self) -> bool {
        matches!(self.role, Role::Automation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_may_only_read() {
        for &action in Action::ALL {
            assert!(!Role::Viewer.allows(Permission::Act(action)), "{action}");
        }
        assert!(Role::Viewer.allows(Permission::Read));
        assert!(!Role::Viewer.allows(Permission::Report));
    }

    #[test]
    fn an_automation_never_approves_marks_or_adopts() {
        for action in [Action::Approve, Action::Renew, Action::MarkSucceeded, Action::MarkFailed, Action::Adopt] {
            assert!(!Role::Automation.allows(Permission::Act(action)), "{action}");
        }
    }

    #[test]
    fn only_an_administrator_declares_tools_and_trust() {
        for role in Role::ALL {
            let is_administrator = role == Role::Administrator;
            assert_eq!(role.allows(Permission::DeclareTools), is_administrator);
            assert_eq!(role.allows(Permission::DeclareSources), is_administrator);
            assert_eq!(role.allows(Permission::Administer), is_administrator);
        }
    }
}

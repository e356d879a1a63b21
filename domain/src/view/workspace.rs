//! What frames every page, and the settings.

use serde::{Deserialize, Serialize};

use super::Moment;
use crate::action::Action;
use crate::permission::{Permission, Role};

/// What stands around every page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrameView {
    /// The reader's name.
    pub name: String,
    /// Its first letters.
    pub initials: String,
    /// The reader's role.
    pub role: String,
    /// The workspace zone.
    pub zone: String,
    /// How many wait in the queue.
    pub waiting: String,
    /// The newest change that this shows.
    pub sequence: String,
    /// When it was read.
    pub as_of: Moment,
    /// The time of the restored copy because of which nothing is sent.
    pub restored_from: Option<Moment>,
}

/// The first letters of the first and last word of a name, for a badge.
pub fn initials(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    let first = words.first().and_then(|word| word.chars().next());
    let last = (words.len() > 1).then(|| words.last().and_then(|word| word.chars().next())).flatten();
    first.into_iter().chain(last).flat_map(char::to_uppercase).collect()
}

/// The settings page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsView {
    /// The zone in force.
    pub zone: String,
    /// The version that a change must have seen.
    pub version: String,
    /// Every zone that can be chosen.
    pub zones: Vec<String>,
    /// People and automations.
    pub people: Vec<PersonView>,
    /// What each source is believed.
    pub sources: Vec<SourceView>,
    /// The reader's role.
    pub role: String,
    /// Whether the reader may change settings.
    pub may_administer: bool,
    /// What the reader may do, by area.
    pub permissions: Vec<PermissionView>,
    /// The same moment in the zone, as an example.
    pub as_of: Moment,
}

/// A person or an automation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonView {
    /// As shown.
    pub name: String,
    /// What they type to sign in.
    pub login: String,
    /// What they may do.
    pub role: String,
    /// Since when.
    pub since: Moment,
    /// Whether it is the reader.
    pub is_reader: bool,
}

/// A source with its trust.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceView {
    /// Its name.
    pub name: String,
    /// How far it is believed.
    pub trust: String,
    /// The strongest that it can be.
    pub cap: String,
    /// Who said so.
    pub declared_by: String,
    /// When.
    pub declared_at: Moment,
}

/// One line of "your permissions".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionView {
    /// What.
    pub label: String,
    /// Whether the reader may.
    pub is_allowed: bool,
    /// The roles that may.
    pub roles: String,
}

/// Every permission with the reader's answer.
pub fn permission_views(role: Role) -> Vec<PermissionView> {
    let general = [
        ("See operations, actions, tools and settings", Permission::Read),
        ("Propose operations", Permission::Propose),
        ("Report events", Permission::Report),
        ("Declare tools", Permission::DeclareTools),
        ("Say how far a source is trusted", Permission::DeclareSources),
        ("Change settings, people and tokens", Permission::Administer),
    ];
    let actions = Action::ALL.iter().map(|&action| (action.label(), Permission::Act(action)));
    let roles = |permission: Permission| {
        let names: Vec<&str> = Role::ALL.into_iter().filter(|role| role.allows(permission)).map(Role::name).collect();
        names.join(", ")
    };
    general
        .into_iter()
        .chain(actions)
        .map(|(label, permission)| PermissionView {
            label: label.into(),
            is_allowed: role.allows(permission),
            roles: roles(permission),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_are_of_the_first_and_last_word() {
        assert_eq!(initials("Mika Kallio"), "MK");
        assert_eq!(initials("jo"), "J");
        assert_eq!(initials(""), "");
    }

    #[test]
    fn every_action_stands_in_the_permission_table() {
        let lines = permission_views(Role::Viewer);
        assert_eq!(lines.len(), Action::ALL.len() + 6);
        assert_eq!(lines.iter().filter(|line| line.is_allowed).count(), 1);
    }
}

//! Journal entries: what goes into one, the hash that chains it to the one before, and how changes are replayed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::PrincipalId;
use tallystick_domain::operation::{Fact, Head, Projection};
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::time::Timestamp;

use super::WORKSPACE;
use super::table::Table;
use super::value::{Cells, Value, known, to_json};
use crate::LedgerError;

/// Before the first entry there is nothing to chain to.
pub(crate) const NO_HASH: [u8; 32] = [0; 32];

/// What an entry changed: the head, once, and the members of the serialised projection that became different.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Changes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<Head>,
    pub(crate) row: Map<String, Json>,
}

impl Changes {
    /// What leads from one projection to the next; `head` with the first.
    pub(crate) fn between(
        head: Option<&Head>,
        before: Option<&Projection>,
        after: &Projection,
    ) -> Result<Self, LedgerError> {
        let before = before.map(members).transpose()?.unwrap_or_default();
        let mut row = members(after)?;
        row.retain(|name, value| before.get(name) != Some(value));
        Ok(Self { head: head.cloned(), row })
    }
}

/// Puts a projection together again from the changes of its entries, oldest first.
#[derive(Default)]
pub(crate) struct Replay {
    members: Map<String, Json>,
}

impl Replay {
    /// Takes one entry's changes in; the projection after it.
    pub(crate) fn take(&mut self, changes: &Changes) -> Result<Projection, serde_json::Error> {
        for (name, value) in &changes.row {
            self.members.insert(name.clone(), value.clone());
        }
        serde_json::from_value(Json::Object(self.members.clone()))
    }

    /// Takes changes in without reading what they come to.
    pub(crate) fn skip(&mut self, changes: &Changes) {
        for (name, value) in &changes.row {
            self.members.insert(name.clone(), value.clone());
        }
    }

    /// One member as it stands.
    pub(crate) fn member(&self, name: &str) -> Option<&Json> {
        self.members.get(name)
    }
}

fn members(row: &Projection) -> Result<Map<String, Json>, LedgerError> {
    match serde_json::to_value(row) {
        Ok(Json::Object(members)) => Ok(members),
        Ok(_) | Err(_) => Err(LedgerError::Corrupt { what: "a projection cannot be written".into() }),
    }
}

/// One entry as stored.
#[derive(Debug)]
pub(crate) struct JournalEntry {
    pub(crate) op_id: String,
    pub(crate) version: u64,
    pub(crate) at: Timestamp,
    pub(crate) actor: Actor,
    pub(crate) command: String,
    pub(crate) rules_version: u32,
    pub(crate) rules: String,
    pub(crate) facts: String,
    pub(crate) changes: String,
    pub(crate) prev_hash: Hash,
    pub(crate) hash: Hash,
}

pub(crate) static JOURNAL: Table = Table {
    name: "journal",
    columns: &[
        "workspace_id",
        "op_id",
        "version",
        "at",
        "actor_id",
        "actor_name",
        "actor_role",
        "command",
        "rules_version",
        "rules",
        "facts",
        "changes",
        "prev_hash",
        "hash",
    ],
    on_conflict: "",
};

/// What is written down with an entry, beside facts and changes.
pub(crate) struct Occasion<'a> {
    pub(crate) at: Timestamp,
    pub(crate) actor: &'a Actor,
    pub(crate) command: &'a str,
    pub(crate) rules: &'a [String],
}

impl JournalEntry {
    /// An entry that follows the one with `prev_hash`.
    pub(crate) fn new(
        op_id: &str,
        version: u64,
        occasion: &Occasion<'_>,
        facts: &[Fact],
        changes: &Changes,
        prev_hash: Hash,
    ) -> Result<Self, LedgerError> {
        let mut entry = Self {
            op_id: op_id.into(),
            version,
            at: occasion.at,
            actor: occasion.actor.clone(),
            command: occasion.command.into(),
            rules_version: tallystick_domain::RULES_VERSION,
            rules: to_json(&occasion.rules)?,
            facts: to_json(&facts)?,
            changes: to_json(changes)?,
            prev_hash,
            hash: Hash::from(NO_HASH),
        };
        entry.hash = entry.chained();
        Ok(entry)
    }

    /// The hash that the entry must have: over the previous hash and the digests of its fields.
    pub(crate) fn chained(&self) -> Hash {
        let actor = Hash::of_parts(&[
            self.actor.id.as_str().as_bytes(),
            self.actor.name.as_bytes(),
            self.actor.role.name().as_bytes(),
        ]);
        let digest = |text: &str| Hash::of(text.as_bytes());
        Hash::of_parts(&[
            self.prev_hash.as_bytes(),
            WORKSPACE.as_bytes(),
            self.op_id.as_bytes(),
            &self.version.to_be_bytes(),
            &self.at.as_micros().to_be_bytes(),
            actor.as_bytes(),
            self.command.as_bytes(),
            &self.rules_version.to_be_bytes(),
            digest(&self.rules).as_bytes(),
            digest(&self.facts).as_bytes(),
            digest(&self.changes).as_bytes(),
        ])
    }

    pub(crate) fn values(&self) -> Vec<Value> {
        vec![
            WORKSPACE.into(),
            self.op_id.as_str().into(),
            self.version.into(),
            self.at.into(),
            self.actor.id.as_str().into(),
            self.actor.name.as_str().into(),
            self.actor.role.name().into(),
            self.command.as_str().into(),
            self.rules_version.into(),
            self.rules.as_str().into(),
            self.facts.as_str().into(),
            self.changes.as_str().into(),
            self.prev_hash.into(),
            self.hash.into(),
        ]
    }

    /// Reads a row whose statement names the columns after the workspace.
    pub(crate) fn read(cells: &mut Cells) -> Result<Self, LedgerError> {
        Ok(Self {
            op_id: cells.text()?,
            version: cells.version()?,
            at: cells.at()?,
            actor: read_actor(cells)?,
            command: cells.text()?,
            rules_version: cells.count()?,
            rules: cells.text()?,
            facts: cells.text()?,
            changes: cells.text()?,
            prev_hash: cells.hash()?,
            hash: cells.hash()?,
        })
    }
}

/// An actor from its three columns.
pub(crate) fn read_actor(cells: &mut Cells) -> Result<Actor, LedgerError> {
    Ok(Actor { id: cells.parsed(PrincipalId::parse)?, name: cells.text()?, role: cells.parsed(known(Role::parse))? })
}

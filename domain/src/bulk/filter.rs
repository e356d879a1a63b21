//! Which list a selection was made on, and how it was filtered.

use serde::{Deserialize, Serialize};

use crate::permission::Actor;
use crate::query::{OperationQuery, QueryError, QueueQuery};
use crate::refusal::Refusal;

/// A list with its filter; paging is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "list", rename_all = "snake_case")]
pub enum Filter {
    /// What waits for a person.
    Queue(QueueQuery),
    /// Every operation.
    Operations(OperationQuery),
}

impl Filter {
    /// The filter of the list with this name, read from an address's pairs. Where the reader is meant (`me`), it names them:
    /// what is frozen means the same to everybody.
    pub fn from_pairs<'a>(
        list: &str,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
        reader: &Actor,
    ) -> Result<Self, QueryError> {
        match list {
            "queue" => {
                let QueueQuery { reason, assignee, tool, destination, cause, .. } = QueueQuery::from_pairs(pairs)?;
                let named = |who: String| if who == "me" { reader.id.to_string() } else { who };
                let assignee = assignee.map(named);
                Ok(Self::Queue(QueueQuery { reason, assignee, tool, destination, cause, ..QueueQuery::default() }))
            }
            "operations" => {
                let query = OperationQuery::from_pairs(pairs)?;
                Ok(Self::Operations(OperationQuery { after: None, limit: None, ..query }))
            }
            other => Err(QueryError {
                parameter: "list".into(),
                value: other.into(),
                expected: "use queue or operations".into(),
            }),
        }
    }

    /// The list's name.
    pub const fn list(&self) -> &'static str {
        match self {
            Self::Queue(_) => "queue",
            Self::Operations(_) => "operations",
        }
    }

    /// What it filters by.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Queue(query) => query.to_pairs(),
            Self::Operations(query) => query.to_pairs(),
        }
    }

    /// A filter that names nothing would mean everything; nobody means that.
    pub fn check_names_something(&self) -> Result<(), Refusal> {
        if !self.to_pairs().is_empty() {
            return Ok(());
        }
        let problem = "is empty, and would mean everything; filter the list first, or choose rows".to_owned();
        Err(Refusal::BadField { field: "filter".into(), problem })
    }
}

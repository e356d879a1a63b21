//! The event vocabulary (cases §0): one JSON line → what it says.

use crate::attempt::Report;
use crate::evidence::Evidence;
use crate::fingerprint::Json;
use crate::name::{DestinationName, OperationKey, SourceName, SourceOperation, ToolName};
use crate::operation::{Fact, Record};
use crate::time::Timestamp;
use crate::tool::Tool;

/// Why a line is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct LineError {
    /// The member that is wrong, or `line`.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

/// One line, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its `ts`.
    pub at: Timestamp,
    /// What it says.
    pub says: Says,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// Something about one operation, named by its source.
    Operation {
        /// The source's name for it.
        name: SourceOperation,
        /// Its operation key, where the line gives one.
        key: Option<OperationKey>,
        /// Its tool, where the line gives one.
        tool: Option<ToolName>,
        /// Its destination, where the line gives one.
        destination: Option<DestinationName>,
        /// The workflow, where the line gives one.
        workflow: Option<String>,
        /// What is said about it.
        about: About,
    },
    /// A delivery. It is linked to operations by key.
    Delivery {
        /// The key in its metadata, if any.
        key: Option<String>,
        /// The evidence it gives, if it names a receipt.
        evidence: Option<Evidence>,
        /// The delivery's own identity.
        id: String,
    },
    /// An operator's act at the source, on one or several operations.
    Acted {
        /// The operations, by the source's names.
        names: Vec<SourceOperation>,
        /// The fact for each.
        fact: Fact,
    },
    /// A retry layer declares itself. Kept as received; it changes no operation.
    LayerDeclared,
}

/// What a line says about an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// It was proposed.
    Proposed(Box<Proposed>),
    /// It was proposed in order to undo another one.
    CompensationProposed {
        /// The proposal.
        proposed: Box<Proposed>,
        /// The operation it undoes, by the source's name.
        compensates: SourceOperation,
    },
    /// Something about one send.
    Report(Report),
    /// Any other fact, complete as it is.
    Fact(Fact),
}

/// A proposal line's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// The arguments exactly as received, and as read.
    pub arguments: Option<(Vec<u8>, Json)>,
    /// What the line declares of the contract.
    pub contract: Option<crate::contract::Contract>,
    /// When it must be done.
    pub deadline: Option<Timestamp>,
    /// The tool call that proposed it.
    pub tool_call_id: Option<String>,
}

impl Line {
    /// Reads one line strictly; unknown members of an event are ignored, wrong ones are errors.
    pub fn parse(bytes: &[u8], source: &SourceName) -> Result<Self, LineError> {
        let _ = (bytes, source);
        todo!()
    }
}

/// What a proposal becomes on an operation that may already be there: the first proposal, an alias of
/// it (equal `identity_hash`, or no arguments on one side), or a conflicting proposal with its diff.
/// `stored` are the first arguments on record, as received.
pub fn proposal_fact(
    record: &Record,
    stored: Option<&Json>,
    tool: &Tool,
    proposed: &Proposed,
    at: Timestamp,
    source: &SourceName,
    name: &SourceOperation,
) -> Fact {
    let _ = (record, stored, tool, proposed, at, source, name);
    todo!()
}

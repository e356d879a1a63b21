//! Retry layers: what they declared of themselves, read back from the lines as they were received, beside what was seen of
//! them on attempts.

use std::collections::BTreeMap;

use tallystick_domain::evidence::Trust;
use tallystick_domain::intake::{Line, Says};
use tallystick_domain::layers::{Declaration, Layer, layers_in_force, with_seen};
use tallystick_domain::name::{LayerName, OperationId, SourceName, ToolName};
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;

use crate::store::Tx;
use crate::{Ledger, LedgerError};

/// How many declarations are read, the newest; a layer that declares itself at every start leaves many.
const DECLARATIONS: u32 = 2_000;
/// In how many of a tool's newest operations its layers are looked for.
pub const LOOKED_AT: u32 = 100;

/// One declaration, with who told it.
#[derive(Debug, Clone)]
pub struct ToldLayer {
    /// What it says.
    pub declaration: Declaration,
    /// The source whose line it is.
    pub source: SourceName,
    /// How far that is believed.
    pub trust: Trust,
}

/// One tool with the layers above it.
#[derive(Debug, Clone)]
pub struct ToolLayers {
    /// The tool as declared, or what is assumed of one that nobody declared.
    pub tool: Tool,
    /// Its layers: those declared and in force now, then those that made attempts and that nobody declared.
    pub layers: Vec<Layer>,
    /// How many of them are declared.
    pub declared: usize,
    /// Which layers made the attempts of its newest operations, and how many.
    pub seen: Vec<(LayerName, i64)>,
    /// The operation with the most attempts, and how many these are.
    pub most: Option<(OperationId, u32)>,
}

/// Every tool with its layers.
#[derive(Debug, Clone)]
pub struct Layers {
    /// By name.
    pub tools: Vec<ToolLayers>,
    /// What layers declared, the newest first; equal ones once.
    pub declarations: Vec<ToldLayer>,
    /// The record's clock when they were read.
    pub now: Timestamp,
    /// The newest change when they were read.
    pub sequence: i64,
}

impl Ledger {
    /// Every tool with the layers above it.
    pub async fn layers(&self, by: &Actor) -> Result<Layers, LedgerError> {
        self.permit(by, Permission::Read, "layers").await?;
        self.store().read(|tx| Box::pin(read(tx))).await
    }

    /// One tool with the layers above it; nothing of a tool that nobody declared and that is not in use.
    pub async fn layers_of_tool(&self, by: &Actor, name: &ToolName) -> Result<Option<(ToolLayers, i64)>, LedgerError> {
        self.permit(by, Permission::Read, name.as_str()).await?;
        let name = name.clone();
        self.store()
            .read(move |tx| {
                let name = name.clone();
                Box::pin(async move { read_one(tx, &name).await })
            })
            .await
    }
}

async fn read_one(tx: &mut Tx, name: &ToolName) -> Result<Option<(ToolLayers, i64)>, LedgerError> {
    let (sequence, now) = (tx.newest_sequence().await?, tx.now().await?);
    let tool = match tx.tool_find(name.as_str()).await? {
        Some(tool) => tool,
        None if tx.operation_ids_of_tool(name.as_str(), "", 1).await?.is_empty() => return Ok(None),
        None => Tool::undeclared(name.clone()),
    };
    let declarations = declarations(tx).await?;
    Ok(Some((layers_of(tx, tool, &declarations, now).await?, sequence)))
}

async fn read(tx: &mut Tx) -> Result<Layers, LedgerError> {
    let (sequence, now) = (tx.newest_sequence().await?, tx.now().await?);
    let declarations = declarations(tx).await?;
    let mut tools: BTreeMap<ToolName, Tool> =
        tx.tools().await?.into_iter().map(|tool| (tool.name.clone(), tool)).collect();
    let (in_use, _) = tx.names_in_use().await?;
    let named = declarations.iter().filter_map(|told| told.declaration.tool.clone());
    for name in in_use.into_iter().filter_map(|name| ToolName::parse(name).ok()).chain(named) {
        tools.entry(name.clone()).or_insert_with(|| Tool::undeclared(name));
    }
    let mut with_layers = Vec::with_capacity(tools.len());
    for tool in tools.into_values() {
        with_layers.push(layers_of(tx, tool, &declarations, now).await?);
    }
    Ok(Layers { tools: with_layers, declarations, now, sequence })
}

async fn declarations(tx: &mut Tx) -> Result<Vec<ToldLayer>, LedgerError> {
    let trusts: BTreeMap<SourceName, Trust> =
        tx.sources().await?.into_iter().map(|source| (source.name, source.trust)).collect();
    let mut told: Vec<ToldLayer> = Vec::new();
    for (source, bytes) in tx.layer_lines(DECLARATIONS).await? {
        let Ok(Line { says: Says::LayerDeclared(declaration), .. }) = Line::parse(&bytes, &source) else { continue };
        let is_same = |other: &ToldLayer| {
            other.source == source && Declaration { at: declaration.at, ..other.declaration.clone() } == declaration
        };
        if !told.iter().any(is_same) {
            let trust = trusts.get(&source).copied().unwrap_or_default();
            told.push(ToldLayer { declaration, source, trust });
        }
    }
    Ok(told)
}

async fn layers_of(
    tx: &mut Tx,
    tool: Tool,
    declarations: &[ToldLayer],
    now: Timestamp,
) -> Result<ToolLayers, LedgerError> {
    let name = tool.name.as_str();
    let most = tx.most_attempts(name).await?;
    let seen: Vec<(LayerName, i64)> = tx
        .layers_seen(name, LOOKED_AT)
        .await?
        .into_iter()
        .filter_map(|(layer, count)| Some((LayerName::parse(layer).ok()?, count)))
        .collect();
    let went_to = most.as_ref().and_then(|most| most.destination.as_ref());
    let destination = tool.destination.as_ref().or(went_to);
    let declared = declarations.iter().map(|told| &told.declaration);
    let declared = layers_in_force(declared, destination, Some(&tool.name), now);
    Ok(ToolLayers {
        declared: declared.len(),
        layers: with_seen(declared, seen.iter().map(|(layer, _)| layer)),
        seen,
        most: most.map(|most| (most.operation, most.attempts)),
        tool,
    })
}

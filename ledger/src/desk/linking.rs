//! Linking deliveries to the operations that they speak of (semantics 1.9): those that come now, and those that came before
//! anybody could know which operation they mean.

use std::collections::{BTreeMap, BTreeSet};

use tallystick_domain::delivery::receipt_in;
use tallystick_domain::evidence::{Evidence, LinkedBy};
use tallystick_domain::json::Json;
use tallystick_domain::name::{DestinationKey, OperationId, SourceName};
use tallystick_domain::operation::Fact;
use tallystick_domain::request::Names;

use super::{Desk, missing};
use crate::LedgerError;
use crate::store::delivery::Kept;

/// How many names are asked for at once, and how many deliveries are read again at once: a body may have a megabyte.
const NAMES: usize = 64;
const READ: u32 = 16;

impl Desk<'_> {
    /// Links every delivery that names what was learnt here: a key that was sent, a receipt, a new operation. Linked, a
    /// delivery may bring a receipt that others name; so this goes on until nothing is new.
    pub(crate) async fn link_deliveries(&mut self) -> Result<(), LedgerError> {
        loop {
            let learnt = self.learnt_names().await?;
            if learnt.is_empty() {
                return Ok(());
            }
            let names: Vec<&str> = learnt.keys().map(String::as_str).collect();
            self.tx.lock_names(names.iter().copied()).await?;
            for chunk in names.chunks(NAMES) {
                let holders: BTreeSet<OperationId> =
                    chunk.iter().filter_map(|name| learnt.get(*name)).flatten().cloned().collect();
                let holders: Vec<OperationId> = holders.into_iter().collect();
                let mut after = String::new();
                loop {
                    let waiting = self.tx.deliveries_naming(chunk, &after, READ).await?;
                    let Some(last) = waiting.last() else { break };
                    after.clone_from(&last.row_id);
                    self.link(&holders, &waiting).await?;
                }
            }
        }
    }

    /// Looks again for the deliveries of these operations, as if all of them were new: their tool reads differently now.
    pub(crate) fn look_again(&mut self, ids: &[OperationId]) {
        for id in ids {
            if let Some(sheet) = self.sheets.get_mut(id) {
                sheet.linked = None;
            }
        }
    }

    /// Names that came with facts since they were last looked for, each with its holders. Receipts are remembered: a
    /// delivery that comes later may name nothing else.
    async fn learnt_names(&mut self) -> Result<BTreeMap<String, Vec<OperationId>>, LedgerError> {
        let mut learnt: BTreeMap<String, Vec<OperationId>> = BTreeMap::new();
        let mut receipts: Vec<(String, OperationId)> = Vec::new();
        for id in self.order.clone() {
            let sheet = self.sheets.get_mut(&id).ok_or_else(|| missing(&id))?;
            let before = sheet.linked.replace(sheet.decided);
            if before == Some(sheet.decided) {
                continue;
            }
            let tool = sheet.record.head.tool.clone();
            if self.tool(tool.as_ref()).await?.deliveries.is_none() {
                continue;
            }
            let sheet = self.sheet(&id)?;
            let mut names: BTreeSet<String> = BTreeSet::new();
            if before.is_none() {
                names.extend([sheet.record.head.key.to_string(), id.to_string()]);
            }
            for fact in sheet.record.facts.iter().take(sheet.decided).skip(before.unwrap_or(0)) {
                if let Some(receipt) = receipt_in(fact) {
                    names.insert(receipt.to_string());
                    receipts.push((receipt.to_string(), id.clone()));
                }
                if let Fact::Report(report) = fact {
                    names.extend(report.dest_key.as_ref().map(ToString::to_string));
                }
            }
            for name in names {
                learnt.entry(name).or_default().push(id.clone());
            }
        }
        let uses: Vec<(&str, &OperationId)> = receipts.iter().map(|(receipt, id)| (receipt.as_str(), id)).collect();
        self.tx.receipt_uses_insert(&uses, self.now).await?;
        Ok(learnt)
    }

    /// Links deliveries to those of these operations that they speak of, and decides upon what they say. Which operations
    /// hold new evidence.
    pub(crate) async fn link(
        &mut self,
        ids: &[OperationId],
        deliveries: &[Kept],
    ) -> Result<Vec<OperationId>, LedgerError> {
        self.lay(ids).await?;
        self.lay_sharers(ids).await?;
        let mut touched = Vec::new();
        for kept in deliveries {
            // Signed, and not for us to understand: it says nothing about anything.
            let Ok(body) = Json::parse(&kept.body) else { continue };
            for id in ids.iter().filter(|id| self.has(id)).cloned().collect::<Vec<_>>() {
                if let Some(evidence) = self.evidence_of(&id, kept, &body).await? {
                    let linked_by = evidence.linked_by;
                    self.add_fact(&id, Fact::Evidence(evidence))?;
                    self.tx.delivery_match_insert(&kept.row_id, &id, linked_by, self.now).await?;
                    touched.push(id);
                }
            }
        }
        let mut refold = Vec::new();
        touched.sort();
        touched.dedup();
        for id in &touched {
            refold.extend(self.decide_added(id, "delivery").await?.refold);
        }
        self.refold(refold).await?;
        Ok(touched)
    }

    /// What a delivery says about an operation; `None` where it speaks of another, says nothing of the outcome, or has
    /// said it already (I22).
    async fn evidence_of(
        &mut self,
        id: &OperationId,
        kept: &Kept,
        body: &Json,
    ) -> Result<Option<Evidence>, LedgerError> {
        let head = &self.sheet(id)?.record.head;
        let (name, destination) = (head.tool.clone(), head.destination.clone());
        let tool = self.tool(name.as_ref()).await?;
        let Some(template) = &tool.deliveries else { return Ok(None) };
        // A key or a receipt means something at one destination alone.
        if destination.or_else(|| tool.destination.clone()).as_ref() != Some(&kept.destination) {
            return Ok(None);
        }
        let event = kept.event.as_deref();
        let Some(named) = template.names_in(event, body) else { return Ok(None) };
        let record = &self.sheet(id)?.record;
        let Some(linked_by) = named.link_to(record) else { return Ok(None) };
        let (evidence_id, source) =
            (format!("webhook {} {}", kept.webhook, kept.id), SourceName::webhook(&kept.webhook));
        // Anybody may tell evidence of this id; nobody else under this name.
        if record.evidence().any(|evidence| evidence.id == evidence_id && evidence.source == source) {
            return Ok(None);
        }
        let sent_under = record.destination_keys().first().map(|key| (*key).clone());
        let bytes = self.arguments_in_force(id, i64::MAX).await?;
        let arguments = bytes.as_deref().and_then(|bytes| Json::parse(bytes).ok());
        let none = Json::Null;
        let head = &self.sheet(id)?.record.head;
        let names = Names {
            key: sent_under.as_ref(),
            operation_key: &head.key,
            operation_id: &head.id,
            receipt: Some(&named.receipt),
            arguments: arguments.as_ref().unwrap_or(&none),
            argument_bytes: bytes.as_deref().unwrap_or_default(),
        };
        // A place that cannot be filled in compares with nothing: it is not known to be ours.
        let Ok(Some(claim)) = template.claim(event, body, &names, &tool.stake, arguments.is_some()) else {
            return Ok(None);
        };
        Ok(Some(Evidence {
            id: evidence_id,
            source,
            claim,
            object: None,
            linked_by,
            key: credited_key(linked_by, named.key, sent_under),
            at: kept.received_at,
            provider_time: template.happened_at(body).or(kept.happened_at),
            sent_at: None,
        }))
    }
}

/// The key under which the receipt is credited to an attempt (K4): the one that it names, or the one that was sent.
fn credited_key(
    linked_by: LinkedBy,
    named: Option<DestinationKey>,
    sent_under: Option<DestinationKey>,
) -> Option<DestinationKey> {
    match linked_by {
        LinkedBy::Key => named,
        LinkedBy::Metadata | LinkedBy::Receipt => sent_under,
        LinkedBy::NaturalKey | LinkedBy::Manual => None,
    }
}

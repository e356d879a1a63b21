//! After a restore or a failover that may have lost commits (semantics 4.8): every guarded operation that is not final may
//! have been sent, and nothing is sent until a person has acknowledged what is gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tallystick_domain::attempt::ReportKind;
use tallystick_domain::name::OperationId;
use tallystick_domain::operation::{Fact, Mode, Record};
use tallystick_domain::outcome::BEFORE_RESTORE;
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;
use tallystick_domain::transition::Command;

use crate::audit::{Note, audit};
use crate::desk::Desk;
use crate::store::Tx;
use crate::{Ledger, LedgerError};

const RESTORE: &str = "restore";
const BATCH: u32 = 100;

/// A restore that was declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    /// The time of the copy.
    pub backup_at: Timestamp,
    /// When it was declared.
    pub declared_at: Timestamp,
    /// When a person acknowledged it, and who.
    pub acknowledged: Option<(Timestamp, String)>,
}

impl Restore {
    /// Whether nothing is sent because of it: nobody has acknowledged it.
    pub const fn is_unread(&self) -> bool {
        self.acknowledged.is_none()
    }
}

impl Ledger {
    /// Declares that the record is a copy of that time: from this commit on nothing is dispatched, and every guarded
    /// operation that is not final becomes uncertain (T45). Declared again after an interruption, it goes on. How many
    /// operations changed.
    pub async fn declare_restored(&self, by: &Actor, backup_at: Timestamp) -> Result<u32, LedgerError> {
        self.permit(by, Permission::Administer, RESTORE).await?;
        let (ids, actor) = (self.ids(), by.clone());
        self.store()
            .write(move |tx| {
                let (ids, by) = (Arc::clone(&ids), actor.clone());
                Box::pin(async move {
                    let now = tx.now().await?;
                    if backup_at > now {
                        let problem = format!("the copy cannot be of a later time than now, {now}");
                        return Err(Refusal::BadField { field: "backup_at".into(), problem }.into());
                    }
                    let restore = Restore { backup_at, declared_at: now, acknowledged: None };
                    save(tx, &restore).await?;
                    let detail = serde_json::json!({ "backup_at": backup_at.to_string() });
                    let note = Note { verb: "declare_restored", subject: RESTORE, status: "done", detail };
                    audit(tx, ids.as_ref(), now, &by, note).await
                })
            })
            .await?;
        let (mut after, mut changed) = (String::new(), 0);
        loop {
            let (from, by) = (after.clone(), by.clone());
            let batch = self.store().write(move |tx| {
                let (from, by) = (from.clone(), by.clone());
                Box::pin(async move { restore_batch(tx, &by, &from, backup_at).await })
            });
            let (last, count) = batch.await?;
            changed += count;
            match last {
                Some(last) => after = last,
                None => break,
            }
        }
        self.note_change();
        Ok(changed)
    }

    /// A person has read what is gone: dispatching goes on, and every guarded operation is judged again.
    ///
    /// With the time when the restore that was read was declared, no other one is acknowledged.
    pub async fn acknowledge_restore(&self, by: &Actor, seen: Option<Timestamp>) -> Result<Restore, LedgerError> {
        self.permit(by, Permission::Administer, RESTORE).await?;
        let (ids, actor) = (self.ids(), by.clone());
        let acknowledged = self.store().write(move |tx| {
            let (ids, by) = (Arc::clone(&ids), actor.clone());
            Box::pin(async move {
                let now = tx.now().await?;
                let is_meant = |restore: &Restore| seen.is_none_or(|seen| seen == restore.declared_at);
                let waits = |restore: &Restore| restore.is_unread() && is_meant(restore);
                let found = find(tx).await?.filter(waits);
                let Some(restore) = found else {
                    let problem = "no restore waits to be acknowledged".to_owned();
                    return Err(Refusal::BadField { field: RESTORE.into(), problem }.into());
                };
                let restore = Restore { acknowledged: Some((now, by.name.clone())), ..restore };
                save(tx, &restore).await?;
                for tool in tx.tools().await? {
                    tx.refold_insert(&ids.new_id(now), "tool", tool.name.as_str(), now).await?;
                }
                let detail = serde_json::json!({ "backup_at": restore.backup_at.to_string() });
                let note = Note { verb: "acknowledge_restore", subject: RESTORE, status: "done", detail };
                audit(tx, ids.as_ref(), now, &by, note).await?;
                Ok(restore)
            })
        });
        let restore = acknowledged.await?;
        self.note_change();
        self.finish_refolds().await?;
        Ok(restore)
    }

    /// Every process from before the restore is proved to have ended, by something outside them (K6): what they may have
    /// sent and the record has forgotten cannot come any more. Told again it changes nothing. How many operations learnt
    /// of it.
    pub async fn senders_before_restore_gone(&self, by: &Actor, proof: &str) -> Result<u32, LedgerError> {
        self.permit(by, Permission::Administer, RESTORE).await?;
        let (ids, told) = (self.ids(), Arc::new((by.clone(), proof.to_owned())));
        let noting = Arc::clone(&told);
        self.store()
            .write(move |tx| {
                let (ids, told) = (Arc::clone(&ids), Arc::clone(&noting));
                Box::pin(async move {
                    let now = tx.now().await?;
                    let detail = serde_json::json!({ "proof": told.1 });
                    let note = Note { verb: "senders_before_restore_gone", subject: RESTORE, status: "done", detail };
                    audit(tx, ids.as_ref(), now, &told.0, note).await
                })
            })
            .await?;
        let (mut after, mut changed) = (String::new(), 0);
        loop {
            let (from, told) = (after.clone(), Arc::clone(&told));
            let batch = self.store().write(move |tx| {
                let (from, told) = (from.clone(), Arc::clone(&told));
                Box::pin(async move { gone_batch(tx, &told.0, &from, &told.1).await })
            });
            let (last, count) = batch.await?;
            changed += count;
            match last {
                Some(last) => after = last,
                None => break,
            }
        }
        self.note_change();
        Ok(changed)
    }

    /// The last restore that was declared.
    pub async fn restore(&self, by: &Actor) -> Result<Option<Restore>, LedgerError> {
        self.permit(by, Permission::Read, RESTORE).await?;
        self.store().read(|tx| Box::pin(find(tx))).await
    }
}

async fn restore_batch(
    tx: &mut Tx,
    by: &Actor,
    after: &str,
    backup_at: Timestamp,
) -> Result<(Option<String>, u32), LedgerError> {
    let now = tx.now().await?;
    let ids = tx.operation_ids_guarded(after, BATCH).await?;
    let last = ids.last().map(|id| id.as_str().to_owned());
    let mut desk = Desk::open(tx, now, by).await?;
    let mut touched: Vec<OperationId> = Vec::new();
    let mut changed = 0;
    for id in &ids {
        desk.lay(std::slice::from_ref(id)).await?;
        let record = &desk.sheet(id)?.record;
        let is_told =
            record.facts.iter().any(|fact| matches!(fact, Fact::Restored { backup_at: of, .. } if *of == backup_at));
        if record.head.mode != Mode::Guarded || is_told {
            continue;
        }
        desk.lay_sharers(std::slice::from_ref(id)).await?;
        if let Ok(decision) = desk.decide(id, &Command::Restore { backup_at }, "restore").await? {
            changed += u32::from(!decision.facts.is_empty());
            touched.extend(decision.refold);
        }
    }
    desk.refold(touched).await?;
    desk.save().await?;
    Ok((last, changed))
}

async fn gone_batch(tx: &mut Tx, by: &Actor, after: &str, proof: &str) -> Result<(Option<String>, u32), LedgerError> {
    let now = tx.now().await?;
    let ids = tx.operation_ids_guarded(after, BATCH).await?;
    let last = ids.last().map(|id| id.as_str().to_owned());
    let mut desk = Desk::open(tx, now, by).await?;
    let mut touched: Vec<OperationId> = Vec::new();
    let mut changed = 0;
    let mut ended: Vec<(OperationId, String)> = Vec::new();
    for id in &ids {
        desk.lay(std::slice::from_ref(id)).await?;
        let gone = senders_before_restore(&desk.sheet(id)?.record);
        if gone.is_empty() {
            continue;
        }
        desk.lay_sharers(std::slice::from_ref(id)).await?;
        for incarnation in gone {
            let fact = Fact::SenderGone { incarnation: incarnation.clone(), at: now, proof: proof.into() };
            desk.add_fact(id, fact)?;
            ended.push((id.clone(), incarnation));
        }
        touched.extend(desk.decide_added(id, "sender_gone").await?.refold);
        changed += 1;
    }
    desk.refold(touched).await?;
    let tx = desk.save().await?;
    for (id, incarnation) in &ended {
        tx.sent_by_end(incarnation, id.as_str()).await?;
    }
    Ok((last, changed))
}

/// Who may have sent this operation before its last restore and is not proved to have ended: those on record, and whom the
/// record has forgotten.
fn senders_before_restore(record: &Record) -> Vec<String> {
    let restored = record.facts.acts().filter_map(|fact| match fact {
        Fact::Restored { at, .. } => Some(*at),
        _ => None,
    });
    let Some(restored_at) = restored.max() else { return Vec::new() };
    let forgotten = !record.is_gone_since(BEFORE_RESTORE, restored_at);
    let on_record = record.reports().filter_map(|report| match &report.kind {
        ReportKind::Dispatched(sent) if report.at <= restored_at => Some(&sent.incarnation),
        _ => None,
    });
    let on_record: BTreeSet<&String> = on_record.filter(|incarnation| !record.is_gone(incarnation)).collect();
    forgotten.then(|| BEFORE_RESTORE.to_owned()).into_iter().chain(on_record.into_iter().cloned()).collect()
}

/// Whether a restore waits to be acknowledged.
pub(crate) async fn pending(tx: &mut Tx) -> Result<bool, LedgerError> {
    Ok(find(tx).await?.is_some_and(|restore| restore.is_unread()))
}

async fn find(tx: &mut Tx) -> Result<Option<Restore>, LedgerError> {
    let Some((value, _)) = tx.setting(RESTORE).await? else { return Ok(None) };
    serde_json::from_str(&value)
        .map(Some)
        .map_err(|error| LedgerError::Corrupt { what: format!("setting restore: {error}") })
}

async fn save(tx: &mut Tx, restore: &Restore) -> Result<(), LedgerError> {
    let version = tx.setting(RESTORE).await?.map_or(0, |(_, version)| version) + 1;
    tx.setting_save(RESTORE, &crate::store::value::to_json(restore)?, version).await?;
    tx.tell("settings", RESTORE, version);
    Ok(())
}

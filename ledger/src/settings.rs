//! The workspace's settings.

use std::sync::Arc;

use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::refusal::Refusal;

use crate::audit::{Note, audit};
use crate::store::Tx;
use crate::{Ledger, LedgerError};

const ZONE: &str = "zone";

/// What can be set for the whole workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// An IANA zone name; times are shown in it.
    pub zone: String,
    /// Counts changes, for optimistic forms.
    pub version: u64,
}

impl Ledger {
    /// The settings in force. One short read; a change is told by the change feed.
    pub async fn settings(&self) -> Result<Settings, LedgerError> {
        self.store().read(|tx| Box::pin(read(tx))).await
    }

    /// Sets the workspace zone. The name is checked by the caller against the zone database.
    pub async fn set_zone(&self, by: &Actor, zone: &str, seen_version: u64) -> Result<Settings, LedgerError> {
        self.permit(by, Permission::Administer, "settings").await?;
        let (ids, by, zone) = (self.ids(), by.clone(), zone.to_owned());
        let settings = self.store().write(move |tx| {
            let (ids, by, zone) = (Arc::clone(&ids), by.clone(), zone.clone());
            Box::pin(async move {
                tx.lock_names([ZONE].into_iter()).await?;
                let now = tx.now().await?;
                let before = read(tx).await?;
                if before.version != seen_version {
                    return Err(Refusal::StaleVersion { seen: seen_version, current: before.version }.into());
                }
                let settings = Settings { zone, version: before.version + 1 };
                tx.setting_save(ZONE, &settings.zone, settings.version).await?;
                tx.tell("settings", ZONE, settings.version);
                let detail = serde_json::json!({ "before": before.zone, "after": settings.zone });
                audit(tx, ids.as_ref(), now, &by, Note { verb: "set_zone", subject: ZONE, status: "done", detail })
                    .await?;
                Ok(settings)
            })
        });
        let settings = settings.await?;
        self.note_change();
        Ok(settings)
    }
}

async fn read(tx: &mut Tx) -> Result<Settings, LedgerError> {
    let stored = tx.setting(ZONE).await?;
    Ok(stored.map_or(Settings { zone: "UTC".into(), version: 0 }, |(zone, version)| Settings { zone, version }))
}

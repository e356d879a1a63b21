//! A copy of the record, and the day it is needed: what was ordered, approved and sent since is unknown to it.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tallystick_domain::permission::Role;
use tallystick_domain::time::Timestamp;
use tallystick_ledger::{Ledger, OpenOptions};

use super::day::{patiently, tool_of};
use super::{Chaos, FLEETING};
use crate::scene::actor;

/// How old the copy is by the record's clock: the machine was away for a while before anybody put it in place.
const AGE: Duration = Duration::from_mins(5);

pub(super) struct Copy {
    at: Timestamp,
    /// The file of an embedded record.
    file: Option<PathBuf>,
}

impl Chaos {
    pub(super) async fn keep_copy(&mut self) {
        let at = patiently(async || self.scene.ledger.now().await).await.unwrap();
        let file = if let Some(cluster) = &mut self.cluster {
            // As a snapshot of its disk is: what a crash at this moment leaves.
            cluster.crash();
            cluster.keep_copy();
            cluster.start_again().await;
            self.note("database crashes", 1);
            None
        } else {
            let file = self.scene.folder.path().join("copy.db");
            let mut connection = sqlx::SqliteConnection::connect(&self.scene.url).await.unwrap();
            let sql = format!("VACUUM INTO '{}'", file.display());
            connection.execute(AssertSqlSafe(sql)).await.unwrap();
            connection.close().await.unwrap();
            Some(file)
        };
        self.copy = Some(Copy { at, file });
    }

    /// Everything stops; the copy is put in place and declared; an administrator has read what is gone, and vouches for the end
    /// of whatever ran before; everything starts again. The automation orders again what the record has lost.
    pub(super) async fn restore(&mut self) {
        let copy = self.copy.take().expect("a copy was kept");
        self.stop_outside().await;
        self.count_hits();
        self.kill_processes();
        self.scene.ledger.close().await;
        if let Some(cluster) = &mut self.cluster {
            cluster.crash();
            cluster.put_copy_back();
            cluster.start_again().await;
        } else {
            self.put_file_back(&copy);
        }
        let options = OpenOptions { url: self.scene.url.clone(), migrate: false };
        self.scene.ledger = Ledger::open(&options).await.unwrap();
        self.scene.offset += AGE;
        self.set_clock().await;
        let ada = actor("ada", Role::Administrator);
        let ledger = self.scene.ledger.clone();
        ledger.declare_restored(&ada, copy.at).await.unwrap();
        ledger.acknowledge_restore(&ada, None).await.unwrap();
        ledger.senders_before_restore_gone(&ada, "every process of the run was killed").await.unwrap();
        self.note("restores", 1);
        self.order_again().await;
        self.start_everybody();
    }

    fn put_file_back(&self, copy: &Copy) {
        let file = self.scene.url.strip_prefix("sqlite:").unwrap();
        for beside in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{file}{beside}"));
        }
        std::fs::copy(copy.file.as_ref().unwrap(), file).unwrap();
    }

    /// Under the same keys: the caller has them, whatever the record has lost. A key that the destination forgets sooner than
    /// the record is back does not protect a repeat of what nobody remembers (4.8 (1)): there the caller asks the destination
    /// first, and does not order again what is there.
    async fn order_again(&mut self) {
        let known: Vec<_> = self.rows().await.into_iter().map(|row| row.head.id).collect();
        let made = self.scene.destination.report().made;
        let mut ids = Vec::new();
        for number in 0..self.orders {
            let id = self.scene.ids[number].clone();
            let key = format!("order-{number}");
            if known.contains(&id) {
                ids.push(id);
                continue;
            }
            self.note("orders forgotten", 1);
            if tool_of(number) == FLEETING && made.contains_key(&key) {
                self.found_done.push(key);
            } else {
                ids.push(self.propose(number).await);
            }
        }
        self.scene.ids = ids;
    }
}

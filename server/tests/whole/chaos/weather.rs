//! What befalls a run.

use std::time::Duration;

use tallystick_destination::{Contract, LookUps, Plan};

use super::Chaos;
use crate::scene::administer_at;

/// For how long the database is away.
const AWAY: Duration = Duration::from_secs(2);

/// What comes once, whatever chance says.
#[derive(Debug, Clone, Copy)]
pub(super) enum Blow {
    /// The database ends at once and comes back.
    DatabaseCrash,
    /// A copy of the record is kept.
    Copy,
    /// The record is lost, and the copy put in its place.
    Restore,
}

impl Blow {
    /// What comes when so many of a hundred orders are there.
    pub(super) const SCHEDULE: [(u8, Self); 5] = [
        (20, Self::DatabaseCrash),
        (45, Self::Copy),
        (60, Self::Restore),
        (75, Self::DatabaseCrash),
        (95, Self::DatabaseCrash),
    ];
}

impl Chaos {
    /// How the destination behaves from now on: so many of a thousand writes go wrong.
    pub(super) fn behave(&self, permille: u32, look_ups: LookUps) {
        let contract = Contract { look_ups, ..Contract::default() };
        self.scene.destination.set_plan(Plan { contract, permille, seed: self.run.seed, ..Plan::default() });
    }

    /// One blow, by chance.
    pub(super) async fn strike(&mut self) {
        let victim = usize::try_from(self.chance.below(self.processes.len() as u64)).unwrap();
        match self.chance.below(12) {
            0 => self.processes[victim].signal_kill(),
            1 | 2 => self.processes[victim].freeze_for(Duration::from_millis(700 + self.chance.below(900))),
            3 => self.behave(300, LookUps::Down),
            4 | 5 => self.behave(300, LookUps::Strong),
            6 => self.break_connections().await,
            _ => {}
        }
    }

    async fn break_connections(&self) {
        let Some(cluster) = &self.cluster else { return };
        let name = self.scene.database.clone().unwrap_or_default();
        let sql = format!("SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}'");
        administer_at(&cluster.url(), &sql).await;
    }

    pub(super) async fn suffer(&mut self, blow: Blow) {
        match blow {
            Blow::DatabaseCrash => self.crash_database().await,
            Blow::Copy => self.keep_copy().await,
            Blow::Restore => self.restore().await,
        }
    }

    /// Everybody finds it away, in the middle of whatever they do, and goes on once it is back.
    async fn crash_database(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.crash();
        tokio::time::sleep(AWAY).await;
        cluster.start_again().await;
        self.note("database crashes", 1);
    }
}

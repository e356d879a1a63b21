//! The schema: embedded migrations in pairs, applied in one transaction, and refused when they are not ours.

use tallystick_domain::fingerprint::Hash;

use super::value::Value;
use super::{Store, Tx, postgres, sqlite};
use crate::LedgerError;

/// One step, in both dialects. Never edited after it landed.
struct Migration {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! migration {
    ($version:literal, $name:literal) => {
        Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../../../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../../migrations/postgres/", $name, ".sql")),
        }
    };
}

const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_record"),
    migration!(2, "0002_intent"),
    migration!(3, "0003_execution"),
    migration!(4, "0004_workflows"),
    migration!(5, "0005_deliveries"),
    migration!(6, "0006_bulk"),
    migration!(7, "0007_catalog"),
    migration!(8, "0008_queue"),
    migration!(9, "0009_outcomes"),
    migration!(10, "0010_layers"),
    migration!(11, "0011_budget"),
];

/// The newest schema that this binary knows.
pub(crate) const KNOWN_VERSION: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

const VERSION: &str = "SELECT COALESCE(MAX(version), 0) FROM schema_migration";
const RECORD: &str = "INSERT INTO schema_migration (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)";

/// Refuses a schema of another edition, or brings an older one up to date.
pub(crate) async fn settle_schema(store: &Store, may_migrate: bool) -> Result<(), LedgerError> {
    let found = store.read(|tx| Box::pin(schema_version(tx))).await?;
    if found == KNOWN_VERSION {
        return Ok(());
    }
    refuse_other(found, may_migrate)?;
    store.write(|tx| Box::pin(apply(tx))).await
}

/// Whether the schema is the one this binary knows.
pub(crate) async fn check_schema(tx: &mut Tx) -> Result<(), LedgerError> {
    let found = schema_version(tx).await?;
    if found == KNOWN_VERSION { Ok(()) } else { refuse_other(found, false) }
}

fn refuse_other(found: i64, may_migrate: bool) -> Result<(), LedgerError> {
    if found > KNOWN_VERSION {
        let advice = "use a newer binary; this one would misread the record";
        return Err(LedgerError::Schema { found, known: KNOWN_VERSION, advice });
    }
    if may_migrate {
        return Ok(());
    }
    let advice = "run `tallystick migrate`, or start with migrating allowed";
    Err(LedgerError::Schema { found, known: KNOWN_VERSION, advice })
}

async fn schema_version(tx: &mut Tx) -> Result<i64, LedgerError> {
    let exists = tx.fetch_one(tx.pick(sqlite::SCHEMA_TABLE_EXISTS, postgres::SCHEMA_TABLE_EXISTS), Vec::new()).await?;
    let exists = exists.map(|mut row| row.int()).transpose()?;
    if exists != Some(1) {
        return Ok(0);
    }
    let version = tx.fetch_one(VERSION, Vec::new()).await?;
    version.map_or(Ok(0), |mut row| row.int())
}

/// Runs inside the write transaction, so two processes that start together apply each step once.
async fn apply(tx: &mut Tx) -> Result<(), LedgerError> {
    if tx.is_postgres() {
        tx.fetch(postgres::LOCK_SCHEMA, Vec::new()).await?;
    }
    tx.execute(tx.pick(sqlite::SCHEMA_TABLE, postgres::SCHEMA_TABLE), Vec::new()).await?;
    let found = schema_version(tx).await?;
    for step in MIGRATIONS.iter().filter(|step| step.version > found) {
        let script = tx.pick(step.sqlite, step.postgres);
        tx.execute_script(script).await?;
        let now = tx.fetch_one(tx.pick("SELECT unixepoch() * 1000000", postgres_now()), Vec::new()).await?;
        let at = now.map_or(Ok(0), |mut row| row.int())?;
        let row: Vec<Value> =
            vec![step.version.into(), step.name.into(), Hash::of(script.as_bytes()).into(), at.into()];
        tx.execute(RECORD, row).await?;
        tracing::info!(schema.version = step.version, "Applied the schema step {}", step.name);
    }
    Ok(())
}

const fn postgres_now() -> &'static str {
    "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::INT8"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_file_is_embedded_under_the_same_name_for_both_engines() {
        let names = |engine: &str| {
            let folder = format!("{}/../migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
            let mut names: Vec<_> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        let embedded: Vec<_> = MIGRATIONS.iter().map(|step| format!("{}.sql", step.name)).collect();
        assert_eq!(names("sqlite"), embedded);
        assert_eq!(names("postgres"), embedded);
        for (at, step) in (1..).zip(MIGRATIONS) {
            assert_eq!(step.version, at);
            assert!(step.name.starts_with(&format!("{at:04}_")));
        }
    }
}

//! The contract of the record: every test runs on both engines, through the public `Ledger`.
//!
//! PostgreSQL is found by `TALLYSTICK_TEST_POSTGRES` (the URL of a database whose user may create others). Without it
//! these tests fail: `cargo xtask test` starts a server of its own. What only one engine can show is in `only_sqlite`
//! and `only_postgres`.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

/// Registers each test once under `sqlite` and once under `postgres`.
macro_rules! on_both {
    ($($name:ident,)*) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(crate::rig::Rig::sqlite().await).await;
                }
            )*
        }
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(crate::rig::Rig::postgres().await).await;
                }
            )*
        }
    };
}

mod acting;
mod approvals;
mod bulk;
mod crash;
mod deliveries;
mod executing;
mod feed;
mod intake;
mod layers;
mod lists;
mod only_postgres;
mod only_sqlite;
mod outcomes;
mod people;
mod proposing;
mod rig;
mod schema;
mod sweeping;
mod tools;
mod trails;
mod verifying;
mod workflows;

//! What the record needs from outside: row ids. (Its clock is the database's.)

use std::sync::Mutex;

use tallystick_domain::time::Timestamp;
use uuid::{ContextV7, Uuid};

/// Makes row ids.
pub trait Ids: Send + Sync + 'static {
    /// A new `UUIDv7` in text form, carrying the record's time; ids made later in one process sort later.
    fn new_id(&self, now: Timestamp) -> String;
}

/// The ids of a real process.
#[derive(Default)]
pub struct UuidV7Ids {
    // Counts up within a millisecond, so that a batch keeps its order.
    context: Mutex<Option<ContextV7>>,
}

impl Ids for UuidV7Ids {
    fn new_id(&self, now: Timestamp) -> String {
        let micros = u64::try_from(now.as_micros()).unwrap_or(0);
        let (seconds, nanos) = (micros / 1_000_000, u32::try_from(micros % 1_000_000 * 1_000).unwrap_or(0));
        let mut context = self.context.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let context = context.get_or_insert_with(ContextV7::new);
        Uuid::new_v7(uuid::Timestamp::from_unix(&*context, seconds, nanos)).to_string()
    }
}

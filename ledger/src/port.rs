//! What the record needs from outside.

/// Makes row ids.
pub trait Ids: Send + Sync + 'static {
    /// A new UUIDv7 in text form.
    fn new_id(&self) -> String;
}

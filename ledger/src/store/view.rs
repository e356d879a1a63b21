//! Lists as a person likes to see them.

use tallystick_domain::time::Timestamp;

use super::{Tx, WORKSPACE};
use crate::LedgerError;
use crate::views::{Place, SavedView};

/// Index: primary key of `saved_view`.
const OF_PERSON: &str = "SELECT name, query FROM saved_view
     WHERE workspace_id = $1 AND principal_id = $2 AND place = $3 ORDER BY name LIMIT 200";
const SAVE: &str = "INSERT INTO saved_view (workspace_id, principal_id, place, name, query, saved_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (workspace_id, principal_id, place, name) DO UPDATE
     SET query = excluded.query, saved_at = excluded.saved_at";
const FORGET: &str = "DELETE FROM saved_view
     WHERE workspace_id = $1 AND principal_id = $2 AND place = $3 AND name = $4";

impl Tx {
    /// A person's views of a place, by name.
    pub(crate) async fn views_of(&mut self, person: &str, place: Place) -> Result<Vec<SavedView>, LedgerError> {
        let rows = self.fetch(OF_PERSON, vec![WORKSPACE.into(), person.into(), place.name().into()]).await?;
        rows.into_iter().map(|mut cells| Ok(SavedView { name: cells.text()?, query: cells.text()? })).collect()
    }

    /// Saves a view in place of the one with its name.
    pub(crate) async fn view_save(
        &mut self,
        person: &str,
        place: Place,
        view: &SavedView,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let args = vec![
            WORKSPACE.into(),
            person.into(),
            place.name().into(),
            view.name.as_str().into(),
            view.query.as_str().into(),
            now.into(),
        ];
        self.execute(SAVE, args).await.map(|_| ())
    }

    /// Forgets a view.
    pub(crate) async fn view_forget(&mut self, person: &str, place: Place, name: &str) -> Result<(), LedgerError> {
        let args = vec![WORKSPACE.into(), person.into(), place.name().into(), name.into()];
        self.execute(FORGET, args).await.map(|_| ())
    }
}

//! Saved views, read and written in the pages' words.

use tallystick_domain::refusal::Refusal;
use tallystick_domain::view::encoded;
use tallystick_domain::view::list::SavedViewLine;
use tallystick_ledger::LedgerError;
use tallystick_ledger::views::{Place, SavedView};

use super::{Reader, not_found, told};
use crate::api::ApiError;

impl Reader {
    /// The reader's views of a list.
    pub(super) async fn views(&self, place: Place) -> Result<Vec<SavedViewLine>, ApiError> {
        let views = self.ledger.saved_views(&self.actor, place).await.map_err(told)?;
        Ok(views.into_iter().map(|SavedView { name, query }| SavedViewLine { name, query }).collect())
    }

    /// Saves a view and leads back to the list, which says what came of it.
    pub async fn save_view(&self, place: &str, query: String, name: String) -> Result<(), ApiError> {
        let place = Place::parse(place).ok_or_else(|| not_found("list"))?;
        let back = query.clone();
        match self.ledger.save_view(&self.actor, place, SavedView { name, query }).await {
            // A name or a query that cannot be saved: the list says so in place.
            Err(LedgerError::Refused(Refusal::BadField { field, .. })) => lead_back(place, &back, "not_saved", &field),
            answer => {
                answer.map_err(told)?;
                lead_back(place, &back, "view", "saved");
            }
        }
        Ok(())
    }

    /// Forgets a view and leads back to the list.
    pub async fn forget_view(&self, place: &str, query: &str, name: &str) -> Result<(), ApiError> {
        let place = Place::parse(place).ok_or_else(|| not_found("list"))?;
        self.ledger.forget_view(&self.actor, place, name).await.map_err(told)?;
        lead_back(place, query, "view", "forgotten");
        Ok(())
    }
}

/// The query is what the form sent. It stands behind the question mark, so it leads nowhere else; what an address cannot hold
/// is left out.
fn lead_back(place: Place, query: &str, said: &str, what: &str) {
    let path = match place {
        Place::Queue => "/",
        Place::Operations => "/operations",
    };
    let is_plain = |pair: &&str| pair.bytes().all(|byte| matches!(byte, b'!'..=b'~') && byte != b'#');
    let kept = query.split('&').filter(is_plain).filter(|pair| !pair.is_empty());
    let last = format!("{said}={}", encoded(what));
    let query = kept.chain([last.as_str()]).collect::<Vec<_>>().join("&");
    leptos_axum::redirect(&format!("{path}?{query}"));
}

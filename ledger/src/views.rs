//! Saved views: a list as a person likes to see it, under a name of theirs. Each person has their own; nobody else sees them.

use std::sync::Arc;

use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::refusal::Refusal;

use crate::{Ledger, LedgerError};

/// How many views of one place a person may have.
pub const VIEWS_LIMIT: usize = 50;
/// The most characters of a name, and of a query.
const NAME_LIMIT: usize = 60;
const QUERY_LIMIT: usize = 2_000;

/// Which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// What waits for a person.
    Queue,
    /// Every operation.
    Operations,
}

impl Place {
    /// Its name in the record and in forms.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Operations => "operations",
        }
    }

    /// The one with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Queue, Self::Operations].into_iter().find(|place| place.name() == name)
    }
}

/// A list under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedView {
    /// Its name, unique among the person's views of the place.
    pub name: String,
    /// The query of the list's address, without the question mark.
    pub query: String,
}

impl Ledger {
    /// The reader's views of a place, by name.
    pub async fn saved_views(&self, by: &Actor, place: Place) -> Result<Vec<SavedView>, LedgerError> {
        self.permit(by, Permission::Read, place.name()).await?;
        let person = by.id.clone();
        self.store()
            .read(move |tx| {
                let person = person.clone();
                Box::pin(async move { tx.views_of(person.as_str(), place).await })
            })
            .await
    }

    /// Saves a view of the reader's, in place of the one with its name. Pressing twice saves one.
    pub async fn save_view(&self, by: &Actor, place: Place, view: SavedView) -> Result<(), LedgerError> {
        self.permit(by, Permission::Read, place.name()).await?;
        let view = SavedView { name: view.name.trim().to_owned(), ..view };
        check(&view)?;
        let (person, view) = (by.id.clone(), Arc::new(view));
        self.store()
            .write(move |tx| {
                let (person, view) = (person.clone(), Arc::clone(&view));
                Box::pin(async move {
                    let now = tx.now().await?;
                    let known = tx.views_of(person.as_str(), place).await?;
                    if known.len() >= VIEWS_LIMIT && known.iter().all(|known| known.name != view.name) {
                        return Err(bad("name", format!("is one more than {VIEWS_LIMIT}; forget a view first")).into());
                    }
                    tx.view_save(person.as_str(), place, &view, now).await
                })
            })
            .await
    }

    /// Forgets a view of the reader's. One that is not there is forgotten already.
    pub async fn forget_view(&self, by: &Actor, place: Place, name: &str) -> Result<(), LedgerError> {
        self.permit(by, Permission::Read, place.name()).await?;
        let (person, name) = (by.id.clone(), name.to_owned());
        self.store()
            .write(move |tx| {
                let (person, name) = (person.clone(), name.clone());
                Box::pin(async move { tx.view_forget(person.as_str(), place, &name).await })
            })
            .await
    }
}

fn check(view: &SavedView) -> Result<(), Refusal> {
    let SavedView { name, query } = view;
    if name.is_empty() || name.chars().count() > NAME_LIMIT || name.chars().any(char::is_control) {
        return Err(bad("name", format!("must be 1 to {NAME_LIMIT} characters that can be printed")));
    }
    if query.is_empty() {
        return Err(bad(
            "query",
            "is empty: filter or order the list first; the whole list has an address already".into(),
        ));
    }
    // The part of an address on this console and nothing that could lead elsewhere.
    if query.chars().count() > QUERY_LIMIT || !query.bytes().all(|byte| matches!(byte, b'!'..=b'~') && byte != b'#') {
        return Err(bad("query", format!("must be at most {QUERY_LIMIT} characters of an address's query")));
    }
    Ok(())
}

fn bad(field: &str, problem: String) -> Refusal {
    Refusal::BadField { field: field.into(), problem }
}

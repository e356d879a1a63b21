//! What is declared rarely and read in every transaction: tools, sources, settings, the scopes of destinations. A process
//! keeps what it has read for as long as the record's token for it stays the same; every transaction reads the token with
//! its clock.
//!
//! The token is changed by the database itself (migration `0007_catalog`), whoever writes: another process, an older build, a
//! person with `psql`. It is random, so that a restored copy whose declarations then go another way is never taken for
//! what was kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tallystick_domain::lease::Scope;
use tallystick_domain::tool::Tool;

use crate::tools::Source;

/// What was read under one token. Nothing of a transaction that writes any of it is ever put here.
#[derive(Default)]
struct Kept {
    token: String,
    tools: HashMap<String, Option<Tool>>,
    sources: Option<Vec<Source>>,
    settings: HashMap<String, Option<(String, u64)>>,
    scopes: HashMap<String, Option<Scope>>,
}

/// What is known of one declaration.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known<T> {
    /// It was not read under this token.
    Unread,
    /// As it was read; none where there is none.
    Read(Option<T>),
}

impl<T: Clone> Known<T> {
    fn of(kept: Option<&Option<T>>) -> Self {
        kept.map_or(Self::Unread, |read| Self::Read(read.clone()))
    }
}

/// What this process keeps, shared by its transactions.
#[derive(Clone, Default)]
pub(crate) struct Catalog(Arc<Mutex<Kept>>);

/// The declarations as they stand in one transaction: under the token that it read.
#[derive(Clone)]
pub(super) struct Standing {
    token: String,
    catalog: Catalog,
}

impl Catalog {
    /// What stands under a token. Whatever was kept under another one is forgotten.
    pub(super) fn under(&self, token: String) -> Standing {
        let mut kept = self.lock();
        if kept.token != token {
            *kept = Kept { token: token.clone(), ..Kept::default() };
        }
        drop(kept);
        Standing { token, catalog: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Standing {
    /// What is kept, unless another transaction has read a newer token since.
    fn kept(&self) -> Option<MutexGuard<'_, Kept>> {
        Some(self.catalog.lock()).filter(|kept| kept.token == self.token)
    }

    pub(super) fn tool(&self, name: &str) -> Known<Tool> {
        self.kept().map_or(Known::Unread, |kept| Known::of(kept.tools.get(name)))
    }

    pub(super) fn keep_tool(&self, name: &str, tool: Option<&Tool>) {
        if let Some(mut kept) = self.kept() {
            kept.tools.insert(name.to_owned(), tool.cloned());
        }
    }

    pub(super) fn sources(&self) -> Option<Vec<Source>> {
        self.kept()?.sources.clone()
    }

    pub(super) fn keep_sources(&self, sources: &[Source]) {
        if let Some(mut kept) = self.kept() {
            kept.sources = Some(sources.to_vec());
        }
    }

    pub(super) fn scope(&self, destination: &str) -> Known<Scope> {
        self.kept().map_or(Known::Unread, |kept| Known::of(kept.scopes.get(destination)))
    }

    pub(super) fn keep_scope(&self, destination: &str, scope: Option<&Scope>) {
        if let Some(mut kept) = self.kept() {
            kept.scopes.insert(destination.to_owned(), scope.cloned());
        }
    }

    pub(super) fn setting(&self, name: &str) -> Known<(String, u64)> {
        self.kept().map_or(Known::Unread, |kept| Known::of(kept.settings.get(name)))
    }

    pub(super) fn keep_setting(&self, name: &str, setting: Option<&(String, u64)>) {
        if let Some(mut kept) = self.kept() {
            kept.settings.insert(name.to_owned(), setting.cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_counts_under_its_own_token_alone() {
        let catalog = Catalog::default();
        let early = catalog.under("a".into());
        early.keep_setting("zone", Some(&("UTC".into(), 1)));
        assert_eq!(catalog.under("a".into()).setting("zone"), Known::Read(Some(("UTC".into(), 1))));
        let late = catalog.under("b".into());
        assert_eq!(late.setting("zone"), Known::Unread);
        // Who still stands under the earlier token neither reads nor keeps under the later one.
        early.keep_setting("zone", Some(&("UTC".into(), 1)));
        assert_eq!((early.setting("zone"), late.setting("zone")), (Known::Unread, Known::Unread));
    }
}

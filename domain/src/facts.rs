//! The facts of one operation: only ever added, and shared, because a decision lays a record out with what is new
//! beside what it was, and a record may hold thousands.

use std::sync::Arc;

use crate::operation::Fact;

/// Facts in the order in which they were recorded. No rule depends on that order but among a person's own acts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts(Vec<Arc<Fact>>);

impl Facts {
    /// None.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them, oldest first.
    pub fn iter(&self) -> Iter<'_> {
        self.0.iter().map(Arc::as_ref)
    }

    /// Adds one.
    pub fn push(&mut self, fact: Fact) {
        self.0.push(Arc::new(fact));
    }

    /// Whether an equal one is there.
    pub fn contains(&self, fact: &Fact) -> bool {
        self.iter().any(|other| other == fact)
    }

    /// Takes the facts from this place on away.
    pub fn split_off(&mut self, at: usize) -> Vec<Fact> {
        self.0
            .split_off(at)
            .into_iter()
            .map(|fact| Arc::try_unwrap(fact).unwrap_or_else(|shared| (*shared).clone()))
            .collect()
    }
}

/// Facts, oldest first.
pub type Iter<'a> = std::iter::Map<std::slice::Iter<'a, Arc<Fact>>, fn(&'a Arc<Fact>) -> &'a Fact>;

impl<'a> IntoIterator for &'a Facts {
    type Item = &'a Fact;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl Extend<Fact> for Facts {
    fn extend<I: IntoIterator<Item = Fact>>(&mut self, facts: I) {
        self.0.extend(facts.into_iter().map(Arc::new));
    }
}

impl FromIterator<Fact> for Facts {
    fn from_iter<I: IntoIterator<Item = Fact>>(facts: I) -> Self {
        Self(facts.into_iter().map(Arc::new).collect())
    }
}

impl From<Vec<Fact>> for Facts {
    fn from(facts: Vec<Fact>) -> Self {
        facts.into_iter().collect()
    }
}

impl serde::Serialize for Facts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

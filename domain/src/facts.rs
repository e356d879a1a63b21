//! The facts of one operation: only ever added, and shared, because a decision lays a record out with what is new
//! beside what it was, and a record may hold thousands.
//!
//! Nearly all facts of a long record are reports and evidence, and most rules ask about something else: each kind is found
//! without walking past the others.

use std::sync::Arc;

use crate::attempt::Report;
use crate::evidence::Evidence;
use crate::operation::Fact;

/// Facts in the order in which they were recorded. No rule depends on that order but among a person's own acts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    all: Vec<Arc<Fact>>,
    /// Where the reports stand.
    reports: Vec<usize>,
    /// Where the evidence stands.
    evidence: Vec<usize>,
    /// Where everything else stands.
    acts: Vec<usize>,
}

impl Facts {
    /// None.
    pub const fn new() -> Self {
        Self { all: Vec::new(), reports: Vec::new(), evidence: Vec::new(), acts: Vec::new() }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Each of them, oldest first.
    pub fn iter(&self) -> Iter<'_> {
        self.all.iter().map(Arc::as_ref)
    }

    /// The reports about sends, oldest first.
    pub fn reports(&self) -> impl DoubleEndedIterator<Item = &Report> {
        self.at(&self.reports).filter_map(|fact| match fact {
            Fact::Report(report) => Some(report),
            _ => None,
        })
    }

    /// The evidence, oldest first.
    pub fn evidence(&self) -> impl DoubleEndedIterator<Item = &Evidence> {
        self.at(&self.evidence).filter_map(|fact| match fact {
            Fact::Evidence(evidence) => Some(evidence),
            _ => None,
        })
    }

    /// What is neither a report nor evidence, oldest first: proposals, leases, what people did.
    pub fn acts(&self) -> impl DoubleEndedIterator<Item = &Fact> {
        self.at(&self.acts)
    }

    fn at<'a>(&'a self, places: &'a [usize]) -> impl DoubleEndedIterator<Item = &'a Fact> {
        places.iter().filter_map(|place| self.all.get(*place)).map(Arc::as_ref)
    }

    /// Adds one.
    pub fn push(&mut self, fact: Fact) {
        self.note(&fact);
        self.all.push(Arc::new(fact));
    }

    fn note(&mut self, fact: &Fact) {
        let places = match fact {
            Fact::Report(_) => &mut self.reports,
            Fact::Evidence(_) => &mut self.evidence,
            _ => &mut self.acts,
        };
        places.push(self.all.len());
    }

    /// Whether an equal one is there.
    pub fn contains(&self, fact: &Fact) -> bool {
        self.iter().any(|other| other == fact)
    }

    /// Takes the facts from this place on away.
    pub fn split_off(&mut self, at: usize) -> Vec<Fact> {
        for places in [&mut self.reports, &mut self.evidence, &mut self.acts] {
            places.truncate(places.partition_point(|place| *place < at));
        }
        let taken = self.all.split_off(at).into_iter();
        taken.map(|fact| Arc::try_unwrap(fact).unwrap_or_else(|shared| (*shared).clone())).collect()
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
        facts.into_iter().for_each(|fact| self.push(fact));
    }
}

impl FromIterator<Fact> for Facts {
    fn from_iter<I: IntoIterator<Item = Fact>>(facts: I) -> Self {
        let mut all = Self::new();
        all.extend(facts);
        all
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, keyed, timed_out};
    use crate::tool::Class;

    #[test]
    fn each_kind_is_found_in_its_order_also_after_some_were_taken_away() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.send_and_end("op", timed_out());
        rig.receipt("op", "in_1");
        let mut facts = rig.record("op").facts.clone();
        let counts = |facts: &Facts| (facts.reports().count(), facts.evidence().count(), facts.acts().count());
        assert_eq!(counts(&facts), (2, 1, 3), "dispatch and end; a receipt; proposal, approval, claim");
        let acts: Vec<_> = facts.iter().filter(|fact| !matches!(fact, Fact::Report(_) | Fact::Evidence(_))).collect();
        assert_eq!(facts.acts().collect::<Vec<_>>(), acts);
        let (before, length) = (facts.clone(), facts.len());
        let taken = facts.split_off(length - 2);
        assert_eq!(counts(&facts), (1, 0, 3));
        facts.extend(taken);
        assert_eq!(facts, before);
    }
}

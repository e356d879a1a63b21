//! Which receipts name one effect (semantics 3.1, receipt identity): an object of a kind that the contract declares as an
//! alias, and the object that it belongs to. Undeclared, different names are different effects.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::EffectIdentity;
use crate::evidence::PartOf;
use crate::name::Receipt;

/// The effect that each alias names.
#[derive(Debug, Default)]
pub(super) struct Aliases(BTreeMap<Receipt, Receipt>);

impl Aliases {
    /// Reads what facts tell about receipts. One that is told to belong to several objects is an alias of none: what is
    /// unclear counts as an effect of its own.
    pub(super) fn of<'a>(
        identity: Option<&EffectIdentity>,
        told: impl Iterator<Item = (&'a Receipt, &'a PartOf)>,
    ) -> Self {
        let Some(identity) = identity.filter(|identity| !identity.aliases.is_empty()) else { return Self::default() };
        let mut wholes: BTreeMap<&Receipt, BTreeSet<&Receipt>> = BTreeMap::new();
        for (receipt, object) in told.filter(|(_, object)| identity.aliases.contains(&object.kind)) {
            wholes.entry(receipt).or_default().insert(&object.part_of);
        }
        let whole_of = |receipt: &Receipt| match wholes.get(receipt) {
            Some(wholes) if wholes.len() == 1 => wholes.first().copied(),
            _ => None,
        };
        let root_of = |receipt: &'a Receipt| {
            let (mut root, mut seen) = (receipt, BTreeSet::from([receipt]));
            while let Some(next) = whole_of(root) {
                // A circle has no whole.
                if !seen.insert(next) {
                    return None;
                }
                root = next;
            }
            (root != receipt).then(|| root.clone())
        };
        Self(wholes.keys().filter_map(|receipt| Some(((*receipt).clone(), root_of(receipt)?))).collect())
    }

    /// The receipt of the effect that this one names.
    pub(super) fn effect_of<'a>(&'a self, receipt: &'a Receipt) -> &'a Receipt {
        self.0.get(receipt).unwrap_or(receipt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::receipt;

    fn aliases(told: &[(&str, &str, &str)]) -> impl Fn(&str) -> String {
        let identity = EffectIdentity { object: "payment_intent".into(), aliases: vec!["charge".into(), "fee".into()] };
        let told: Vec<_> = told
            .iter()
            .map(|(name, kind, part_of)| (receipt(name), PartOf { kind: (*kind).into(), part_of: receipt(part_of) }))
            .collect();
        let aliases = Aliases::of(Some(&identity), told.iter().map(|(receipt, object)| (receipt, object)));
        move |name| aliases.effect_of(&receipt(name)).to_string()
    }

    #[test]
    fn an_alias_of_an_alias_names_the_whole() {
        let effect_of = aliases(&[("ch_1", "charge", "pi_1"), ("fee_1", "fee", "ch_1")]);
        assert_eq!([effect_of("fee_1"), effect_of("ch_1"), effect_of("pi_1")], ["pi_1", "pi_1", "pi_1"]);
    }

    #[test]
    fn what_is_undeclared_or_unclear_or_goes_round_is_an_effect_of_its_own() {
        let effect_of = aliases(&[
            ("re_1", "refund", "pi_1"),
            ("ch_2", "charge", "pi_1"),
            ("ch_2", "charge", "pi_2"),
            ("ch_3", "charge", "ch_4"),
            ("ch_4", "charge", "ch_3"),
        ]);
        for name in ["re_1", "ch_2", "ch_3", "ch_4"] {
            assert_eq!(effect_of(name), name);
        }
    }
}

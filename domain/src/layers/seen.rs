//! Layers as they were seen on attempts, beside those that were declared.

use super::{Attempts, Layer, RetryClass, retries_beside};
use crate::contract::{Contract, LayerRetries};
use crate::name::LayerName;
use crate::operation::{Finding, Severity};

/// The declared layers, and those that nobody declared and that made attempts. Of these a known one is taken as it comes;
/// how often another sends is not known.
pub fn with_seen<'a>(declared: Vec<Layer>, seen: impl IntoIterator<Item = &'a LayerName>) -> Vec<Layer> {
    let mut layers = declared;
    for name in seen {
        if layers.iter().all(|layer| layer.name != *name) {
            let attempts = super::known_layer(name.as_str()).and_then(|known| known.default);
            layers.push(Layer { name: name.clone(), attempts, on: Vec::new(), timeout: None });
        }
    }
    layers
}

/// Whether a layer sends the same again. Who plans anew stands above the sender, and makes another proposal of it.
fn repeats(layer: &Layer) -> bool {
    layer.classes().iter().any(|class| *class != RetryClass::Replanning)
}

/// How many sends one attempt on record can stand for: the product over the layers that retry and made no attempt of their
/// own. They are named, the first first.
pub fn hidden_sends<'l>(layers: &'l [Layer], seen: &[&LayerName]) -> (Attempts, Vec<&'l LayerName>) {
    let below: Vec<&Layer> = layers.iter().filter(|layer| repeats(layer) && !seen.contains(&&layer.name)).collect();
    let product = below.iter().filter_map(|layer| layer.attempts).fold(Attempts::Fixed(1), Attempts::times);
    (product, below.into_iter().map(|layer| &layer.name).collect())
}

/// That the contract says that nothing beside the sender retries, and a layer says that it does: then no refusal of this
/// destination proves anything (3.4.1).
pub fn contradicts_contract(layers: &[Layer], sender: Option<&LayerName>, contract: &Contract) -> Option<Finding> {
    let says_off = contract.layer_retries == Some(LayerRetries::Off);
    let repeating: Vec<Layer> = layers.iter().filter(|layer| repeats(layer)).cloned().collect();
    let retries = says_off && retries_beside(&repeating, sender) == Some(LayerRetries::On);
    retries.then(|| {
        let others = repeating.iter().filter(|layer| Some(&layer.name) != sender && layer.is_retrying());
        let others: Vec<&str> = others.map(|layer| layer.name.as_str()).collect();
        Finding {
            code: "contract_says_off".into(),
            severity: Severity::Integrity,
            text: format!(
                "The contract promises layer_retries = off, and {} retries: a refusal on record may be the second of two sends. Switch it off, or declare layer_retries = on.",
                others.join(", ")
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> LayerName {
        LayerName::parse(name).unwrap()
    }

    fn layer(of: &str, attempts: Option<Attempts>) -> Layer {
        Layer { name: name(of), attempts, on: Vec::new(), timeout: None }
    }

    #[test]
    fn what_made_attempts_and_was_not_declared_is_a_layer_too() {
        let declared = vec![layer("adapter", Some(Attempts::Fixed(3)))];
        let all = with_seen(declared, &[name("adapter"), name("stripe-sdk"), name("cron")]);
        let told: Vec<_> = all.iter().map(|layer| (layer.name.as_str(), layer.attempts)).collect();
        let three = Some(Attempts::Fixed(3));
        assert_eq!(told, [("adapter", three), ("stripe-sdk", three), ("cron", None)]);
    }

    #[test]
    fn what_retries_and_never_made_an_attempt_sends_unseen() {
        let layers =
            [layer("sdk", Some(Attempts::Fixed(3))), layer("adapter", Some(Attempts::Fixed(4))), layer("proxy", None)];
        let (product, below) = hidden_sends(&layers, &[&name("adapter")]);
        assert_eq!((product, below), (Attempts::Fixed(3), vec![&name("sdk")]));
        assert_eq!(hidden_sends(&layers[1..2], &[&name("adapter")]).0, Attempts::Fixed(1));
    }

    #[test]
    fn a_contract_that_says_off_is_contradicted_by_a_layer_that_retries() {
        let layers = [layer("sdk", Some(Attempts::Fixed(3))), layer("adapter", Some(Attempts::Fixed(4)))];
        let off = Contract { layer_retries: Some(LayerRetries::Off), ..Contract::default() };
        let found = contradicts_contract(&layers, Some(&name("adapter")), &off).unwrap();
        assert!(found.text.contains("sdk retries"), "{}", found.text);
        assert_eq!(contradicts_contract(&layers[1..], Some(&name("adapter")), &off), None);
        let planner = Layer { on: vec!["validation".into()], ..layer("agent", Some(Attempts::Fixed(2))) };
        assert_eq!(
            contradicts_contract(&[planner], Some(&name("adapter")), &off),
            None,
            "another proposal is no repeat"
        );
        assert_eq!(contradicts_contract(&layers, None, &Contract::default()), None);
    }
}

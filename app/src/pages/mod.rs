//! One file a place: it loads, arranges and leads on. The state of every page is its address.

pub mod action;
pub mod actions;
pub mod approvals;
pub mod budgets;
pub mod bulk;
pub mod deliveries;
pub mod form;
pub mod layers;
pub mod loading;
pub mod not_found;
pub mod operation;
pub mod operations;
pub mod outcomes;
pub mod queue;
#[cfg(test)]
mod rendering;
pub mod settings;
pub mod sign_in;
pub mod tool;
pub mod tools;
pub mod workflow;
pub mod workflows;

use leptos_router::params::ParamsMap;
use tallystick_domain::view::encoded;

use crate::api::Pairs;

/// The address's query as pairs.
fn pairs_of(query: &ParamsMap) -> Pairs {
    query.clone().into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// A place with a query. Empty values are left out.
fn address(path: &str, pairs: &Pairs) -> String {
    let mut out = path.to_owned();
    let mut sign = '?';
    // What Leptos adds after a form that failed is told once and goes no further.
    for (name, value) in pairs.iter().filter(|(name, value)| !value.is_empty() && !name.starts_with("__")) {
        out.push(sign);
        out.push_str(&encoded(name));
        out.push('=');
        out.push_str(&encoded(value));
        sign = '&';
    }
    out
}

/// The same pairs with one of them set anew; an empty value takes it out.
fn with(pairs: &Pairs, name: &str, value: &str) -> Pairs {
    let others = pairs.iter().filter(|(other, _)| other != name).cloned();
    others.chain((!value.is_empty()).then(|| (name.to_owned(), value.to_owned()))).collect()
}

/// The same pairs without some.
fn without(pairs: &Pairs, names: &[&str]) -> Pairs {
    pairs.iter().filter(|(name, _)| !names.contains(&name.as_str())).cloned().collect()
}

/// The value of one pair; nothing where it is absent or empty.
fn value(pairs: &Pairs, name: &str) -> Option<String> {
    pairs.iter().find(|(other, value)| other == name && !value.is_empty()).map(|(_, value)| value.clone())
}

/// An address on this console that a page may lead back to; anything else is somebody's trick.
fn way_back(told: Option<String>) -> Option<String> {
    told.filter(|place| {
        place == "/" || ["/?", "/operations?"].iter().any(|start| place.starts_with(start)) || place == "/operations"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Pairs {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_address_holds_the_whole_state_of_a_page() {
        let filtered = with(&pairs(&[("reason", "timed_out"), ("after", "x")]), "selected", "a&b");
        assert_eq!(address("/", &filtered), "/?reason=timed_out&after=x&selected=a%26b");
        assert_eq!(address("/", &without(&filtered, &["after", "selected"])), "/?reason=timed_out");
        assert_eq!(address("/", &with(&pairs(&[("reason", "reset")]), "reason", "")), "/");
    }

    #[test]
    fn the_way_back_never_leaves_the_console() {
        assert!(way_back(Some("/?reason=reset".into())).is_some());
        assert_eq!(way_back(Some("//evil.example/?x".into())), None);
        assert_eq!(way_back(Some("https://evil.example".into())), None);
        assert_eq!(way_back(None), None);
    }
}

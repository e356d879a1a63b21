//! Brings content that is on the page up to what came anew, changing only what differs: focus, selection, open details
//! and typed text stay. Runs only in the browser.

use leptos::prelude::document;
use wasm_bindgen::JsCast;
use web_sys::{Element, Node};

/// Rows of a list that is being read stay where they are; those that left it are marked.
const KEPT: &str = "data-kept";
/// What a row is known by.
const ID: &str = "data-id";
/// The mark of a row that left its list.
const GONE: &str = "rows__row--gone";

/// Makes the content of `old` equal to `html`.
pub fn morph_content(old: &Element, html: &str) {
    let Ok(new) = document().create_element("div") else { return };
    new.set_inner_html(html);
    morph_children(old, &new);
}

fn morph(old: &Element, new: &Element) {
    morph_attributes(old, new);
    if old.has_attribute(KEPT) {
        morph_kept_rows(old, new);
    } else {
        morph_children(old, new);
    }
}

fn morph_attributes(old: &Element, new: &Element) {
    // Whether details are open is the reader's, and so is the focus of a heading.
    let is_readers = |name: &str| matches!((name, old.tag_name().as_str()), ("open", "DETAILS") | ("tabindex", "H1"));
    for name in names_of(new).into_iter().filter(|name| !is_readers(name)) {
        let value = new.get_attribute(&name);
        if value != old.get_attribute(&name) {
            // Fails only for a name that is not an attribute's; this one is.
            let _ = old.set_attribute(&name, &value.unwrap_or_default());
        }
    }
    for name in names_of(old).into_iter().filter(|name| !is_readers(name) && !new.has_attribute(name)) {
        let _ = old.remove_attribute(&name);
    }
}

fn names_of(element: &Element) -> Vec<String> {
    element.get_attribute_names().iter().filter_map(|name| name.as_string()).collect()
}

fn children_of(node: &Element) -> Vec<Node> {
    let children = node.child_nodes();
    (0..children.length()).filter_map(|at| children.get(at)).collect()
}

fn morph_children(old: &Element, new: &Element) {
    let (before, after) = (children_of(old), children_of(new));
    for (at, fresh) in after.iter().enumerate() {
        match before.get(at) {
            Some(current) => morph_node(old, current, fresh),
            // Appending and removing fail only for nodes that are not where they were just found.
            None => drop(old.append_child(fresh)),
        }
    }
    for left in before.iter().skip(after.len()) {
        let _ = old.remove_child(left);
    }
}

fn morph_node(parent: &Element, old: &Node, new: &Node) {
    match (old.dyn_ref::<Element>(), new.dyn_ref::<Element>()) {
        (Some(old), Some(new))
            if old.tag_name() == new.tag_name() && old.get_attribute(ID) == new.get_attribute(ID) =>
        {
            morph(old, new);
        }
        (None, None) if old.node_type() == new.node_type() => {
            if old.node_value() != new.node_value() {
                old.set_node_value(new.node_value().as_deref());
            }
        }
        _ => drop(parent.replace_child(new, old)),
    }
}

fn morph_kept_rows(old: &Element, new: &Element) {
    let fresh: Vec<Element> = children_of(new).into_iter().filter_map(|row| row.dyn_into().ok()).collect();
    let rows = children_of(old).into_iter().filter_map(|row| row.dyn_into::<Element>().ok());
    for row in rows {
        let id = row.get_attribute(ID);
        match fresh.iter().find(|fresh| fresh.get_attribute(ID) == id) {
            Some(fresh) => morph(&row, fresh),
            None => drop(row.class_list().add_1(GONE)),
        }
    }
}

/// Whether the page shows a row or thing with this id.
pub fn is_shown(id: &str) -> bool {
    // Ids are UUIDs; anything else could break the selector, and is not on the page.
    let is_plain = id.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    is_plain && document().query_selector(&format!("[{ID}='{id}']")).ok().flatten().is_some()
}

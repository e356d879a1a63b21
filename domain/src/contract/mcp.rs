//! What the annotations of an MCP tool may be read as (semantics 1.6, 2.2): they map only downwards.

use crate::json::Json;
use crate::tool::Class;

/// The hints of a tool, as its server gives them. They are hints: nothing checks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Annotations {
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
}

impl Annotations {
    /// Reads an `annotations` object. A hint that is missing or no boolean counts as not given.
    pub fn read(annotations: &Json) -> Self {
        let hint = |name| match annotations.get(name) {
            Some(Json::Bool(value)) => Some(*value),
            _ => None,
        };
        Self {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    }

    /// Said to change nothing; by default not.
    pub fn is_read_only(self) -> bool {
        self.read_only.unwrap_or(false)
    }

    /// Said to destroy; by default so. Means something only where the tool is not read-only.
    pub fn is_destructive(self) -> bool {
        !self.is_read_only() && self.destructive.unwrap_or(true)
    }

    /// Said to have no additional effect under the same arguments; by default not. Says nothing of a key, and
    /// bounds no time. Means something only where the tool is not read-only.
    pub fn is_idempotent(self) -> bool {
        !self.is_read_only() && self.idempotent.unwrap_or(false)
    }

    /// Said to reach systems outside; by default so.
    pub fn is_open_world(self) -> bool {
        self.open_world.unwrap_or(true)
    }
}

/// The class of a tool that only its annotations describe: read where a trusted server says that it changes
/// nothing; otherwise irreversible, until a person classifies it.
pub fn class_of(annotations: Annotations, source_trusted: bool) -> Class {
    if source_trusted && annotations.is_read_only() { Class::Read } else { Class::Irreversible }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

    fn read(text: &str) -> Annotations {
        Annotations::read(&Json::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn only_a_trusted_servers_read_only_hint_lowers_the_class() {
        // Every hint absent, false or true, from a server that is trusted or not.
        for combination in 0..3_usize.pow(4) {
            let told: Vec<String> = HINTS
                .iter()
                .enumerate()
                .filter_map(|(at, hint)| match combination / 3_usize.pow(u32::try_from(at).unwrap()) % 3 {
                    0 => None,
                    value => Some(format!("\"{hint}\":{}", value == 2)),
                })
                .collect();
            let text = format!("{{{}}}", told.join(","));
            let is_read_only = text.contains("\"readOnlyHint\":true");
            let trusted = if is_read_only { Class::Read } else { Class::Irreversible };
            assert_eq!(class_of(read(&text), true), trusted, "{text}");
            assert_eq!(class_of(read(&text), false), Class::Irreversible, "{text}");
        }
    }

    #[test]
    fn a_missing_hint_has_the_default_of_the_protocol() {
        let silent = read("{}");
        assert!(!silent.is_read_only() && silent.is_destructive() && !silent.is_idempotent() && silent.is_open_world());
        assert_eq!(silent, Annotations::default());
    }

    #[test]
    fn destructive_and_idempotent_mean_nothing_on_a_read() {
        let read_only = read(r#"{"readOnlyHint":true,"destructiveHint":true,"idempotentHint":true}"#);
        assert!(!read_only.is_destructive() && !read_only.is_idempotent());
    }

    #[test]
    fn a_hint_of_another_type_counts_as_not_given() {
        for value in ["\"true\"", "1", "null", "[true]", "{}"] {
            let annotations = read(&format!("{{\"readOnlyHint\":{value},\"destructiveHint\":{value}}}"));
            assert_eq!(class_of(annotations, true), Class::Irreversible, "{value}");
            assert!(annotations.is_destructive());
        }
        assert_eq!(class_of(read("[]"), true), Class::Irreversible);
    }

    #[test]
    fn an_idempotent_hint_implies_no_key() {
        // A tool known by its annotations alone has the class and nothing else: no key, no look-up.
        let name = crate::name::ToolName::parse("invoice.create").unwrap();
        let annotations = read(r#"{"destructiveHint":false,"idempotentHint":true}"#);
        let tool = crate::tool::Tool { class: class_of(annotations, true), ..crate::tool::Tool::undeclared(name) };
        assert_eq!(tool.class, Class::Irreversible);
        assert_eq!((tool.contract.key_window(), tool.contract.lookup), (None, None));
        assert!(annotations.is_idempotent() && tool.contract.stores.is_none());
    }
}

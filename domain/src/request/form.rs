//! Arguments as form fields: members of objects in brackets, items of arrays by their number.

use super::template::encoded;
use crate::json::Json;

/// The fields, in the order of the arguments. `null` is left out: a form has no word for it.
pub(super) fn encode(arguments: &Json) -> String {
    let mut fields = Vec::new();
    collect(String::new(), arguments, &mut fields);
    let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("{name}={}", encoded(&value))).collect();
    fields.join("&")
}

fn collect(name: String, value: &Json, fields: &mut Vec<(String, String)>) {
    let inner = |part: &str| if name.is_empty() { encoded(part) } else { format!("{name}[{}]", encoded(part)) };
    match value {
        Json::Null => {}
        Json::Bool(value) => fields.push((name, value.to_string())),
        Json::Number(text) | Json::String(text) => fields.push((name, text.clone())),
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(inner(&index.to_string()), item, fields);
            }
        }
        Json::Object(members) => {
            for (member, value) in members {
                collect(inner(member), value, fields);
            }
        }
    }
}

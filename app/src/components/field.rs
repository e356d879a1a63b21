//! Input fields. The one for reasons takes care that what was typed never becomes markup.

use leptos::prelude::*;

/// Escapes text for the inside of a `<textarea>`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    // The parser drops one line end right after the opening tag.
    if text.starts_with('\n') {
        out.push('\n');
    }
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

/// The field for a reason: what was typed before, and what stands above and below it. Leptos 0.8 does not escape the children of a `<textarea>`, so the
/// initial text goes in escaped by us.
pub fn reason_field(label: &'static str, hint: &'static str, initial: &str, required: bool) -> AnyView {
    let hint_id = "reason-hint";
    let initial = escaped(initial);
    view! {
        <label class="field">
            <span class="field__label">{label}</span>
            <textarea
                name="reason"
                rows="4"
                maxlength="4000"
                required=required
                aria-describedby=hint_id
                inner_html=initial
            ></textarea>
            <span class="field__hint" id=hint_id>
                {hint}
            </span>
        </label>
    }
    .into_any()
}

/// A field for a text of many lines in which every character counts.
pub fn code_field(name: &'static str, label: &'static str, hint: &'static str, initial: &str) -> AnyView {
    let hint_id = format!("{name}-hint");
    let initial = escaped(initial);
    view! {
        <label class="field">
            <span class="field__label">{label}</span>
            <textarea
                name=name
                rows="14"
                class="code"
                required=true
                spellcheck="false"
                aria-describedby=hint_id.clone()
                inner_html=initial
            ></textarea>
            <span class="field__hint" id=hint_id>
                {hint}
            </span>
        </label>
    }
    .into_any()
}

/// A field for one line.
#[component]
pub fn TextField(
    /// The field's name in the form.
    name: &'static str,
    /// What stands above it.
    #[prop(into)]
    label: String,
    /// What stands below it.
    #[prop(into)]
    hint: String,
    /// What was typed before.
    #[prop(into)]
    initial: String,
    /// The most characters.
    limit: u32,
    /// Whether it must be filled in.
    required: bool,
    /// Whether it holds a key or receipt.
    #[prop(optional)]
    is_code: bool,
) -> impl IntoView {
    let hint_id = format!("{name}-hint");
    view! {
        <label class="field">
            <span class="field__label">{label}</span>
            <input
                type="text"
                name=name
                value=initial
                class:code=is_code
                maxlength=limit.to_string()
                required=required
                autocomplete="off"
                spellcheck="false"
                aria-describedby=hint_id.clone()
            />
            <span class="field__hint" id=hint_id>
                {hint}
            </span>
        </label>
    }
}

/// A field that is sent and not seen.
pub fn hidden(name: &'static str, value: String) -> AnyView {
    view! { <input type="hidden" name=name value=value /> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_never_leaves_the_field() {
        let typed = "</textarea><script>alert(1)</script> & \"so\"";
        let owner = Owner::new();
        let html = owner.with(|| reason_field("Reason", "Why", typed, true).to_html());
        assert_eq!(html.matches("</textarea>").count(), 1, "{html}");
        assert!(!html.contains("<script>"), "{html}");
        assert!(html.contains("&lt;/textarea&gt;&lt;script&gt;alert(1)"), "{html}");
    }

    #[test]
    fn one_line_fields_quote_what_they_hold() {
        let owner = Owner::new();
        let html = owner.with(|| {
            view! { <TextField name="receipt" label="Receipt" hint="" initial="\"><img src=x>" limit=255 required=false /> }
                .to_html()
        });
        assert!(!html.contains("<img"), "{html}");
    }
}

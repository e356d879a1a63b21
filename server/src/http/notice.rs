//! A page of one message that the server writes itself, where the console's pages cannot: refused sign-ins, ended sessions,
//! spent links, requests from other sites. Plain HTML in the console's style sheet; no script.

use std::fmt::Write as _;

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};

use super::assets;
use super::problem::Problem;

/// One message as a page.
#[derive(Debug, Clone)]
pub struct Notice {
    status: u16,
    title: String,
    text: String,
    kept: Vec<(String, String)>,
    links: Vec<(String, String)>,
    retry_after_s: Option<u64>,
}

impl Notice {
    /// A message under a title.
    pub fn new(status: u16, title: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            status,
            title: title.into(),
            text: text.into(),
            kept: Vec::new(),
            links: Vec::new(),
            retry_after_s: None,
        }
    }

    /// What a problem document says.
    pub fn about(problem: &Problem) -> Self {
        let mut notice = Self::new(problem.kind().status, problem.kind().title, problem.detail());
        notice.retry_after_s = problem.retry_after_s();
        notice
    }

    /// Gives back what somebody typed under a label.
    #[must_use]
    pub fn kept(mut self, label: impl Into<String>, text: impl Into<String>) -> Self {
        self.kept.push((label.into(), text.into()));
        self
    }

    /// Adds a way on.
    #[must_use]
    pub fn link(mut self, address: impl Into<String>, label: impl Into<String>) -> Self {
        self.links.push((address.into(), label.into()));
        self
    }

    fn html(&self) -> String {
        let mut kept = String::new();
        for (label, text) in &self.kept {
            // Writing to a string cannot fail.
            let _ = write!(
                kept,
                "<h2 class=\"label\">{}</h2><pre class=\"code-box\" tabindex=\"0\">{}</pre>",
                escape(label),
                escape(text)
            );
        }
        let mut links = String::new();
        for (address, label) in &self.links {
            // Writing to a string cannot fail.
            let _ = write!(links, "<p><a href=\"{}\">{}</a></p>", escape(address), escape(label));
        }
        format!(
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} · Tallystick</title>\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <link rel=\"stylesheet\" href=\"{sheet}\"></head>\
             <body class=\"notice-page\"><main class=\"notice\" role=\"main\"><h1>{title}</h1><p>{text}</p>{kept}{links}</main></body></html>",
            title = escape(&self.title),
            sheet = assets::stylesheet_url(),
            text = escape(&self.text),
        )
    }
}

impl IntoResponse for Notice {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Html(self.html())).into_response();
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Escapes text for element content and quoted attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_message_becomes_markup() {
        let page = Notice::new(400, "<script>", "\"quoted\" & 'so'").link("/?a=\"><b>", "<on>").html();
        assert!(!page.contains("<script>") && !page.contains("<b>") && !page.contains("<on>"), "{page}");
    }
}

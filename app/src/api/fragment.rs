//! A page's content as the server rendered it.
//!
//! Pages are rendered in one place. The browser part puts in place what came and keeps it current; it holds no second copy
//! of every page, so that its size does not grow with them.

use serde::{Deserialize, Serialize};

/// The content of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragment {
    /// What the tab says.
    pub title: String,
    /// The content. It was escaped where it was made; what others wrote is text in it and nothing else.
    pub html: String,
    /// The newest change that it shows; empty for pages that do not depend on changes.
    pub sequence: String,
}

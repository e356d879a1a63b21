//! From a page's components to its content.

use leptos::prelude::*;

use super::PageContext;
use crate::api::fragment::Fragment;
use crate::components::icon::provide_sprite;

/// Renders a page's content. `show` must not wait for anything: all it shows is there.
pub fn rendered(title: &str, sequence: &str, show: impl FnOnce() -> AnyView) -> Fragment {
    let sprite = use_context::<PageContext>().and_then(|context| context.icons_url);
    let owner = Owner::current().map_or_else(Owner::new, |owner| owner.child());
    let html = owner.with(|| {
        provide_sprite(sprite);
        show().to_html()
    });
    Fragment { title: format!("{title} · Tallystick"), html, sequence: sequence.to_owned() }
}

//! A point in time: short in place, whole with zone and UTC in its title, machine-readable beside.

use leptos::prelude::*;
use tallystick_domain::view::Moment;

/// A time in its short form.
pub fn time(moment: Moment) -> AnyView {
    view! {
        <time datetime=moment.utc title=moment.full>
            {moment.short}
        </time>
    }
    .into_any()
}

/// A time in its full form.
pub fn full_time(moment: Moment) -> AnyView {
    view! { <time datetime=moment.utc>{moment.full}</time> }.into_any()
}

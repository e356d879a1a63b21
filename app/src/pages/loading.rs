//! Loads a page's data and shows it. One concrete inner function serves all pages: what is generic over data is compiled
//! once for each, and the browser pays for every copy.

use std::pin::Pin;
use std::sync::Arc;

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
use tallystick_domain::view::action::{ActionPage, ActionsView, FormView};
use tallystick_domain::view::list::{OperationsView, QueueView};
use tallystick_domain::view::operation::{OperationView, ToolView};
use tallystick_domain::view::workspace::{FrameView, SettingsView};

use crate::api::{ApiError, Pairs};
use crate::components::notice::{failed, loading};

/// The data of any page.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Data {
    /// Of what frames the pages.
    Frame(FrameView),
    /// Of the queue.
    Queue(QueueView),
    /// Of all operations.
    Operations(OperationsView),
    /// Of one operation.
    Operation(Box<OperationView>),
    /// Of the form of an action.
    Form(Box<FormView>),
    /// Of the audit log.
    Actions(ActionsView),
    /// Of one action.
    Action(Box<ActionPage>),
    /// Of the tools.
    Tools(Vec<ToolView>),
    /// Of the settings.
    Settings(SettingsView),
}

/// What an address asks for. Equal questions are not asked twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// The parts of the path that vary.
    pub names: Vec<String>,
    /// The query.
    pub pairs: Pairs,
    /// How often the page was told to read itself anew.
    pub refresh: u32,
}

impl Asked {
    /// The varying part of the path with this number.
    pub fn name(&self, at: usize) -> String {
        self.names.get(at).cloned().unwrap_or_default()
    }
}

/// Data on its way.
pub type Coming = Pin<Box<dyn Future<Output = Result<Data, ApiError>> + Send>>;

type Show = Arc<dyn Fn(Data) -> AnyView + Send + Sync>;

/// Fetches what is asked, and again whenever that changes, and shows it. `show` answers with nothing for data that is not
/// this page's; the reader is then told to reload.
pub fn loaded(
    asked: Memo<Asked>,
    fetch: fn(Asked) -> Coming,
    show: impl Fn(Data) -> Option<AnyView> + Send + Sync + 'static,
) -> AnyView {
    show_loaded(asked, fetch, Arc::new(move |data| show(data).unwrap_or_else(|| failed(&ApiError::Outdated))))
}

fn show_loaded(asked: Memo<Asked>, fetch: fn(Asked) -> Coming, show: Show) -> AnyView {
    let data = Resource::new(move || asked.get(), fetch);
    view! {
        <Transition fallback=loading>
            {move || {
                let show = Arc::clone(&show);
                Suspend::new(async move { data.await.map_or_else(|error| failed(&error), |data| show(data)) })
            }}
        </Transition>
    }
    .into_any()
}

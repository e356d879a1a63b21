//! Log lines: one format for people, one for machines, on standard error. `TALLYSTICK_LOG` chooses what is shown.

use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// Starts logging. A second call in one process changes nothing.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_env("TALLYSTICK_LOG").unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    let started = match format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    // Tests start it many times; the first one stands.
    drop(started);
}

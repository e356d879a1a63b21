//! The one build tool a person needs.

mod browser;
mod debian;
mod digest;
mod layout;
mod npm;
mod process;
mod toolchain;

fn main() -> anyhow::Result<()> {
    browser::BrowserPart::ensure()?.check_limit()
}

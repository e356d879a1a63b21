//! Building the `tallystick` binary and the words it is started with.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::browser::BrowserPart;
use crate::layout;
use crate::process::{cargo, run, say};

/// What kind of server to build and how to start it.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Leave the browser part out: the console works the same without WebAssembly, and builds in half the time
    #[arg(long)]
    no_wasm: bool,
    /// Use this PostgreSQL database instead of the embedded one
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Start without demo data, with one administrator to sign in as
    #[arg(long)]
    empty: bool,
    /// Optimise: slower to build, as fast as it will be in use
    #[arg(long)]
    release: bool,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8642")]
    listen: String,
}

impl Options {
    /// Builds what these options ask for and returns the binary.
    pub fn build(&self) -> Result<PathBuf> {
        if !self.no_wasm {
            BrowserPart::ensure()?;
        }
        build_binary(self.release, !self.no_wasm)
    }

    /// The binary's arguments. The embedded database is made where it is missing.
    pub fn arguments(&self) -> Result<Vec<String>> {
        let mut words = vec![if self.empty { "serve" } else { "demo" }.to_owned()];
        words.extend(["--db".to_owned(), self.database_url()?, "--listen".to_owned(), self.listen.clone()]);
        if self.empty {
            words.push("--first-admin".to_owned());
        }
        Ok(words)
    }

    fn database_url(&self) -> Result<String> {
        if let Some(url) = &self.postgres {
            return Ok(url.clone());
        }
        let folder = layout::run();
        fs::create_dir_all(&folder)?;
        // Demo and real data never share a file: `--empty` after a demo must be empty.
        let name = if self.empty { "tallystick-empty.db" } else { "tallystick.db" };
        Ok(format!("sqlite://{}", folder.join(name).display()))
    }
}

/// Builds the server, with or without the browser part that lies ready in the site folder.
pub fn build_binary(release: bool, with_browser_part: bool) -> Result<PathBuf> {
    say(if release { "Compiling the server, optimised" } else { "Compiling the server" });
    let mut build = cargo();
    build.current_dir(layout::root()).args(["build", "--package", "tallystick", "--bin", "tallystick"]);
    if release {
        build.arg("--release");
    }
    if !with_browser_part {
        build.env("TALLYSTICK_SITE_DIR", "");
    }
    run(&mut build)?;
    Ok(layout::server_binary(if release { "release" } else { "debug" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options { no_wasm: true, postgres: None, empty: false, release: false, listen: "127.0.0.1:8642".to_owned() }
    }

    #[test]
    fn a_plain_run_is_the_demo_on_the_embedded_database() {
        let words = options().arguments().unwrap().join(" ");
        assert!(words.starts_with("demo --db sqlite:///"), "{words}");
        assert!(words.ends_with("target/run/tallystick.db --listen 127.0.0.1:8642"), "{words}");
    }

    #[test]
    fn an_empty_run_makes_an_administrator_and_does_not_touch_the_demo() {
        let words = Options { empty: true, ..options() }.arguments().unwrap().join(" ");
        assert!(
            words.starts_with("serve --db ")
                && words.contains("tallystick-empty.db")
                && words.ends_with(" --first-admin")
        );
    }

    #[test]
    fn a_given_database_is_passed_on_as_it_is() {
        let url = "postgres://me@db/console";
        let words = Options { postgres: Some(url.to_owned()), ..options() }.arguments().unwrap();
        assert_eq!(words[..3], ["demo", "--db", url]);
    }
}

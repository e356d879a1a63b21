//! Where things lie in a checkout. What cargo makes may be moved by `CARGO_TARGET_DIR`; what people look at
//! (the site, the demo's database, screenshots) stays under `target/` of the checkout.

use std::path::{Path, PathBuf};

/// The checkout's root: the folder above this crate. Cargo says at run time where that is; the path known when this was
/// compiled may belong to another checkout that shares the target folder.
pub fn root() -> PathBuf {
    let here =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(Path::to_path_buf).unwrap_or(here)
}

/// Cargo's own target folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Where the browser part is compiled, apart from the native builds so that neither waits for the other's lock.
pub fn front() -> PathBuf {
    target().join("front")
}

/// Where the finished browser part lies; `server/build.rs` embeds what it finds here.
pub fn site() -> PathBuf {
    root().join("target/site")
}

/// Where `cargo xtask run` keeps its database.
pub fn run() -> PathBuf {
    root().join("target/run")
}

/// The Python packages of one of the tests' stand-ins.
pub fn python(name: &str) -> PathBuf {
    root().join("target/python").join(name)
}

/// The npm tools of the build.
pub fn npm_tools() -> PathBuf {
    root().join("xtask/npm")
}

/// The browser journeys.
pub fn journeys() -> PathBuf {
    root().join("end2end")
}

/// The server's binary in the given profile's folder (`debug` or `release`).
pub fn server_binary(profile: &str) -> PathBuf {
    target().join(profile).join("tallystick")
}

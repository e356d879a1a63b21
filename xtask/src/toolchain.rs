//! The compiler for the browser part. Four ways, tried in order:
//! the target is there already · rustup fetches it · Debian's own packages build it · one message that names the ways out.
//! The third exists for machines that reach package registries and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{as_root, capture, cargo, command, find_program, fresh_folder, run, say, succeeds};
use crate::{debian, layout};

/// The target of the browser part.
pub const TARGET: &str = "wasm32-unknown-unknown";

const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CLIPPY: &str = "/usr/bin/cargo-clippy";
/// Beside the copied libraries: the compiler they were built by. Another compiler cannot read them.
const STAMP: &str = "built-by-xtask.txt";

/// A cargo that can build for the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WasmToolchain {
    /// The toolchain everything else is built with.
    Default,
    /// Debian's, used for the browser part alone.
    Debian,
}

impl WasmToolchain {
    /// Finds or makes one.
    pub fn ensure() -> Result<Self> {
        if std::env::var("TALLYSTICK_WASM_TOOLCHAIN").is_ok_and(|choice| choice == "debian") {
            return Self::from_debian();
        }
        if has_target("rustc")? || rustup_adds_target()? {
            return Ok(Self::Default);
        }
        if debian::is_available() {
            return Self::from_debian();
        }
        bail!(
            "The browser part needs Rust's {TARGET} target, and it could not be fetched. One of these helps:\n\
             \x20 1. rustup target add {TARGET}   (needs static.rust-lang.org)\n\
             \x20 2. on Debian, as root or with sudo: call this again; it is then built from Debian's packages\n\
             \x20 3. cargo xtask run --no-wasm   (the whole console works without WebAssembly)"
        )
    }

    /// `cargo` of this toolchain.
    pub fn cargo(self) -> Command {
        match self {
            Self::Default => cargo(),
            Self::Debian => debian_command(DEBIAN_CARGO),
        }
    }

    /// `cargo clippy` of this toolchain, up to and including the word `clippy`.
    pub fn clippy(self) -> Result<Command> {
        let mut command = match self {
            Self::Default => cargo(),
            Self::Debian => {
                debian::install(&["rust-web-clippy"], "linting the browser part")?;
                let mut command = debian_command(DEBIAN_CLIPPY);
                command.env("CARGO", DEBIAN_CARGO);
                command
            }
        };
        command.arg("clippy");
        Ok(command)
    }

    fn from_debian() -> Result<Self> {
        debian::install(&["rustc-web", "cargo-web", "rust-web-src"], "compiling the browser part")?;
        ensure_linker()?;
        if !debian_target_is_current()? {
            build_standard_library()?;
        }
        Ok(Self::Debian)
    }
}

/// Debian's program, with nothing of rustup's in its environment.
fn debian_command(program: &str) -> Command {
    let mut command = command(program);
    command
        .env("RUSTC", DEBIAN_RUSTC)
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

fn libraries_of(rustc: &str) -> Result<PathBuf> {
    let mut ask = if rustc == DEBIAN_RUSTC { debian_command(rustc) } else { command(rustc) };
    Ok(PathBuf::from(capture(ask.args(["--print", "target-libdir", "--target", TARGET]))?.trim()))
}

fn has_target(rustc: &str) -> Result<bool> {
    let Ok(entries) = fs::read_dir(libraries_of(rustc)?) else {
        return Ok(false);
    };
    Ok(entries.flatten().any(|entry| is_library(&entry.path(), "libstd-")))
}

fn is_library(path: &Path, prefix: &str) -> bool {
    path.extension().is_some_and(|extension| extension == "rlib")
        && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}

fn rustup_adds_target() -> Result<bool> {
    if find_program("rustup").is_none() {
        return Ok(false);
    }
    say(format!("Fetching Rust's {TARGET} target with rustup (network)"));
    Ok(run(command("rustup").args(["target", "add", TARGET])).is_ok() && has_target("rustc")?)
}

/// Debian's rustc looks for `rust-lld` in its own tree and does not ship it; any lld of the same LLVM will do.
fn ensure_linker() -> Result<()> {
    let host = host_of_debian()?;
    let link = PathBuf::from(format!("/usr/lib/rustlib/{host}/bin/rust-lld"));
    if succeeds(command(&link).args(["-flavor", "wasm", "--version"])) {
        return Ok(());
    }
    let version = llvm_version()?;
    debian::install(&[&format!("lld-{version}")], "linking the browser part")?;
    say(format!("Linking {} to Debian's lld {version} (root)", link.display()));
    run(root("mkdir")?.arg("-p").arg(link.parent().unwrap_or(Path::new("/"))))?;
    run(root("ln")?.arg("-sf").arg(format!("/usr/lib/llvm-{version}/bin/lld")).arg(&link))
}

fn root(program: &str) -> Result<Command> {
    as_root(program).with_context(|| format!("`{program}` must run as root here, and there is no sudo"))
}

fn verbose_version() -> Result<String> {
    capture(debian_command(DEBIAN_RUSTC).arg("-vV"))
}

fn host_of_debian() -> Result<String> {
    field(&verbose_version()?, "host: ").context("rustc -vV names no host")
}

/// The major LLVM version, which the linker must share: it reads the compiler's bitcode.
fn llvm_version() -> Result<String> {
    let version = field(&verbose_version()?, "LLVM version: ").context("rustc -vV names no LLVM version")?;
    Ok(version.split('.').next().unwrap_or_default().to_owned())
}

fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
}

fn debian_target_is_current() -> Result<bool> {
    let stamp = libraries_of(DEBIAN_RUSTC)?.join(STAMP);
    Ok(has_target(DEBIAN_RUSTC)?
        && fs::read_to_string(stamp).is_ok_and(|built_by| built_by == verbose_version().unwrap_or_default()))
}

/// Builds the standard library for the browser from Debian's sources and puts it where Debian's rustc looks.
fn build_standard_library() -> Result<()> {
    say("Building Rust's standard library for the browser from Debian's sources (about a minute and a half, once)");
    let scratch = layout::target().join("wasm-std");
    fresh_folder(&scratch.join("src"))?;
    fs::write(scratch.join("src/lib.rs"), "")?;
    fs::write(
        scratch.join("Cargo.toml"),
        "[workspace]\n[package]\nname = \"scratch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n",
    )?;
    // Without bitcode in the libraries fat LTO stops with "failed to get bitcode". The bootstrap switch admits -Zbuild-std.
    run(debian_command(DEBIAN_CARGO)
        .current_dir(&scratch)
        .env("CARGO_TARGET_DIR", scratch.join("target"))
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Cembed-bitcode=yes")
        .args(["build", "--quiet", "--release", "-Zbuild-std=std,panic_abort,panic_unwind", "--target", TARGET]))?;
    install_libraries(&scratch.join("target").join(TARGET).join("release/deps"), &scratch)?;
    // Cargo does not see that the standard library changed, and would link old objects against it.
    let _ = fs::remove_dir_all(layout::front());
    Ok(())
}

fn install_libraries(built: &Path, scratch: &Path) -> Result<()> {
    let folder = libraries_of(DEBIAN_RUSTC)?;
    let stamp = scratch.join(STAMP);
    fs::write(&stamp, verbose_version()?)?;
    let mut libraries: Vec<PathBuf> =
        fs::read_dir(built)?.flatten().map(|entry| entry.path()).filter(|path| is_to_install(path)).collect();
    libraries.push(stamp);
    say(format!("Copying it to {} (root)", folder.display()));
    run(root("rm")?.arg("-rf").arg(&folder))?;
    run(root("mkdir")?.arg("-p").arg(&folder))?;
    run(root("cp")?.args(&libraries).arg(&folder))
}

fn is_to_install(path: &Path) -> bool {
    is_library(path, "lib") && !is_library(path, "libscratch-")
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = "rustc 1.96.0 (built from a source tarball)\nhost: x86_64-unknown-linux-gnu\nrelease: 1.96.0\nLLVM version: 22.1.2\n";

    #[test]
    fn host_and_linker_version_come_from_the_compilers_own_words() {
        assert_eq!(field(VERSION, "host: ").as_deref(), Some("x86_64-unknown-linux-gnu"));
        assert_eq!(field(VERSION, "LLVM version: ").as_deref(), Some("22.1.2"));
        assert_eq!(field(VERSION, "no such: "), None);
    }

    #[test]
    fn the_scratch_crate_itself_is_not_installed() {
        assert!(is_to_install(Path::new("/x/deps/libstd-0123.rlib")));
        assert!(!is_to_install(Path::new("/x/deps/libscratch-0123.rlib")));
        assert!(!is_to_install(Path::new("/x/deps/libstd-0123.rmeta")));
    }

    #[test]
    fn the_target_counts_as_present_only_with_its_standard_library() {
        let counts = |name| is_library(Path::new(name), "libstd-");
        assert!(counts("/x/libstd-2c19544a9276d693.rlib"));
        assert!(!counts("/x/libstd-2c19544a9276d693.rmeta"));
        assert!(!counts("/x/libstd_detect-2c19.rlib"));
    }
}

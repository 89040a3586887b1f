//! The program that all packages contain, with its completions and man pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::release::{Release, TARGET};
use crate::workspace::{command, output, run};

/// A version of glibc.
type Glibc = (u32, u32);

/// The oldest glibc that Rust's standard library supports.
const OLDEST_GLIBC: Glibc = (2, 17);

/// The library of GCC that native builds require, and its Debian package. Builds with Zig do not.
pub(super) const GCC_LIBRARY: (&str, &str) = ("libgcc_s.so.1", "libgcc-s1");

/// The libraries of glibc. Others, except that of GCC, are not on every machine.
const GLIBC_LIBRARIES: &str = "ld-linux-x86-64.so.2 libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 \
    libresolv.so.2 librt.so.1 libutil.so.1";

/// The shells that the binary has completions for, and the names of their files.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "trunkline.bash"),
    ("elvish", "trunkline.elv"),
    ("fish", "trunkline.fish"),
    ("powershell", "trunkline.ps1"),
    ("zsh", "_trunkline"),
];

pub(super) struct Program {
    /// The stripped binary.
    pub(super) path: PathBuf,
    /// The names of the shared libraries that it requires.
    pub(super) libraries: Vec<String>,
    pub(super) completions: PathBuf,
    pub(super) man_pages: PathBuf,
}

/// Builds the release for the oldest glibc, and returns its path.
pub(super) fn build(release: &Release<'_>) -> Result<PathBuf> {
    let workspace = release.workspace;
    let (major, minor) = OLDEST_GLIBC;
    let mut build = workspace.cargo(["zigbuild", "--profile=dist", "--locked", "--target"]);
    build.arg(format!("{TARGET}.{major}.{minor}")).arg("--package=trunkline-cli");
    // cargo and cargo-zigbuild search for each other and for Zig on PATH.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(release.python()?.programs()).chain(std::env::split_paths(&path));
    build.env("PATH", std::env::join_paths(folders)?);
    run(build.env("CARGO_ZIGBUILD_CACHE_DIR", workspace.path("target/zig-cache")))?;
    let program = workspace.path("target").join(TARGET).join("dist/trunkline");
    let needed = glibc(release, &program)?;
    ensure!(needed <= OLDEST_GLIBC, "the program requires glibc {needed:?}");
    Ok(program)
}

impl Program {
    /// Strips a built program, and lets it write its completions and man pages. Sets the version of glibc.
    pub(super) fn prepare(release: &mut Release<'_>, built: &Path) -> Result<Self> {
        let workspace = release.workspace;
        let mut program = Self::empty(release)?;
        let path = &program.path;
        run(&mut command!(workspace, "strip", "-o", path, built))
            .context("`strip` is missing or failed (Debian package binutils)")?;
        program.libraries = libraries(&output(&mut command!(workspace, "objdump", "-p", path))?)?;
        set_glibc(release, glibc(release, path)?.max(OLDEST_GLIBC));
        if program.libraries.iter().any(|library| library == GCC_LIBRARY.0) {
            let dependencies = format!("{}, {}", release.get("deb_depends"), GCC_LIBRARY.1);
            release.set("deb_depends", dependencies);
        }
        let version = output(&mut command!(workspace, path, "--version"))?;
        let expected = format!("trunkline {}", release.get("version"));
        ensure!(version.trim() == expected, "`trunkline --version` is {version}, not {expected}");
        for (shell, file) in COMPLETIONS {
            let mut command = command!(workspace, path, "completions", shell);
            let script = output(command.stderr(Stdio::inherit()))?;
            fs::write(program.completions.join(file), script)?;
        }
        run(&mut command!(workspace, path, "man", &program.man_pages))?;
        Ok(program)
    }

    /// A shell script without completions and man pages, for checks of templates.
    pub(super) fn stub(release: &mut Release<'_>) -> Result<Self> {
        let stub = Self::empty(release)?;
        fs::write(&stub.path, "#!/bin/sh\n")?;
        run(&mut command!(release.workspace, "chmod", "755", &stub.path))?;
        for (_, file) in COMPLETIONS {
            fs::write(stub.completions.join(file), "")?;
        }
        set_glibc(release, OLDEST_GLIBC);
        Ok(stub)
    }

    fn empty(release: &Release<'_>) -> Result<Self> {
        let folder = release.staging("program")?;
        let [path, completions, man_pages] =
            ["trunkline", "completions", "man"].map(|name| folder.join(name));
        fs::create_dir(&completions)?;
        fs::create_dir(&man_pages)?;
        Ok(Self { path, libraries: Vec::new(), completions, man_pages })
    }

    /// The size of the binary in bytes.
    pub(super) fn size(&self) -> Result<u64> {
        Ok(fs::metadata(&self.path)?.len())
    }
}

fn set_glibc(release: &mut Release<'_>, (major, minor): Glibc) {
    release.set("glibc", format!("{major}.{minor}"));
    release.set("deb_depends", format!("libc6 (>= {major}.{minor})"));
    release.set("wheel_platform", format!("manylinux_{major}_{minor}_x86_64"));
}

/// The shared libraries in the headers of a program, all of which must be on every machine.
fn libraries(headers: &str) -> Result<Vec<String>> {
    let needed = headers.lines().filter_map(|line| line.trim().strip_prefix("NEEDED"));
    let needed: Vec<String> = needed.map(|library| library.trim().to_owned()).collect();
    ensure!(!needed.is_empty(), "the program requires no libraries");
    let is_known =
        |name: &&String| GLIBC_LIBRARIES.split(' ').any(|it| it == *name) || *name == GCC_LIBRARY.0;
    let unknown = needed.iter().find(|name| !is_known(name));
    ensure!(unknown.is_none(), "the program requires {unknown:?}, which is not on every machine");
    Ok(needed)
}

/// The version that a binary requires: the newest of its symbols.
fn glibc(release: &Release<'_>, program: &Path) -> Result<Glibc> {
    let symbols = output(&mut command!(release.workspace, "objdump", "-T", program))
        .context("`objdump` is missing or failed (Debian package binutils)")?;
    newest_glibc(&symbols).context("the program uses no symbols of glibc")
}

/// Reads `GLIBC_2.17` and `GLIBC_2.2.5`, whose last part is ignored.
fn newest_glibc(symbols: &str) -> Option<Glibc> {
    let version = |rest: &str| {
        let mut parts = rest.split(|c: char| !c.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    };
    symbols.split("GLIBC_").skip(1).filter_map(version).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(symbols: &str, expected: Option<Glibc>) {
        assert_eq!(newest_glibc(symbols), expected, "{symbols}");
    }

    #[test]
    fn newest_glibc_of_symbols() {
        check("(GLIBC_2.2.5) read\n(GLIBC_2.17) clock_gettime\n(GLIBC_2.3) x", Some((2, 17)));
        check("(GLIBC_2.9) a (GLIBC_2.10) b", Some((2, 10)));
        check("(GCC_3.0) _Unwind_Resume\n(GLIBC_PRIVATE) x", None);
    }
}

//! The program that all packages contain, with its completions and man pages.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};

use super::release::{Release, TARGET};
use super::tools::Tools;
use crate::workspace::{Workspace, output, run};

/// The oldest glibc that Rust's standard library supports.
const OLDEST_GLIBC: Glibc = Glibc { major: 2, minor: 17 };

/// The library of GCC that native builds require, and its Debian package. Builds with Zig do not.
pub(super) const GCC_LIBRARY: (&str, &str) = ("libgcc_s.so.1", "libgcc-s1");

/// The libraries of glibc. Others, except that of GCC, are not on every machine.
const GLIBC_LIBRARIES: [&str; 8] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "libutil.so.1",
];

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

/// A version of glibc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Glibc {
    major: u32,
    minor: u32,
}

/// Builds the release for the oldest glibc, and returns its path.
pub(super) fn build(workspace: &Workspace, tools: &Tools) -> Result<PathBuf> {
    let target = format!("{TARGET}.{OLDEST_GLIBC}");
    let mut build = workspace.cargo(["zigbuild", "--profile=dist", "--locked", "--target"]);
    build.arg(target).arg("--package=trunkline-cli");
    // cargo and cargo-zigbuild search for each other and for Zig on PATH.
    build.env("PATH", tools.python_path()?);
    build.env("CARGO_ZIGBUILD_CACHE_DIR", workspace.path("target/zig-cache"));
    run(&mut build)?;
    let program = workspace.path("target").join(TARGET).join("dist/trunkline");
    let needed = Glibc::of(workspace, &program)?;
    ensure!(
        needed <= OLDEST_GLIBC,
        "{} requires glibc {needed}, not {OLDEST_GLIBC}",
        program.display()
    );
    Ok(program)
}

impl Program {
    /// Strips a built program, and lets it write its completions and man pages. Sets the version of glibc.
    pub(super) fn prepare(release: &mut Release<'_>, built: &Path) -> Result<Self> {
        let workspace = release.workspace;
        let folder = release.staging("program")?;
        let path = folder.join("trunkline");
        run(workspace.command("strip").arg("-o").args([&path, built]))
            .context("`strip` is missing or failed (Debian package binutils)")?;
        let libraries = libraries(workspace, &path)?;
        let glibc = Glibc::of(workspace, &path)?.max(OLDEST_GLIBC);
        set_glibc(release, glibc);
        if libraries.iter().any(|library| library == GCC_LIBRARY.0) {
            let dependencies = format!("{}, {}", release.get("deb_depends"), GCC_LIBRARY.1);
            release.set("deb_depends", dependencies);
        }
        let version = output(workspace.command(&path).arg("--version"))?;
        let expected = format!("trunkline {}", release.get("version"));
        ensure!(version.trim() == expected, "`trunkline --version` is {version}, not {expected}");

        let (completions, man_pages) = (folder.join("completions"), folder.join("man"));
        fs::create_dir(&completions)?;
        for (shell, file) in COMPLETIONS {
            let mut command = workspace.command(&path);
            let script = output(command.args(["completions", shell]).stderr(Stdio::inherit()))?;
            fs::write(completions.join(file), script)?;
        }
        fs::create_dir(&man_pages)?;
        run(workspace.command(&path).args([OsStr::new("man"), man_pages.as_os_str()]))?;
        Ok(Self { path, libraries, completions, man_pages })
    }

    /// A shell script without completions and man pages, for checks of templates.
    pub(super) fn stub(release: &mut Release<'_>) -> Result<Self> {
        let folder = release.staging("program")?;
        let stub = Self {
            path: folder.join("trunkline"),
            libraries: Vec::new(),
            completions: folder.join("completions"),
            man_pages: folder.join("man"),
        };
        fs::write(&stub.path, "#!/bin/sh\n")?;
        run(release.workspace.command("chmod").arg("755").arg(&stub.path))?;
        for empty in [&stub.completions, &stub.man_pages] {
            fs::create_dir(empty)?;
        }
        for (_, file) in COMPLETIONS {
            fs::write(stub.completions.join(file), "")?;
        }
        set_glibc(release, OLDEST_GLIBC);
        Ok(stub)
    }

    /// The size of the binary in bytes.
    pub(super) fn size(&self) -> Result<u64> {
        Ok(fs::metadata(&self.path)?.len())
    }
}

fn set_glibc(release: &mut Release<'_>, glibc: Glibc) {
    let Glibc { major, minor } = glibc;
    release.set("glibc", glibc.to_string());
    release.set("deb_depends", format!("libc6 (>= {glibc})"));
    release.set("wheel_platform", format!("manylinux_{major}_{minor}_x86_64"));
}

fn libraries(workspace: &Workspace, program: &Path) -> Result<Vec<String>> {
    let headers = output(workspace.command("objdump").arg("-p").arg(program))
        .context("`objdump` is missing or failed (Debian package binutils)")?;
    let needed = headers.lines().filter_map(|line| line.trim().strip_prefix("NEEDED"));
    let needed: Vec<String> = needed.map(|library| library.trim().to_owned()).collect();
    ensure!(!needed.is_empty(), "{} requires no libraries", program.display());
    for library in &needed {
        ensure!(
            GLIBC_LIBRARIES.contains(&library.as_str()) || library == GCC_LIBRARY.0,
            "{} requires {library}, which is not on every machine",
            program.display()
        );
    }
    Ok(needed)
}

impl Glibc {
    /// The version that a binary requires: the newest of its symbols.
    fn of(workspace: &Workspace, program: &Path) -> Result<Self> {
        let symbols = output(workspace.command("objdump").arg("-T").arg(program))
            .context("`objdump` is missing or failed (Debian package binutils)")?;
        Self::newest(&symbols).context("the program uses no symbols of glibc")
    }

    fn newest(symbols: &str) -> Option<Self> {
        symbols
            .split("GLIBC_")
            .skip(1)
            .filter_map(|rest| {
                rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.parse().ok()
            })
            .max()
    }
}

impl FromStr for Glibc {
    type Err = anyhow::Error;

    /// Reads `2.17` and `2.2.5`, whose last part is ignored.
    fn from_str(text: &str) -> Result<Self> {
        let (major, rest) = text.split_once('.').context("no minor version")?;
        let minor = rest.split('.').next().unwrap_or(rest);
        Ok(Self { major: major.parse()?, minor: minor.parse()? })
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(symbols: &str, expected: Option<&str>) {
        let newest = Glibc::newest(symbols).map(|glibc| glibc.to_string());
        assert_eq!(newest.as_deref(), expected, "{symbols}");
    }

    #[test]
    fn newest_glibc_of_symbols() {
        check("(GLIBC_2.2.5) read\n(GLIBC_2.17) clock_gettime\n(GLIBC_2.3) x", Some("2.17"));
        check("(GLIBC_2.9) a (GLIBC_2.10) b", Some("2.10"));
        check("(GCC_3.0) _Unwind_Resume\n(GLIBC_PRIVATE) x", None);
    }
}

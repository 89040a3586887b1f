//! A Debian package with a systemd unit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::program::Program;
use super::release::{Installed, Release, copy, timed, write};
use super::session;
use crate::peers;
use crate::workspace::{Workspace, command, output, run, run_within};

const UNIT: &str = "usr/lib/systemd/system/trunkline.service";
const CONFIG: &str = "etc/trunkline/trunkline.toml";
/// The exposure that `systemd-analyze security` may report, in tenths: 0 is best, 100 worst.
const MAX_EXPOSURE: &str = "--threshold=12";
/// The release of Debian that the package is installed on, and a package in addition to essential ones.
const DEBIAN: &str = "bookworm";
const PACKAGES: &str = "--include=systemd-sysv";
/// The deadline of a boot with the test of the service, which takes seconds.
const BOOT: Duration = Duration::from_secs(180);

/// Templates, and their paths in the package.
const FILES: [(&str, &str); 9] = [
    ("trunkline.service", UNIT),
    ("trunkline.toml", CONFIG),
    ("copyright", "usr/share/doc/trunkline/copyright"),
    ("tools.conf", "usr/share/doc/trunkline/examples/tools.conf"),
    ("DEBIAN/control", "DEBIAN/control"),
    ("DEBIAN/conffiles", "DEBIAN/conffiles"),
    ("DEBIAN/postinst", "DEBIAN/postinst"),
    ("DEBIAN/prerm", "DEBIAN/prerm"),
    ("DEBIAN/postrm", "DEBIAN/postrm"),
];
const COMPLETIONS: [(&str, &str); 3] = [
    ("trunkline.bash", "usr/share/bash-completion/completions/trunkline"),
    ("trunkline.fish", "usr/share/fish/vendor_completions.d/trunkline.fish"),
    ("_trunkline", "usr/share/zsh/vendor-completions/_trunkline"),
];

pub(super) fn build(release: &Release<'_>, program: &Program) -> Result<Vec<PathBuf>> {
    let (version, architecture) = (release.get("version"), release.get("deb_architecture"));
    let file = release.file(&format!("trunkline_{version}_{architecture}.deb"));
    let content = stage(release, program)?;
    let workspace = release.workspace;
    run(&mut command!(workspace, "dpkg-deb", "--root-owner-group", "--build", content, &file))?;
    Ok(vec![file])
}

/// Writes the content of the package to a folder.
pub(super) fn stage(release: &Release<'_>, program: &Program) -> Result<PathBuf> {
    let workspace = release.workspace;
    let root = release.staging("deb")?;
    copy(&program.path, &root.join("usr/bin/trunkline"))?;
    for (template, path) in FILES {
        release.write(&format!("deb/{template}"), &root.join(path))?;
    }
    for (file, path) in COMPLETIONS {
        copy(&program.completions.join(file), &root.join(path))?;
    }
    let man = root.join("usr/share/man/man1");
    fs::create_dir_all(&man)?;
    run(&mut command!(workspace, "cp", "-r", program.man_pages.join("."), &man))?;
    let changelog = root.join("usr/share/doc/trunkline/changelog");
    copy(&workspace.path("CHANGELOG.md"), &changelog)?;
    run(&mut command!(workspace, "gzip", "-9", "-n", "-r", &changelog, &man))?;

    let mut sums = command!(workspace, "find", "usr", "-type", "f", "-exec", "md5sum", "{}", "+");
    write(&root.join("DEBIAN/md5sums"), &output(sums.current_dir(&root))?)?;
    let control = root.join("DEBIAN/control");
    let text = fs::read_to_string(&control)?;
    fs::write(&control, format!("{text}Installed-Size: {}\n", program.size()? / 1024))?;
    release.set_modes(&root)?;
    check_unit(release, &root)?;
    Ok(root)
}

/// Checks the unit with the drop-in of the documentation, and prints its exposure.
fn check_unit(release: &Release<'_>, root: &Path) -> Result<()> {
    let workspace = release.workspace;
    let page = workspace.read(Path::new("docs/operations/systemd.md"))?;
    let block = page.split_once("```ini\n").and_then(|(_, rest)| rest.split_once("```"));
    let (drop_in, _) = block.context("docs/operations/systemd.md shows no drop-in")?;
    let (unit, staged) = (root.join(UNIT), release.staging("unit")?.join("trunkline.service"));
    // systemd checks that the program exists, which is not installed on this machine.
    let program = root.join("usr/bin/trunkline").to_string_lossy().into_owned();
    write(&staged, &fs::read_to_string(&unit)?.replace("/usr/bin/trunkline", &program))?;
    write(&staged.with_extension("service.d").join("documented.conf"), drop_in)?;
    let advice = "`systemd-analyze` is missing or failed (Debian package systemd)";
    let verify = command!(workspace, "systemd-analyze", "verify", "--man=no", &staged).output();
    let verify = verify.context(advice)?;
    let messages = String::from_utf8_lossy(&verify.stderr);
    let is_valid = verify.status.success() && !messages.contains("trunkline");
    ensure!(is_valid, "invalid unit {}:\n{messages}", staged.display());
    let mut security = command!(workspace, "systemd-analyze", "security", "--offline=true");
    let report = output(security.args(["--no-pager", MAX_EXPOSURE]).arg(&unit)).context(advice)?;
    println!("{}", report.lines().last().unwrap_or_default());
    Ok(())
}

/// Installs the package in a minimal Debian system, uses it, and removes it.
pub(super) fn check(release: &Release<'_>, files: &[PathBuf]) -> Result<Installed> {
    let workspace = release.workspace;
    let root = release.staging("debian")?;
    let mut tar = command!(workspace, "tar", "--same-permissions", "--numeric-owner", "-xf");
    run(tar.arg(system(workspace)?).arg("-C").arg(&root))?;
    let inside = |program: &str| {
        let mut command = command!(workspace, "chroot", &root, program);
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    };
    let dpkg = |action: &str, package: &str| run(inside("dpkg").args([action, package]));
    let package = "/tmp/trunkline.deb";
    copy(files.first().context("no file")?, &root.join("tmp/trunkline.deb"))?;
    let ((), install) = timed(|| dpkg("--install", package))?;
    let changed = output(inside("dpkg").args(["--verify", "trunkline"]))?;
    ensure!(changed.is_empty(), "installed files differ from the package:\n{changed}");
    session::database(&root.join("tmp"))?;
    let mut server = inside("trunkline");
    let first_answer =
        session::mcp(server.args(["mcp", "--db", "/tmp/app.db"]), &root.join("tmp"))?;

    // As the unit starts it, except for the port and the database.
    fs::create_dir_all(root.join("var/lib/trunkline"))?;
    let mut server = inside("trunkline");
    server.args(["serve", "--config", &format!("/{CONFIG}"), "--port", "0", "--db", "/tmp/app.db"]);
    let log = root.with_extension("log");
    session::http(workspace, &mut server, &log, &root.join("usr/bin/trunkline"))?;

    test_service(release, &root)?;
    let changed = root.join(CONFIG);
    fs::write(&changed, "[server]\nlisten = \"127.0.0.1:8081\"\n")?;
    dpkg("--install", package)?;
    let kept = fs::read_to_string(&changed)?;
    ensure!(kept.contains("8081"), "an upgrade replaced the changed configuration");
    dpkg("--remove", "trunkline")?;
    ensure!(changed.exists(), "the removal deleted the configuration");
    dpkg("--purge", "trunkline")?;
    ensure!(!changed.exists(), "the purge kept the configuration");
    ensure!(root.join("var/lib/trunkline").exists(), "the purge deleted data");
    fs::remove_dir_all(&root)?;
    Ok(Installed { install, first_answer })
}

/// Boots the system with the service.
fn test_service(release: &Release<'_>, root: &Path) -> Result<()> {
    let workspace = release.workspace;
    release.write("deb/test/service.sh", &root.join("root/service.sh"))?;
    let unit = root.join("etc/systemd/system/service-test.service");
    release.write("deb/test/service-test.service", &unit)?;
    run(&mut command!(workspace, "systemctl", "--root", root, "enable", "service-test"))?;
    let mut boot = command!(workspace, "systemd-nspawn", "--quiet", "--private-network");
    boot.args(["--keep-unit", "--register=no", "--boot", "--directory"]).arg(root);
    let booted = run_within(BOOT, boot.stdout(Stdio::null()));
    let printed = fs::read_to_string(root.join("root/output")).unwrap_or_default();
    booted.context("`systemd-nspawn` failed (Debian package systemd-container; run as root)")?;
    ensure!(printed.lines().last() == Some("passed"), "the service failed:\n{printed}");
    Ok(())
}

/// An archive of a minimal Debian system, which is created once.
fn system(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/peers/debian");
    let archive = folder.join("root.tar");
    peers::create_once(&folder, &format!("{DEBIAN} {PACKAGES}"), || {
        let mut create = command!(workspace, "mmdebstrap", "--quiet", "--variant=essential");
        run(create.args([PACKAGES, DEBIAN]).arg(&archive))
            .context("`mmdebstrap` is missing or failed (Debian package mmdebstrap; run as root)")
    })?;
    Ok(archive)
}

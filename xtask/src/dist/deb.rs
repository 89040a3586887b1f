//! A Debian package with a systemd unit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::format::{Installed, timed};
use super::program::Program;
use super::release::{Release, copy};
use super::session;
use super::tools::Tools;
use crate::peers;
use crate::workspace::{Workspace, output, run, run_within};

const UNIT: &str = "usr/lib/systemd/system/trunkline.service";
const CONFIG: &str = "etc/trunkline/trunkline.toml";
/// The exposure that `systemd-analyze security` may report, in tenths: 0 is best, 100 worst.
const MAX_EXPOSURE: &str = "12";
/// The release of Debian that the package is installed on.
const DEBIAN: &str = "bookworm";
/// The deadline of a boot with the test of the service, which takes seconds.
const BOOT: Duration = Duration::from_secs(180);

const SCRIPTS: [&str; 5] = ["control", "conffiles", "postinst", "prerm", "postrm"];
/// Templates, and their paths in the package.
const FILES: [(&str, &str); 4] = [
    ("deb/trunkline.service", UNIT),
    ("deb/trunkline.toml", CONFIG),
    ("deb/copyright", "usr/share/doc/trunkline/copyright"),
    ("deb/tools.conf", "usr/share/doc/trunkline/examples/tools.conf"),
];
const COMPLETIONS: [(&str, &str); 3] = [
    ("trunkline.bash", "usr/share/bash-completion/completions/trunkline"),
    ("trunkline.fish", "usr/share/fish/vendor_completions.d/trunkline.fish"),
    ("_trunkline", "usr/share/zsh/vendor-completions/_trunkline"),
];

pub(super) fn build(
    release: &Release<'_>,
    program: &Program,
    _tools: &Tools,
) -> Result<Vec<PathBuf>> {
    let (version, architecture) = (release.get("version"), release.get("deb_architecture"));
    let file = release.file(&format!("trunkline_{version}_{architecture}.deb"));
    let content = stage(release, program)?;
    run(release
        .workspace
        .command("dpkg-deb")
        .args(["--root-owner-group", "--build"])
        .args([&content, &file]))?;
    Ok(vec![file])
}

/// Writes the content of the package to a folder.
pub(super) fn stage(release: &Release<'_>, program: &Program) -> Result<PathBuf> {
    let workspace = release.workspace;
    let root = release.staging("deb")?;
    copy(&program.path, &root.join("usr/bin/trunkline"))?;
    for (template, path) in FILES {
        release.write(template, &root.join(path))?;
    }
    for (file, path) in COMPLETIONS {
        copy(&program.completions.join(file), &root.join(path))?;
    }
    let man = root.join("usr/share/man/man1");
    fs::create_dir_all(&man)?;
    for page in fs::read_dir(&program.man_pages)? {
        let page = page?;
        copy(&page.path(), &man.join(page.file_name()))?;
    }
    let changelog = root.join("usr/share/doc/trunkline/changelog");
    copy(&workspace.path("CHANGELOG.md"), &changelog)?;
    run(workspace.command("gzip").args(["-9", "-n", "-r"]).args([&changelog, &man]))?;

    let control = root.join("DEBIAN");
    for script in SCRIPTS {
        release.write(&format!("deb/DEBIAN/{script}"), &control.join(script))?;
    }
    let sums = output(
        workspace
            .command("find")
            .current_dir(&root)
            .args(["usr", "-type", "f", "-exec", "md5sum", "{}", "+"]),
    )?;
    fs::write(control.join("md5sums"), sums)?;
    let kib = program.size()? / 1024;
    let text = fs::read_to_string(control.join("control"))?;
    fs::write(control.join("control"), format!("{text}Installed-Size: {kib}\n"))?;
    // Whatever the umask is.
    run(workspace.command("chmod").args(["-R", "u+rwX,go+rX,go-w"]).arg(&root))?;
    check_unit(release, &root)?;
    Ok(root)
}

/// Checks the unit, and prints its exposure.
fn check_unit(release: &Release<'_>, root: &Path) -> Result<()> {
    let workspace = release.workspace;
    let unit = root.join(UNIT);
    // systemd checks that the program exists, which is not installed on this machine.
    let installed = fs::read_to_string(&unit)?;
    let staged =
        installed.replace("/usr/bin/trunkline", &root.join("usr/bin/trunkline").to_string_lossy());
    let copy = release.staging("unit")?.join("trunkline.service");
    fs::write(&copy, staged)?;
    let drop_ins = copy.with_extension("service.d");
    fs::create_dir_all(&drop_ins)?;
    fs::write(drop_ins.join("documented.conf"), documented_drop_in(workspace)?)?;
    let mut verify = workspace.command("systemd-analyze");
    let verify = verify.args(["verify", "--man=no"]).arg(&copy).output();
    let advice = "`systemd-analyze` is missing or failed (Debian package systemd)";
    let verify = verify.context(advice)?;
    let messages = String::from_utf8_lossy(&verify.stderr);
    ensure!(
        verify.status.success() && !messages.contains("trunkline"),
        "invalid unit {}:\n{messages}",
        copy.display()
    );
    let threshold = format!("--threshold={MAX_EXPOSURE}");
    let report = output(
        workspace
            .command("systemd-analyze")
            .args(["security", "--offline=true", "--no-pager", &threshold])
            .arg(&unit),
    )
    .context(advice)?;
    println!("{}", report.lines().last().unwrap_or_default());
    Ok(())
}

fn documented_drop_in(workspace: &Workspace) -> Result<String> {
    let page = workspace.read(Path::new("docs/operations/systemd.md"))?;
    let block = page.split_once("```ini\n").and_then(|(_, rest)| rest.split_once("```"));
    let (drop_in, _) = block.context("docs/operations/systemd.md shows no drop-in")?;
    Ok(drop_in.to_owned())
}

/// Installs the package in a minimal Debian system, uses it, and removes it.
pub(super) fn check(release: &Release<'_>, _tools: &Tools, files: &[PathBuf]) -> Result<Installed> {
    let [file] = files else { unreachable!("`build` returns one file") };
    let workspace = release.workspace;
    let root = release.staging("debian")?;
    run(workspace
        .command("tar")
        .args(["--extract", "--same-permissions", "--numeric-owner", "--file"])
        .arg(system(workspace)?)
        .arg("--directory")
        .arg(&root))?;
    let inside = |program: &str| {
        let mut command = workspace.command("chroot");
        command.arg(&root).arg(program).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    };
    copy(file, &root.join("tmp/trunkline.deb"))?;
    let install = timed(|| run(inside("dpkg").args(["--install", "/tmp/trunkline.deb"])))?;
    let changed = output(inside("dpkg").args(["--verify", "trunkline"]))?;
    ensure!(changed.is_empty(), "installed files differ from the package:\n{changed}");
    session::database(&root.join("tmp"))?;
    let first_answer = session::mcp(inside("trunkline").args(["mcp", "--db", "/tmp/app.db"]))?;

    // As the unit starts it, except for the port and the database.
    fs::create_dir_all(root.join("var/lib/trunkline"))?;
    let mut server = inside("trunkline");
    let config = format!("/{CONFIG}");
    server.args(["serve", "--config", &config, "--port", "0", "--db", "/tmp/app.db"]);
    let log = root.with_extension("log");
    session::http(workspace, &mut server, &log, &root.join("usr/bin/trunkline"))?;

    test_service(release, &root)?;
    let changed = root.join(CONFIG);
    fs::write(&changed, "[server]\nlisten = \"127.0.0.1:8081\"\n")?;
    run(inside("dpkg").args(["--install", "/tmp/trunkline.deb"]))?;
    let kept = fs::read_to_string(&changed)?;
    ensure!(kept.contains("8081"), "an upgrade replaced the changed configuration");
    run(inside("dpkg").args(["--remove", "trunkline"]))?;
    ensure!(changed.exists(), "the removal deleted the configuration");
    run(inside("dpkg").args(["--purge", "trunkline"]))?;
    ensure!(!changed.exists(), "the purge kept the configuration");
    ensure!(root.join("var/lib/trunkline").exists(), "the purge deleted data");
    fs::remove_dir_all(&root)?;
    Ok(Installed { install, first_answer })
}

/// Boots the system with the service.
fn test_service(release: &Release<'_>, root: &Path) -> Result<()> {
    release.write("deb/test/service.sh", &root.join("root/service.sh"))?;
    let unit = root.join("etc/systemd/system/service-test.service");
    release.write("deb/test/service-test.service", &unit)?;
    let workspace = release.workspace;
    run(workspace.command("systemctl").arg("--root").arg(root).args(["enable", "service-test"]))?;
    let mut boot = workspace.command("systemd-nspawn");
    boot.args(["--quiet", "--private-network", "--keep-unit", "--register=no", "--boot"]);
    let booted = run_within(BOOT, boot.arg("--directory").arg(root).stdout(Stdio::null()));
    let printed = fs::read_to_string(root.join("root/output")).unwrap_or_default();
    booted.context("`systemd-nspawn` failed (Debian package systemd-container; run as root)")?;
    ensure!(printed.lines().last() == Some("passed"), "the service failed:\n{printed}");
    Ok(())
}

/// An archive of a minimal Debian system, which is created once.
fn system(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/peers/debian");
    let archive = folder.join("root.tar");
    let packages = "--include=systemd-sysv";
    peers::create_once(&folder, &format!("{DEBIAN} {packages}"), || {
        run(workspace
            .command("mmdebstrap")
            .args(["--quiet", "--variant=essential", packages, DEBIAN])
            .arg(&archive))
        .context("`mmdebstrap` is missing or failed (Debian package mmdebstrap; run as root)")
    })?;
    Ok(archive)
}

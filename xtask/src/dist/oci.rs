//! An OCI image, built without a daemon: the program, glibc and root certificates, both from Debian.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::format::{Installed, timed};
use super::program::{GCC_LIBRARY, Program};
use super::release::{Release, copy};
use super::session;
use super::tools::Tools;
use crate::workspace::{Workspace, output, run};

/// The user of the image, which exists in no other.
const USER: &str = "65532";
/// The working directory of the image: the volume of databases.
const DATA: &str = "/data";
/// The packages that the files come from.
const PACKAGES: [&str; 2] = ["ca-certificates", "libc6"];
/// The package with the licence of GCC's library.
const GCC_LICENCE: &str = "gcc-12-base";
const LIBRARIES: &str = "lib/x86_64-linux-gnu";
const LINKER: &str = "lib64/ld-linux-x86-64.so.2";
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

pub(super) fn build(
    release: &Release<'_>,
    program: &Program,
    _tools: &Tools,
) -> Result<Vec<PathBuf>> {
    let workspace = release.workspace;
    let folder = release.staging("oci")?;
    let content = folder.join("content");
    stage(release, program, &folder, &content)?;
    let layout = folder.join("layout");
    let image = format!("{}:{}", layout.display(), release.get("version"));
    let umoci = |arguments: &[&str]| {
        run(workspace.command("umoci").args(arguments))
            .context("`umoci` is missing or failed (Debian package umoci)")
    };
    umoci(&["init", "--layout", &layout.to_string_lossy()])?;
    umoci(&["new", "--image", &image])?;
    umoci(&["insert", "--rootless", "--image", &image, &content.to_string_lossy(), "/"])?;
    let settings = release.template("oci/config.txt")?;
    let mut config = vec!["config", "--image", &image];
    config.extend(settings.lines().flat_map(|line| line.splitn(2, ' ')));
    umoci(&config)?;
    umoci(&["gc", "--layout", &layout.to_string_lossy()])?;
    let version = release.get("version");
    let file = release.file(&format!("trunkline-{version}-oci-amd64.tar"));
    let archive = format!("oci-archive:{}:trunkline:{version}", file.display());
    skopeo(workspace, &format!("oci:{image}"), &archive)?;
    Ok(vec![file])
}

fn skopeo(workspace: &Workspace, from: &str, to: &str) -> Result<()> {
    run(workspace.command("skopeo").args(["copy", "--quiet", from, to]))
        .context("`skopeo` is missing or failed (Debian package skopeo)")
}

/// Writes the content of the image to a folder.
fn stage(release: &Release<'_>, program: &Program, folder: &Path, content: &Path) -> Result<()> {
    let workspace = release.workspace;
    let debian = folder.join("debian");
    let mut packages = PACKAGES.to_vec();
    if program.libraries.iter().any(|library| library == GCC_LIBRARY.0) {
        packages.extend([GCC_LIBRARY.1, GCC_LICENCE]);
    }
    download(workspace, &packages, folder, &debian)?;
    copy(&program.path, &content.join("usr/bin/trunkline"))?;
    copy(&debian.join(LINKER), &content.join(LINKER))?;
    let is_library = |name: &&String| !LINKER.ends_with(name.as_str());
    for library in program.libraries.iter().filter(is_library) {
        let library = Path::new(LIBRARIES).join(library);
        copy(&debian.join(&library), &content.join(&library))?;
    }
    let mut certificates = String::new();
    let mut files: Vec<_> = fs::read_dir(debian.join("usr/share/ca-certificates/mozilla"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.sort();
    for file in files {
        certificates += &fs::read_to_string(&file)?;
    }
    ensure!(certificates.contains("BEGIN CERTIFICATE"), "root certificates are missing");
    for (path, text) in [
        (CERTIFICATES, certificates.as_str()),
        (
            "etc/passwd",
            "root:x:0:0::/:/sbin/nologin\ntrunkline:x:65532:65532::/data:/sbin/nologin\n",
        ),
        ("etc/group", "root:x:0:\ntrunkline:x:65532:\n"),
        ("etc/nsswitch.conf", "hosts: files dns\n"),
    ] {
        let file = content.join(path);
        fs::create_dir_all(file.parent().context("a file has a folder")?)?;
        fs::write(&file, text)?;
    }
    for package in packages {
        let copyright = format!("usr/share/doc/{package}/copyright");
        let from = debian.join(&copyright);
        copy(&from, &content.join(copyright))?;
    }
    release.copy_licences(&content.join("usr/share/doc/trunkline"))?;
    run(workspace.command("chmod").args(["-R", "u+rwX,go+rX,go-w"]).arg(content))?;
    // Runtimes mount file systems at these.
    run(workspace.command("mkdir").args(["dev", "proc", "sys"].map(|name| content.join(name))))?;
    // The only user can write to these, whatever its number is.
    run(workspace
        .command("mkdir")
        .args(["-m", "1777"])
        .args([content.join("tmp"), content.join(DATA.trim_start_matches('/'))]))
}

/// Downloads the packages of Debian, and unpacks them to a folder.
fn download(workspace: &Workspace, packages: &[&str], folder: &Path, to: &Path) -> Result<()> {
    run(workspace
        .command("apt-get")
        .current_dir(folder)
        .args(["--quiet", "--quiet", "-o", "APT::Sandbox::User=root", "download"])
        .args(packages))
    .context("the packages of Debian cannot be downloaded; run `apt-get update`")?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            run(workspace.command("dpkg-deb").arg("--extract").args([path.as_path(), to]))?;
        }
    }
    Ok(())
}

/// Unpacks the image, and runs it in a sandbox with the user, environment and command of the image.
pub(super) fn check(release: &Release<'_>, _tools: &Tools, files: &[PathBuf]) -> Result<Installed> {
    let [file] = files else { unreachable!("`build` returns one file") };
    let workspace = release.workspace;
    let folder = release.staging("oci-installed")?;
    let (layout, bundle) = (folder.join("layout"), folder.join("bundle"));
    let install = timed(|| {
        let image = format!("{}:image", layout.display());
        skopeo(workspace, &format!("oci-archive:{}", file.display()), &format!("oci:{image}"))?;
        let mut unpack = workspace.command("umoci");
        run(unpack.args(["unpack", "--rootless", "--image", &image]).arg(&bundle))
    })?;
    let config: Value = serde_json::from_str(&fs::read_to_string(bundle.join("config.json"))?)?;
    let process = &config["process"];
    let texts = |value: &Value| -> Result<Vec<String>> {
        serde_json::from_value(value.clone()).context("invalid config.json of the image")
    };
    let data = folder.join("data");
    fs::create_dir(&data)?;
    run(workspace.command("chmod").arg("1777").arg(&data))?;
    session::database(&data)?;
    let sandbox = |arguments: &[&str]| -> Result<_> {
        let mut command = workspace.command("bwrap");
        command.args(["--unshare-all", "--share-net", "--die-with-parent", "--clearenv"]);
        command.args(["--uid", USER, "--gid", USER, "--ro-bind"]);
        command.arg(bundle.join("rootfs")).args(["/", "--bind"]).arg(&data).arg(DATA);
        command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir"]);
        command.arg(process["cwd"].as_str().context("the image has no working directory")?);
        for variable in texts(&process["env"])? {
            let (name, value) = variable.split_once('=').context("invalid variable")?;
            command.args(["--setenv", name, value]);
        }
        let given = texts(&process["args"])?;
        let entrypoint = given.first().context("the image has no entry point")?;
        Ok({
            command.arg(entrypoint).args(arguments);
            command
        })
    };
    let first_answer = session::mcp(&mut sandbox(&["mcp", "--db", "app.db"])?)
        .context("bubblewrap is missing or failed (Debian package bubblewrap)")?;
    let mut server = sandbox(&["serve", "app.db", "--listen", "127.0.0.1:0"])?;
    let client = bundle.join("rootfs/usr/bin/trunkline");
    session::http(workspace, &mut server, &folder.join("server.log"), &client)?;

    // All addresses are those of the image; without a token, the server does not start.
    let open = sandbox(&["serve", "app.db"])?.output()?;
    let message = String::from_utf8_lossy(&open.stderr);
    ensure!(
        !open.status.success() && message.contains("TRUNKLINE_BEARER"),
        "a server of all addresses started without a token: {message}"
    );
    let version = output(&mut sandbox(&["--version"])?)?;
    ensure!(version.contains(release.get("version")), "wrong version {version}");
    Ok(Installed { install, first_answer })
}

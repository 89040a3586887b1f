//! An OCI image, built without a daemon: the program, glibc and root certificates, both from Debian.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::program::{GCC_LIBRARY, Program};
use super::release::{Installed, Release, copy, timed, write};
use super::session;
use crate::workspace::{Workspace, command, output, run};

/// The user of the image, which exists in no other.
const USER: &str = "65532";
/// The working directory of the image: the volume of databases.
const DATA: &str = "/data";
/// The packages that the files come from, and that with the licence of GCC's library.
const PACKAGES: [&str; 2] = ["ca-certificates", "libc6"];
const GCC_LICENCE: &str = "gcc-12-base";
const LIBRARIES: &str = "lib/x86_64-linux-gnu";
const LINKER: &str = "lib64/ld-linux-x86-64.so.2";
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";
const FILES: [(&str, &str); 3] = [
    ("etc/passwd", "root:x:0:0::/:/sbin/nologin\ntrunkline:x:65532:65532::/data:/sbin/nologin\n"),
    ("etc/group", "root:x:0:\ntrunkline:x:65532:\n"),
    ("etc/nsswitch.conf", "hosts: files dns\n"),
];

pub(super) fn build(release: &Release<'_>, program: &Program) -> Result<Vec<PathBuf>> {
    let workspace = release.workspace;
    let folder = release.staging("oci")?;
    let content = folder.join("content");
    stage(release, program, &folder, &content)?;
    let layout = folder.join("layout");
    let version = release.get("version");
    let image = format!("{}:{version}", layout.display());
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
    add_health_check(&layout)?;
    umoci(&["gc", "--layout", &layout.to_string_lossy()])?;
    let file = release.file(&format!("trunkline-{version}-oci-amd64.tar"));
    let archive = format!("oci-archive:{}:trunkline:{version}", file.display());
    skopeo(workspace, &format!("oci:{image}"), &archive)?;
    Ok(vec![file])
}

/// Adds the health check to the configuration of the image in a layout. `umoci config` has no option for it: it is a
/// member of Docker's format, which OCI reserves.
fn add_health_check(layout: &Path) -> Result<()> {
    const SECOND: u64 = 1_000_000_000;
    let index_file = layout.join("index.json");
    let mut index = read_json(&index_file)?;
    let descriptor = &mut index["manifests"][0];
    let mut manifest = read_blob(layout, descriptor)?;
    let mut config = read_blob(layout, &manifest["config"])?;
    config["config"]["Healthcheck"] = json!({
        "Test": ["CMD", "/usr/bin/trunkline", "health"],
        "Interval": 30 * SECOND,
        "Timeout": 10 * SECOND,
        "StartPeriod": 10 * SECOND,
        "Retries": 3,
    });
    write_blob(layout, &mut manifest["config"], &config)?;
    write_blob(layout, descriptor, &manifest)?;
    Ok(fs::write(index_file, index.to_string())?)
}

fn read_json(file: &Path) -> Result<Value> {
    let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(serde_json::from_slice(&text)?)
}

/// Reads the document of a descriptor.
fn read_blob(layout: &Path, descriptor: &Value) -> Result<Value> {
    let digest = descriptor["digest"].as_str().context("a descriptor has no digest")?;
    read_json(&layout.join("blobs").join(digest.replacen(':', "/", 1)))
}

/// Writes a document of a layout, and sets the digest and the size in its descriptor.
fn write_blob(layout: &Path, descriptor: &mut Value, document: &Value) -> Result<()> {
    let text = document.to_string();
    let blobs = layout.join("blobs/sha256");
    let new = blobs.join("new");
    fs::write(&new, &text)?;
    let sum = output(Command::new("sha256sum").arg(&new))?;
    let sum = sum.split_whitespace().next().context("unexpected output of sha256sum")?;
    fs::rename(&new, blobs.join(sum))?;
    descriptor["digest"] = format!("sha256:{sum}").into();
    descriptor["size"] = text.len().into();
    Ok(())
}

fn skopeo(workspace: &Workspace, from: &str, to: &str) -> Result<()> {
    run(&mut command!(workspace, "skopeo", "copy", "--quiet", from, to))
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
    let mut apt =
        command!(workspace, "apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download");
    run(apt.args(&packages).current_dir(folder))
        .context("the packages of Debian cannot be downloaded; run `apt-get update`")?;
    for path in list(folder)? {
        if path.extension().is_some_and(|extension| extension == "deb") {
            run(&mut command!(workspace, "dpkg-deb", "--extract", path, &debian))?;
        }
    }
    copy(&program.path, &content.join("usr/bin/trunkline"))?;
    copy(&debian.join(LINKER), &content.join(LINKER))?;
    for library in program.libraries.iter().filter(|name| !LINKER.ends_with(name.as_str())) {
        let library = Path::new(LIBRARIES).join(library);
        copy(&debian.join(&library), &content.join(&library))?;
    }
    let certificates = list(&debian.join("usr/share/ca-certificates/mozilla"))?;
    let certificates =
        certificates.iter().map(fs::read_to_string).collect::<Result<String, _>>()?;
    ensure!(certificates.contains("BEGIN CERTIFICATE"), "root certificates are missing");
    for (path, text) in FILES.into_iter().chain([(CERTIFICATES, &*certificates)]) {
        write(&content.join(path), text)?;
    }
    for package in packages {
        let copyright = format!("usr/share/doc/{package}/copyright");
        copy(&debian.join(&copyright), &content.join(&copyright))?;
    }
    release.copy_licences(&content.join("usr/share/doc/trunkline"))?;
    release.set_modes(content)?;
    // Runtimes mount file systems at these.
    run(workspace.command("mkdir").args(["dev", "proc", "sys"].map(|name| content.join(name))))?;
    // The only user can write to these, whatever its number is.
    let data = content.join(DATA.trim_start_matches('/'));
    run(&mut command!(workspace, "mkdir", "-m", "1777", content.join("tmp"), data))
}

/// The sorted paths in a folder.
fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Unpacks the image, and runs it in a sandbox with the user, environment and command of the image.
pub(super) fn check(release: &Release<'_>, files: &[PathBuf]) -> Result<Installed> {
    let file = files.first().context("no file")?;
    let workspace = release.workspace;
    let folder = release.staging("oci-installed")?;
    let (layout, bundle) = (folder.join("layout"), folder.join("bundle"));
    let ((), install) = timed(|| {
        let image = format!("{}:image", layout.display());
        skopeo(workspace, &format!("oci-archive:{}", file.display()), &format!("oci:{image}"))?;
        run(&mut command!(workspace, "umoci", "unpack", "--rootless", "--image", &image, &bundle))
    })?;
    let config = read_json(&bundle.join("config.json"))?;
    let process = &config["process"];
    let texts = |value: &Value| serde_json::from_value::<Vec<String>>(value.clone());
    let data = folder.join("data");
    fs::create_dir(&data)?;
    run(&mut command!(workspace, "chmod", "1777", &data))?;
    session::database(&data)?;
    let sandbox = |arguments: &[&str]| -> Result<_> {
        let mut bwrap = command!(workspace, "bwrap", "--unshare-all", "--share-net", "--clearenv");
        bwrap.args(["--die-with-parent", "--uid", USER, "--gid", USER, "--ro-bind"]);
        bwrap.arg(bundle.join("rootfs")).args(["/", "--bind"]).arg(&data).arg(DATA);
        bwrap.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir"]);
        bwrap.arg(process["cwd"].as_str().context("the image has no working directory")?);
        for variable in texts(&process["env"])? {
            let (name, value) = variable.split_once('=').context("invalid variable")?;
            bwrap.args(["--setenv", name, value]);
        }
        let given = texts(&process["args"])?;
        bwrap.arg(given.first().context("the image has no entry point")?).args(arguments);
        Ok(bwrap)
    };
    let first_answer = session::mcp(&mut sandbox(&["mcp", "--db", "app.db"])?, &folder)
        .context("bubblewrap is missing or failed (Debian package bubblewrap)")?;
    let mut server = sandbox(&["serve", "app.db", "--listen", "127.0.0.1:0"])?;
    let client = bundle.join("rootfs/usr/bin/trunkline");
    session::http(workspace, &mut server, &folder.join("server.log"), &client)?;
    let health = output(&mut sandbox(&["health", "--help"])?)?;
    ensure!(health.contains("--live"), "the image has no `trunkline health`");

    // All addresses are those of the image; without a token, the server does not start.
    let open = sandbox(&["serve", "app.db"])?.output()?;
    let message = String::from_utf8_lossy(&open.stderr);
    ensure!(
        !open.status.success() && message.contains("TRUNKLINE_BEARER"),
        "a server of all addresses started without a token: {message}"
    );
    Ok(Installed { install, first_answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_has_a_health_check() {
        let layout = std::env::temp_dir().join(format!("xtask-oci-{}", std::process::id()));
        fs::create_dir_all(layout.join("blobs/sha256")).unwrap();
        let mut manifest = json!({"schemaVersion": 2, "config": {"mediaType": "a"}, "layers": [1]});
        let config = json!({"config": {"User": "1"}, "rootfs": {}});
        write_blob(&layout, &mut manifest["config"], &config).unwrap();
        let mut index = json!({"manifests": [{"annotations": {"org": "0.1.0"}}]});
        write_blob(&layout, &mut index["manifests"][0], &manifest).unwrap();
        fs::write(layout.join("index.json"), index.to_string()).unwrap();

        add_health_check(&layout).unwrap();
        let follow = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap().to_owned();
            let file = layout.join("blobs").join(digest.replacen(':', "/", 1));
            assert_eq!(fs::metadata(&file).unwrap().len(), descriptor["size"].as_u64().unwrap());
            let sum = output(Command::new("sha256sum").arg(&file)).unwrap();
            assert!(digest.ends_with(sum.split_whitespace().next().unwrap()), "{sum}");
            read_json(&file).unwrap()
        };
        let index = read_json(&layout.join("index.json")).unwrap();
        assert_eq!(index["manifests"][0]["annotations"]["org"], "0.1.0");
        let manifest = follow(&index["manifests"][0]);
        assert_eq!(manifest["layers"], json!([1]));
        let config = follow(&manifest["config"]);
        assert_eq!(config["config"]["User"], "1");
        let test = json!(["CMD", "/usr/bin/trunkline", "health"]);
        assert_eq!(config["config"]["Healthcheck"]["Test"], test);
        assert_eq!(config["config"]["Healthcheck"]["Timeout"], 10_000_000_000_u64);
        fs::remove_dir_all(layout).unwrap();
    }
}

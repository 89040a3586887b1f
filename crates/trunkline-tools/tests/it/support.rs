use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;
use trunkline::{ErrorObject, Router, Rpc};
use trunkline_tools::{ToolConfig, ToolFolder};

/// Longest time that anything may take which is expected to happen at once. The machine may be slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A folder on its way to be served.
pub(crate) struct Folder {
    directory: TempDir,
}

/// A folder that is served, as `tool.NAME`.
pub(crate) struct Served {
    _directory: TempDir,
    pub(crate) folder: ToolFolder,
    pub(crate) rpc: Rpc,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// A tool of a shell script, with these lines in its manifest besides those that all have.
    pub(crate) fn tool(&self, name: &str, script: &str, lines: &str) -> &Self {
        self.script(&format!("{name}.sh"), script);
        self.write(&format!("{name}.toml"), &manifest(name, lines));
        self
    }

    pub(crate) fn script(&self, name: &str, script: &str) {
        // Written elsewhere and moved here: a file that another test's child has open for writing, between
        // its fork and its exec, cannot be executed.
        let path = self.path().join(name);
        let command =
            format!("cat > '{0}.new' && chmod +x '{0}.new' && mv '{0}.new' '{0}'", path.display());
        let mut shell = Command::new("sh");
        let mut child =
            shell.args(["-c", &command]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        drop(stdin);
        assert!(child.wait().unwrap().success());
        assert_ne!(fs::metadata(&path).unwrap().permissions().mode() & 0o111, 0);
    }

    pub(crate) fn serve(self, settings: ToolConfig) -> Served {
        let folder = ToolFolder::open(self.path(), settings).unwrap();
        assert_eq!(folder.rejected(), []);
        let rpc = Router::new().nest("tool", trunkline_tools::operations(&folder)).build().unwrap();
        Served { _directory: self.directory, folder, rpc }
    }
}

pub(crate) fn manifest(name: &str, lines: &str) -> String {
    format!(
        "name = '{name}'\ndescription = 'A test.'\ncommand = ['./{name}.sh']\n{lines}\n\
         [input_schema]\ntype = 'object'\n"
    )
}

impl Served {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// The result's text.
    pub(crate) async fn call(&self, name: &str, params: &Value) -> Result<String, ErrorObject> {
        let result: Box<RawValue> = self.rpc.call(&format!("tool.{name}"), params).await?;
        Ok(result.get().to_owned())
    }

    /// The code and the data of a call that fails.
    pub(crate) async fn failure(&self, name: &str, params: &Value) -> (i64, Value) {
        let error = self.call(name, params).await.unwrap_err();
        let data =
            error.data().map_or(Value::Null, |data| serde_json::from_str(data.get()).unwrap());
        (error.code(), data)
    }

    /// The number that a tool wrote to a file of its folder, when it is there.
    pub(crate) async fn pid(&self, file: &str) -> u32 {
        let path = self.path().join(file);
        let mut pid = None;
        until("the tool tells its number", || {
            pid = fs::read_to_string(&path)
                .ok()
                .and_then(|text| text.strip_suffix('\n')?.parse().ok());
            pid.is_some()
        })
        .await;
        pid.unwrap()
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(
    what: &'static str,
    mut is_so: impl FnMut() -> bool,
) -> impl Future<Output = ()> {
    let end = Instant::now() + PATIENCE;
    let place = std::panic::Location::caller();
    async move {
        while !is_so() {
            assert!(Instant::now() < end, "{place}: {what}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Whether a process runs. One that has ended and was not yet waited for does not.
pub(crate) fn runs(pid: u32) -> bool {
    // The state follows the name, which is in parentheses (proc(5)).
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;
use trunkline::{ErrorObject, Router, Rpc};
use trunkline_command_tools::{ToolConfig, ToolFolder};

/// The maximum wait for anything that should happen at once, on a slow machine.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(20);

/// A folder of tools.
pub(crate) struct Folder {
    directory: TempDir,
}

/// The service of a folder, with operations `tool.NAME`.
pub(crate) struct TestService {
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

    /// Adds a tool with a shell script, and additional lines in its manifest.
    pub(crate) fn tool(&self, name: &str, script: &str, lines: &str) -> &Self {
        self.script(&format!("{name}.sh"), script);
        self.write(&format!("{name}.toml"), &manifest(name, lines));
        self
    }

    pub(crate) fn script(&self, name: &str, script: &str) {
        // Written by another process and moved: a file that a forked child of another test has open for writing
        // cannot be executed.
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

    pub(crate) fn serve(self, config: ToolConfig) -> TestService {
        let folder = ToolFolder::open(self.path(), config).unwrap();
        assert_eq!(folder.rejected(), []);
        let rpc = Router::new()
            .nest("tool", trunkline_command_tools::operations(&folder))
            .build()
            .unwrap();
        TestService { _directory: self.directory, folder, rpc }
    }
}

pub(crate) fn manifest(name: &str, lines: &str) -> String {
    format!(
        "name = '{name}'\ndescription = 'A test.'\ncommand = ['./{name}.sh']\n{lines}\n\
         [input_schema]\ntype = 'object'\n"
    )
}

impl TestService {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// The text of the result.
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

    /// Waits for a process id that a tool writes to a file of its folder.
    pub(crate) async fn pid(&self, file: &str) -> u32 {
        let path = self.path().join(file);
        let mut pid = None;
        until("the process id", || {
            pid = fs::read_to_string(&path)
                .ok()
                .and_then(|text| text.strip_suffix('\n')?.parse().ok());
            pid.is_some()
        })
        .await;
        pid.unwrap()
    }
}

/// Waits for a condition.
#[track_caller]
pub(crate) fn until(
    what: &'static str,
    mut condition: impl FnMut() -> bool,
) -> impl Future<Output = ()> {
    let end = Instant::now() + MAX_WAIT;
    let place = std::panic::Location::caller();
    async move {
        while !condition() {
            assert!(Instant::now() < end, "{place}: {what}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Whether a process is running. A zombie is not.
pub(crate) fn is_running(pid: u32) -> bool {
    // The state follows the name, which is in parentheses (proc(5)).
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

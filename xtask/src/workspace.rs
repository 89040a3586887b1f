//! The checkout, its files, and commands that run in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// A command in the root folder with arguments, each a text or a path.
macro_rules! command {
    ($workspace:expr, $program:expr $(, $argument:expr)* $(,)?) => {{
        let mut command = $workspace.command($program);
        $(command.arg($argument);)*
        command
    }};
}
pub(crate) use command;

/// Polling interval of commands with a deadline.
const TICK: Duration = Duration::from_millis(5);

/// The checkout that xtask was built from.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask is a folder of the workspace")?;
        if !root.join("Cargo.toml").is_file() {
            bail!("no workspace at {}", root.display());
        }
        Ok(Self { root: root.to_owned() })
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Creates an empty folder for the output of a run. Removes the output of the last run.
    pub(crate) fn fresh_folder(&self, relative: impl AsRef<Path>) -> Result<PathBuf> {
        let folder = self.path(relative);
        empty_folder(&folder)?;
        Ok(folder)
    }

    /// The cargo that runs xtask, in the root folder.
    pub(crate) fn cargo<I, S>(&self, args: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = self.command(cargo);
        command.args(args);
        // `cargo run` sets variables of the package xtask, which build scripts must not see.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CARGO_PKG_") {
                command.env_remove(name);
            }
        }
        command.env_remove("CARGO_MANIFEST_DIR");
        command.env_remove("CARGO_MANIFEST_PATH");
        command
    }

    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Builds all programs and examples of the workspace, and returns the path of one. They have the same features as in
    /// tests, so that nothing is built twice.
    pub(crate) fn build(&self, name: &str) -> Result<PathBuf> {
        let mut command = self.cargo(["build", "--workspace", "--bin=trunkline", "--examples"]);
        command.arg("--message-format=json-render-diagnostics");
        println!("$ {}", show(&command));
        let printed = output(command.stderr(Stdio::inherit()))?;
        let messages = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut built = messages.filter(|message| message["target"]["name"] == name);
        let path = built.find_map(|message| Some(message["executable"].as_str()?.into()));
        path.with_context(|| format!("the workspace has no program or example {name}"))
    }

    /// Files with this extension that git does not ignore, as sorted paths relative to the root.
    pub(crate) fn files(&self, extension: &str) -> Result<Vec<PathBuf>> {
        let mut git = command!(self, "git", "ls-files", "--cached", "--others");
        let listed = output(git.args(["--exclude-standard", &format!("*.{extension}")]))?;
        let mut files: Vec<PathBuf> = listed.lines().map(PathBuf::from).collect();
        // The index has files that were removed since.
        files.retain(|file| self.path(file).is_file());
        files.sort();
        files.dedup();
        Ok(files)
    }

    pub(crate) fn read(&self, relative: &Path) -> Result<String> {
        std::fs::read_to_string(self.path(relative))
            .with_context(|| format!("cannot read {}", relative.display()))
    }
}

/// Creates an empty folder, in place of the one that exists.
pub(crate) fn empty_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// A process that is killed when dropped.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn().with_context(|| format!("cannot start `{}`", show(command)));
        Ok(Self(child?))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Polls until a value is there. Fails at the deadline; `missing` says what is not there.
pub(crate) fn wait_for<T>(
    deadline: Duration,
    mut poll: impl FnMut() -> Result<Option<T>>,
    missing: impl FnOnce() -> String,
) -> Result<T> {
    let start = Instant::now();
    loop {
        match poll()? {
            Some(value) => return Ok(value),
            None if start.elapsed() < deadline => std::thread::sleep(TICK),
            None => bail!("{} within {} s", missing(), deadline.as_secs()),
        }
    }
}

/// Prints a command and runs it. Fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    println!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// As [`run`], without stdin, and kills the command at the deadline.
pub(crate) fn run_within(deadline: Duration, command: &mut Command) -> Result<()> {
    let shown = show(command);
    println!("$ {shown}");
    let status = status_within(deadline, command)?;
    ensure!(status.success(), "`{shown}` failed ({status})");
    Ok(())
}

/// Runs a command without stdin and returns its exit status. Kills it at the deadline, which is an error.
pub(crate) fn status_within(deadline: Duration, command: &mut Command) -> Result<ExitStatus> {
    let mut process = Process::start(command.stdin(Stdio::null()))?;
    let unended = || format!("`{}` did not end", show(command));
    wait_for(deadline, || Ok(process.0.try_wait()?), unended)
}

/// Runs a command and returns its stdout; its stderr is part of the error if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` failed ({}): {}", output.status, stderr.trim());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("the output of `{shown}` is not UTF-8"))
}

pub(crate) fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut shown = program.file_name().map_or_else(
        || program.to_string_lossy().into_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    for arg in command.get_args() {
        shown.push(' ');
        shown += &arg.to_string_lossy();
    }
    shown
}

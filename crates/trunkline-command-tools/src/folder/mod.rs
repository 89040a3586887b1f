//! The tools of a folder.

mod catalog;
mod file;
mod report;
mod watcher;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use serde_json::value::RawValue;

pub use report::{FolderError, RejectedManifest, ReloadReport};

use crate::config::ToolConfig;
use crate::manifest::ToolManifest;
use crate::run::{ProcessBound, RunError, Runner, Tool};
use catalog::Catalog;
use file::Snapshot;

/// The tools of a folder: each `*.toml` in it is a [manifest](ToolManifest). Cloning is cheap; clones share the state.
///
/// ```
/// use trunkline::Router;
/// use trunkline_command_tools::{ToolFolder, ToolConfig};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path();
/// std::fs::write(
///     path.join("date.toml"),
///     "name = 'date'\ndescription = 'Today.'\ncommand = ['date', '+\"%F\"']\n[input_schema]\ntype = 'object'",
/// )?;
/// let folder = ToolFolder::open(path, ToolConfig::default())?;
/// let rpc = Router::new().nest("tool", trunkline_command_tools::operations(&folder)).build()?;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let today: String = rpc.call("tool.date", &()).await?;
/// assert_eq!(today.len(), 10);
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Clone)]
pub struct ToolFolder(Arc<Inner>);

struct Inner {
    path: PathBuf,
    runner: Runner,
    catalog: RwLock<Arc<Catalog>>,
    /// The number of started reads.
    reads_started: AtomicU64,
    /// The number of the last completed read, and its result. Locked during a read.
    last: Mutex<Option<(u64, Result<ReloadReport, FolderError>)>>,
    /// Held by asynchronous callers that wait for a read.
    refresh_lock: tokio::sync::Mutex<()>,
    /// The reason why the last read failed.
    failure: Mutex<Option<String>>,
    /// Locked while listeners are called, so that they are called in the order of the changes.
    listeners: Mutex<Vec<Listener>>,
    watch: Mutex<Option<Watch>>,
}

type Listener = Box<dyn Fn(&ToolFolder, &ReloadReport) + Send + Sync>;

impl ToolFolder {
    /// Reads a folder. Invalid manifests are [rejected](Self::rejected). If several files declare the same name, the
    /// first one by file name gets it; after a reload, the previous owner keeps it.
    ///
    /// # Errors
    /// If the folder itself cannot be read.
    pub fn open(path: impl Into<PathBuf>, config: ToolConfig) -> Result<Self, FolderError> {
        let path = path.into();
        let path = std::path::absolute(&path)
            .map_err(|source| FolderError { path: path.clone(), source })?;
        let catalog = Catalog::read(&path, &config, &Catalog::default())?;
        Ok(Self(Arc::new(Inner {
            path,
            runner: Runner::new(config),
            catalog: RwLock::new(Arc::new(catalog)),
            reads_started: AtomicU64::new(0),
            last: Mutex::default(),
            refresh_lock: tokio::sync::Mutex::default(),
            failure: Mutex::default(),
            listeners: Mutex::default(),
            watch: Mutex::default(),
        })))
    }

    /// The folder's absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The current tools, by name.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<ToolManifest>> {
        self.catalog().manifests()
    }

    /// The rejected manifests, by file name.
    #[must_use]
    pub fn rejected(&self) -> Vec<RejectedManifest> {
        self.catalog().rejected.clone()
    }

    /// The mechanism that limits the number of processes of a tool.
    #[must_use]
    pub fn process_bound(&self) -> ProcessBound {
        self.0.runner.process_bound()
    }

    /// Reads the folder again, and replaces all tools at once. Running calls continue. If the tools have changed,
    /// [listeners](Self::on_change) are called before this returns. Callers during a read share the next read. Blocks.
    ///
    /// # Errors
    /// If the folder cannot be read. The previous tools stay.
    pub fn reload(&self) -> Result<ReloadReport, FolderError> {
        self.reload_since(self.0.reads_started.load(Ordering::Acquire))
    }

    /// Reads the folder, or returns the result of a read that was started after number `reads_started`.
    fn reload_since(&self, reads_started: u64) -> Result<ReloadReport, FolderError> {
        let mut last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, result)) = last.as_ref().filter(|(number, _)| *number > reads_started) {
            return result.clone();
        }
        let number = self.0.reads_started.fetch_add(1, Ordering::AcqRel) + 1;
        let result = self.read();
        *last = Some((number, result.clone()));
        result
    }

    /// [Reloads](Self::reload) without blocking. All waiting callers share one thread.
    ///
    /// # Errors
    /// If the folder cannot be read. The previous tools stay.
    ///
    /// # Cancel safety
    /// A started read continues when the future is dropped.
    pub async fn refresh(&self) -> Result<ReloadReport, FolderError> {
        let reads_started = self.0.reads_started.load(Ordering::Acquire);
        let _lock = self.0.refresh_lock.lock().await;
        let folder = self.clone();
        let report = tokio::task::spawn_blocking(move || folder.reload_since(reads_started)).await;
        report.unwrap_or_else(|error| {
            Err(FolderError { path: self.0.path.clone(), source: error.into() })
        })
    }

    fn read(&self) -> Result<ReloadReport, FolderError> {
        let before = self.catalog();
        let read = Catalog::read(&self.0.path, self.0.runner.config(), &before);
        let failure = read.as_ref().err().map(|error| error.source.to_string());
        *self.0.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        let new = Arc::new(read?);
        let report = new.since(&before);
        *self.0.catalog.write().unwrap_or_else(PoisonError::into_inner) = new;
        if report.has_changes() {
            tracing::info!(
                added = ?report.added,
                changed = ?report.changed,
                removed = ?report.removed,
                "the tools have changed"
            );
            let listeners = self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner);
            for listener in listeners.iter() {
                // A panic would end the thread that watches the folder.
                if catch_unwind(AssertUnwindSafe(|| listener(self, &report))).is_err() {
                    tracing::error!("a listener of changes of the tools panicked");
                }
            }
        }
        Ok(report)
    }

    /// The current tools and rejected manifests, without reading the folder and without changes.
    #[must_use]
    pub fn listing(&self) -> ReloadReport {
        let catalog = self.catalog();
        let failure = self.failure();
        ReloadReport { failure, ..catalog.since(&catalog) }
    }

    fn failure(&self) -> Option<String> {
        self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a read may give another result.
    fn is_outdated(&self) -> bool {
        self.failure().is_some() || self.catalog().is_outdated(&self.0.path, self.0.runner.config())
    }

    /// The current versions of the files, or none if the folder cannot be read.
    fn snapshot(&self) -> Option<Snapshot> {
        self.catalog().current(&self.0.path, self.0.runner.config()).ok()
    }

    /// Calls `listener` whenever tools were added, changed or removed, in the order of the changes. It must not
    /// [reload](Self::reload) the folder or add listeners.
    pub fn on_change(&self, listener: impl Fn(&Self, &ReloadReport) + Send + Sync + 'static) {
        let mut listeners = self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.push(Box::new(listener));
    }

    /// Waits until no process of a tool is running. The processes of dropped calls end soon after them.
    pub async fn idle(&self) {
        self.0.runner.idle().await;
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.0.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The maximum duration of a call, including waiting and termination.
    pub(crate) fn call_timeout(&self, tool: &Tool) -> Duration {
        self.0.runner.call_timeout(tool)
    }

    pub(crate) async fn run(
        &self,
        tool: &Arc<Tool>,
        arguments: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RunError> {
        self.0.runner.run(tool, arguments).await
    }
}

impl fmt::Debug for ToolFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolFolder").field(&self.0.path).finish()
    }
}

/// The watching thread. It ends when this is dropped.
pub(super) struct Watch(#[expect(dead_code, reason = "the thread notices its drop")] Sender<()>);

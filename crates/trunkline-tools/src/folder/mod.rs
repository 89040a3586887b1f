//! The tools of a folder, as they are now.

mod catalog;
mod file;
mod reloaded;
mod watcher;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use serde_json::value::RawValue;

pub use reloaded::{FolderError, Rejected, Reloaded};

use crate::config::ToolConfig;
use crate::manifest::ToolManifest;
use crate::run::{ProcessBound, RunError, Runner, Tool};
use catalog::Catalog;

/// The tools of a folder: each `*.toml` in it is a [manifest](ToolManifest). Cloning is cheap, and all clones
/// are the same folder.
///
/// ```
/// use trunkline::Router;
/// use trunkline_tools::{ToolFolder, ToolConfig};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path();
/// std::fs::write(
///     path.join("date.toml"),
///     "name = 'date'\ndescription = 'Today.'\ncommand = ['date', '+\"%F\"']\n[input_schema]\ntype = 'object'",
/// )?;
/// let folder = ToolFolder::open(path, ToolConfig::default())?;
/// let rpc = Router::new().nest("tool", trunkline_tools::operations(&folder)).build()?;
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
    /// The number of readings that have begun.
    begun: AtomicU64,
    /// The last reading that has ended, by number, and its result. Locked while the folder is read.
    last: Mutex<Option<(u64, Result<Reloaded, FolderError>)>>,
    /// Held by those who wait for a reading without a thread.
    waiting: tokio::sync::Mutex<()>,
    /// Why the folder could not be read, since it was read last.
    failure: Mutex<Option<String>>,
    /// Held while those who want to know are told, so that they are told in the order in which it happened.
    listeners: Mutex<Vec<Listener>>,
    watch: Mutex<Option<Watch>>,
}

type Listener = Box<dyn Fn(&ToolFolder, &Reloaded) + Send + Sync>;

impl ToolFolder {
    /// Reads a folder. Manifests that are wrong are [rejected](Self::rejected), and the others are tools. Of
    /// those with one name, the first file has it; later on, the one that had it keeps it.
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
            begun: AtomicU64::new(0),
            last: Mutex::default(),
            waiting: tokio::sync::Mutex::default(),
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

    /// The tools there are, by name.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<ToolManifest>> {
        self.catalog().manifests()
    }

    /// The files that are no tools, by name.
    #[must_use]
    pub fn rejected(&self) -> Vec<Rejected> {
        self.catalog().rejected.clone()
    }

    /// What bounds the number of processes that a tool starts.
    #[must_use]
    pub fn process_bound(&self) -> ProcessBound {
        self.0.runner.process_bound()
    }

    /// Reads the folder again, and puts what it holds in the place of what there was, at once. Calls that
    /// run go on. If there is a difference, [listeners](Self::on_change) are told before this returns.
    /// Those who ask while it is read wait for the next reading, which is one for all of them. Blocks.
    ///
    /// # Errors
    /// If the folder cannot be read. The tools that there were stay.
    pub fn reload(&self) -> Result<Reloaded, FolderError> {
        self.reload_since(self.0.begun.load(Ordering::Acquire))
    }

    /// Reads the folder, or returns the result of a reading that began after the one with the number `begun`.
    fn reload_since(&self, begun: u64) -> Result<Reloaded, FolderError> {
        let mut last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, result)) = last.as_ref().filter(|(number, _)| *number > begun) {
            return result.clone();
        }
        let number = self.0.begun.fetch_add(1, Ordering::AcqRel) + 1;
        let result = self.read();
        *last = Some((number, result.clone()));
        result
    }

    /// The same for those who may not block: all who wait take one thread.
    ///
    /// # Errors
    /// If the folder cannot be read. The tools that there were stay.
    ///
    /// # Cancel safety
    /// When this is dropped, a reading that has begun goes on.
    pub async fn refresh(&self) -> Result<Reloaded, FolderError> {
        let begun = self.0.begun.load(Ordering::Acquire);
        let _waiting = self.0.waiting.lock().await;
        let folder = self.clone();
        let reloaded = tokio::task::spawn_blocking(move || folder.reload_since(begun)).await;
        reloaded.unwrap_or_else(|error| {
            Err(FolderError { path: self.0.path.clone(), source: error.into() })
        })
    }

    fn read(&self) -> Result<Reloaded, FolderError> {
        let before = self.catalog();
        let read = Catalog::read(&self.0.path, self.0.runner.config(), &before);
        let failure = read.as_ref().err().map(|error| error.source.to_string());
        *self.0.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        let new = Arc::new(read?);
        let reloaded = new.since(&before);
        *self.0.catalog.write().unwrap_or_else(PoisonError::into_inner) = new;
        if reloaded.is_different() {
            tracing::info!(
                added = ?reloaded.added,
                changed = ?reloaded.changed,
                removed = ?reloaded.removed,
                "the tools have changed"
            );
            let listeners = self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner);
            for listener in listeners.iter() {
                listener(self, &reloaded);
            }
        }
        Ok(reloaded)
    }

    /// What the folder holds, without reading it again: nothing is new.
    #[must_use]
    pub fn listing(&self) -> Reloaded {
        let catalog = self.catalog();
        let failure = self.failure();
        Reloaded { failure, ..catalog.since(&catalog) }
    }

    fn failure(&self) -> Option<String> {
        self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether another reading may find something else, though nothing was told of a change.
    fn is_unsettled(&self) -> bool {
        let catalog = self.catalog();
        self.failure().is_some() || catalog.is_unsettled || catalog.has_changed_elsewhere()
    }

    /// Calls `listener` whenever tools were added, changed or removed, one change after the other. It must
    /// not [reload](Self::reload) the folder, nor add listeners.
    pub fn on_change(&self, listener: impl Fn(&Self, &Reloaded) + Send + Sync + 'static) {
        let mut listeners = self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.push(Box::new(listener));
    }

    /// Waits until no process of a tool runs: those of calls that were dropped end soon after them.
    pub async fn idle(&self) {
        self.0.runner.idle().await;
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.0.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// How long a call may take: what bounds it is the time of its process.
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

/// How a folder is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Watching {
    /// The system reports changes.
    Notified,
    /// The folder is read periodically: the system cannot report changes. The log has the reason.
    Polled,
}

/// A thread that watches. It ends when this is dropped.
pub(super) struct Watch {
    pub(super) wake: SyncSender<()>,
    pub(super) is_over: Arc<AtomicBool>,
    pub(super) watching: Watching,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // If there is a note already, the thread takes that one.
        let _ = self.wake.try_send(());
    }
}

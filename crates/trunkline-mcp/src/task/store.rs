use std::fmt;
use std::pin::Pin;

use trunkline::BoxError;

use super::TaskRecord;

/// A store of tasks. The calls themselves run in the process that created them.
///
/// The server writes a task when it is created and for each change, and reads it after its end. It never calls
/// [`update`](Self::update) concurrently for one task.
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Adds a task. When this returns, [`get`](Self::get) finds it.
    ///
    /// # Errors
    /// [`TaskStoreError::Full`] without space. The call then fails with -32005.
    fn create(&self, task: TaskRecord) -> StoreFuture<'_, ()>;

    /// The task with this id. It is found for its [time to live](TaskRecord::ttl), and not much longer.
    ///
    /// # Errors
    /// [`TaskStoreError::Failed`] if the store is not available.
    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>>;

    /// Replaces a task. One that the store has removed is ignored.
    ///
    /// # Errors
    /// [`TaskStoreError::Full`] without space for a larger record.
    fn update(&self, task: TaskRecord) -> StoreFuture<'_, ()>;
}

/// A future of a result of a store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, TaskStoreError>> + Send + 'a>>;

/// The failure of a [`TaskStore`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskStoreError {
    /// The store has no space for the task.
    #[error("the store of tasks is full")]
    Full,
    /// The store is not available.
    #[error("the store of tasks failed")]
    Failed(#[source] BoxError),
}

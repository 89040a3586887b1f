use std::collections::{BTreeSet, HashMap};
use std::future::ready;
use std::sync::MutexGuard;
use std::time::SystemTime;

use tokio::time::Instant;

use super::{StoreFuture, TaskRecord, TaskStore, TaskStoreError};
use crate::lock::Lock;

/// Tasks in the memory of the process. They are lost when it ends.
#[derive(Debug)]
pub struct InMemoryTasks {
    total: TaskQuota,
    per_owner: TaskQuota,
    state: Lock<State>,
}

/// Maximum number and size of the tasks in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskQuota {
    /// Maximum number of tasks, running or not.
    pub tasks: usize,
    /// Maximum total size of the tasks in bytes, with their results.
    pub bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    tasks: HashMap<String, Entry>,
    by_expiry: BTreeSet<(Instant, String)>,
    used: Used,
    /// The usage of owners that have tasks.
    used_by: HashMap<Option<String>, Used>,
}

#[derive(Debug)]
struct Entry {
    task: TaskRecord,
    expiry: Instant,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Used {
    tasks: usize,
    bytes: usize,
}

impl Default for InMemoryTasks {
    /// 10,000 tasks of 64 MiB, and for each owner 1,000 tasks of 16 MiB.
    fn default() -> Self {
        let total = TaskQuota { tasks: 10_000, bytes: 64 << 20 };
        Self::new(total, TaskQuota { tasks: 1_000, bytes: 16 << 20 })
    }
}

impl InMemoryTasks {
    /// A store with these quotas, in total and for each owner. All callers without a principal are one owner.
    #[must_use]
    pub fn new(total: TaskQuota, per_owner: TaskQuota) -> Self {
        Self { total, per_owner, state: Lock::default() }
    }

    /// Adds a task, or replaces one.
    fn put(&self, task: TaskRecord, expiry: Instant) -> Result<(), TaskStoreError> {
        let mut state = self.state();
        let before = state.tasks.get(&task.id).map_or_else(Used::default, Entry::used);
        let entry = Entry { task, expiry };
        let added = entry.used();
        let owner = state.used_by.get(&entry.task.owner).copied().unwrap_or_default();
        let has_space = |used: Used, quota: TaskQuota| {
            let tasks = used.tasks - before.tasks + added.tasks;
            let bytes = used.bytes - before.bytes + added.bytes;
            tasks <= quota.tasks && bytes <= quota.bytes
        };
        if !has_space(state.used, self.total) || !has_space(owner, self.per_owner) {
            return Err(TaskStoreError::Full);
        }
        state.remove(&entry.task.id.clone());
        state.add(entry);
        Ok(())
    }

    /// The state without expired tasks.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        let now = Instant::now();
        while let Some((expiry, id)) = state.by_expiry.first()
            && *expiry <= now
        {
            let id = id.clone();
            state.remove(&id);
        }
        state
    }
}

impl TaskStore for InMemoryTasks {
    fn create(&self, task: TaskRecord) -> StoreFuture<'_, ()> {
        let age = SystemTime::now().duration_since(task.created).unwrap_or_default();
        let expiry = Instant::now() + task.ttl.saturating_sub(age);
        Box::pin(ready(self.put(task, expiry)))
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>> {
        Box::pin(ready(Ok(self.state().tasks.get(id).map(|entry| entry.task.clone()))))
    }

    fn update(&self, task: TaskRecord) -> StoreFuture<'_, ()> {
        let expiry = self.state().tasks.get(&task.id).map(|entry| entry.expiry);
        Box::pin(ready(expiry.map_or(Ok(()), |expiry| self.put(task, expiry))))
    }
}

impl State {
    fn add(&mut self, entry: Entry) {
        let used = entry.used();
        self.used.add(used);
        self.used_by.entry(entry.task.owner.clone()).or_default().add(used);
        self.by_expiry.insert((entry.expiry, entry.task.id.clone()));
        self.tasks.insert(entry.task.id.clone(), entry);
    }

    fn remove(&mut self, id: &str) {
        let Some(entry) = self.tasks.remove(id) else { return };
        let used = entry.used();
        self.by_expiry.remove(&(entry.expiry, entry.task.id));
        self.used.subtract(used);
        if let Some(of_owner) = self.used_by.get_mut(&entry.task.owner) {
            of_owner.subtract(used);
            if *of_owner == Used::default() {
                self.used_by.remove(&entry.task.owner);
            }
        }
    }
}

impl Entry {
    fn used(&self) -> Used {
        Used { tasks: 1, bytes: self.task.size() }
    }
}

impl Used {
    fn add(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.bytes += other.bytes;
    }

    fn subtract(&mut self, other: Self) {
        self.tasks -= other.tasks;
        self.bytes -= other.bytes;
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use tokio::time::advance;

    use super::super::{TaskRecord, TaskStore, TaskStoreError};
    use super::{InMemoryTasks, TaskQuota};
    use crate::model::TaskState;

    const TTL: Duration = Duration::from_secs(60);

    fn task(id: &str, owner: Option<&str>) -> TaskRecord {
        let created = SystemTime::now();
        TaskRecord {
            id: id.to_owned(),
            owner: owner.map(str::to_owned),
            created,
            updated: created,
            ttl: TTL,
            state: TaskState::Working,
            message: None,
        }
    }

    fn completed(id: &str, bytes: usize) -> TaskRecord {
        let state = TaskState::Completed(vec![b' '; bytes].into());
        TaskRecord { state, ..task(id, None) }
    }

    #[track_caller]
    fn check(result: Result<(), TaskStoreError>, has_space: bool) {
        assert_eq!(result.is_ok(), has_space, "{result:?}");
    }

    async fn has(store: &InMemoryTasks, id: &str) -> bool {
        store.get(id).await.unwrap().is_some()
    }

    #[tokio::test]
    async fn each_owner_has_a_quota_of_tasks() {
        let bytes = usize::MAX;
        let store =
            InMemoryTasks::new(TaskQuota { tasks: 3, bytes }, TaskQuota { tasks: 2, bytes });
        check(store.create(task("a", None)).await, true);
        check(store.create(task("b", None)).await, true);
        check(store.create(task("c", None)).await, false);
        check(store.update(task("b", None)).await, true);
        check(store.create(task("c", Some("ada"))).await, true);
        check(store.create(task("d", Some("bob"))).await, false);
        check(store.update(task("unknown", None)).await, true);
        for (id, expected) in
            [("a", true), ("b", true), ("c", true), ("d", false), ("unknown", false)]
        {
            assert_eq!(has(&store, id).await, expected, "{id}");
        }
    }

    #[tokio::test]
    async fn results_count_in_the_quota_of_bytes() {
        let quota = TaskQuota { tasks: 9, bytes: 10_000 };
        let store = InMemoryTasks::new(TaskQuota { bytes: 15_000, ..quota }, quota);
        check(store.create(task("a", None)).await, true);
        check(store.update(completed("a", 11_000)).await, false);
        check(store.update(completed("a", 9_000)).await, true);
        check(store.update(completed("a", 9_001)).await, true);
        check(store.create(completed("b", 1_000)).await, false);
        let of_ada = TaskRecord { owner: Some("ada".to_owned()), ..completed("b", 6_000) };
        check(store.create(of_ada).await, false);
        check(store.create(task("b", None)).await, true);
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_expire() {
        let quota = TaskQuota { tasks: 1, bytes: usize::MAX };
        let store = InMemoryTasks::new(quota, quota);
        check(store.create(task("a", None)).await, true);
        advance(TTL / 2).await;
        check(store.update(completed("a", 1)).await, true);
        assert!(has(&store, "a").await);
        advance(TTL / 2).await;
        assert!(!has(&store, "a").await);
        check(store.create(task("b", None)).await, true);
        advance(TTL).await;
        check(store.create(task("c", None)).await, true);
        assert!(!has(&store, "b").await);
    }
}

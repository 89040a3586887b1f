//! A bounded pool of threads with a bounded queue.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use crate::call::CallFuture;
use crate::error::{ErrorObject, code};
use crate::outcome::Outcome;
use crate::trace_context::TraceContext;

/// Threads that run one job at a time. They start when there is work and end with the pool.
#[derive(Clone)]
pub struct Pool(Arc<Owner>);

/// Ends the threads when the last clone of the pool is gone.
struct Owner(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    max_threads: usize,
    max_queued: usize,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    /// Threads that run a job. The others are free, or will be as soon as they have started.
    busy: usize,
    closed: bool,
}

type Job = Box<dyn FnOnce(&Shared) + Send>;
type Finished = Result<Outcome, Box<dyn Any + Send>>;

impl Pool {
    pub(crate) fn new(max_threads: usize, max_queued: usize) -> Self {
        let queue = Mutex::new(Queue::default());
        let shared = Shared { queue, work: Condvar::new(), max_threads, max_queued };
        Self(Arc::new(Owner(Arc::new(shared))))
    }

    /// Runs `job` on a thread; a panic goes on in whoever awaits the outcome.
    pub(crate) fn run(&self, job: impl FnOnce() -> Outcome + Send + 'static) -> CallFuture {
        let (sender, receiver) = oneshot::channel::<Finished>();
        let (span, trace) = (tracing::Span::current(), TraceContext::current());
        let job = move || match trace {
            Some(trace) => trace.scope(|| span.in_scope(job)),
            None => span.in_scope(job),
        };
        let job = move |pool: &Shared| {
            // A call that was cancelled while it waited is not run at all.
            let run = || catch_unwind(AssertUnwindSafe(job));
            let finished = (!sender.is_closed()).then(run);
            // The thread is free before the caller hears of it, who may come again at once.
            pool.lock().busy -= 1;
            if let Some(finished) = finished {
                // Nobody may be there any more to hear of it.
                let _ = sender.send(finished);
            }
        };
        match self.0.0.submit(Box::new(job)) {
            Ok(()) => CallFuture::later(async {
                match receiver.await {
                    Ok(Ok(outcome)) => outcome,
                    Ok(Err(panic)) => resume_unwind(panic),
                    Err(_) => Outcome::error(ErrorObject::internal(&"the thread pool has ended")),
                }
            }),
            Err(refused) => CallFuture::ready(Outcome::error(refused)),
        }
    }
}

impl Shared {
    fn submit(self: &Arc<Self>, job: Job) -> Result<(), ErrorObject> {
        let mut queue = self.lock();
        let room = |queue: &Queue| {
            let free = queue.threads - queue.busy;
            queue.jobs.len() < free.saturating_add(self.max_queued)
        };
        if queue.jobs.len() >= queue.threads - queue.busy && queue.threads < self.max_threads {
            let shared = Arc::clone(self);
            let started = thread::Builder::new()
                .name("trunkline-blocking".into())
                .spawn(move || shared.work());
            match started {
                Ok(_) => queue.threads += 1,
                Err(error) if queue.threads == 0 => return Err(ErrorObject::internal(&error)),
                // The threads that are there will come to it.
                Err(error) => {
                    tracing::warn!(%error, threads = queue.threads, "no further thread can be started");
                }
            }
        }
        if !room(&queue) {
            return Err(ErrorObject::new(code::BUSY, "Server is busy"));
        }
        queue.jobs.push_back(job);
        self.work.notify_one();
        Ok(())
    }

    fn work(&self) {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                queue.busy += 1;
                drop(queue);
                job(self);
                queue = self.lock();
            } else if queue.closed {
                return;
            } else {
                queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No code that can panic runs under the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.work.notify_all();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} threads)", self.0.0.max_threads)
    }
}

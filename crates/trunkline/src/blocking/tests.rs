//! The limits of blocking calls, and their cancellation.

use std::pin::Pin;
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;
use trunkline_core::error::code;
use trunkline_core::extensions::Extensions;
use trunkline_core::limits::calls::Limits;
use trunkline_core::reply::Reply;

use crate::blocking::blocking;
use crate::router::Router;
use crate::rpc::Rpc;

/// Blocks calls until it is opened, and counts them.
#[derive(Default)]
struct Gate {
    state: Mutex<Inside>,
    changed: Condvar,
}

#[derive(Default)]
struct Inside {
    open: bool,
    now: usize,
    most: usize,
    passed: usize,
}

impl Gate {
    fn pass(&self) {
        let mut inside = self.state.lock().unwrap();
        inside.now += 1;
        inside.most = inside.most.max(inside.now);
        self.changed.notify_all();
        inside = self.changed.wait_while(inside, |inside| !inside.open).unwrap();
        inside.now -= 1;
        inside.passed += 1;
    }

    fn open(&self) {
        self.state.lock().unwrap().open = true;
        self.changed.notify_all();
    }

    /// Waits until `calls` are blocked at the same time.
    #[track_caller]
    fn filled(&self, calls: usize) {
        let inside = self.state.lock().unwrap();
        let (_inside, timeout) = self
            .changed
            .wait_timeout_while(inside, Duration::from_secs(10), |inside| inside.now < calls)
            .unwrap();
        assert!(!timeout.timed_out(), "{calls} calls never ran at the same time");
    }
}

fn gated(blocking_threads: usize, blocking_queue: usize) -> (Rpc, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let handler = Arc::clone(&gate);
    let limits = Limits { blocking_threads, blocking_queue, ..Limits::default() };
    let router = Router::new().method("m", blocking(move || handler.pass())).limits(limits);
    (router.build().unwrap(), gate)
}

type Pending = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// Starts a call. Returns its error code if it is refused.
fn start(rpc: &Rpc) -> Result<Pending, Option<i64>> {
    let rpc = rpc.clone();
    let body = r#"{"jsonrpc":"2.0","method":"m","id":1}"#;
    let mut call: Pending =
        Box::pin(async move { rpc.handle(body.into(), Extensions::new()).await });
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => Ok(call),
        Poll::Ready(reply) => Err(code_of(&reply)),
    }
}

fn code_of(reply: &Reply) -> Option<i64> {
    assert!(!reply.is_none());
    reply.code()
}

/// Starts `calls` calls and checks the numbers of accepted and of concurrent ones.
#[track_caller]
fn check(threads: usize, queue: usize, calls: usize, accepted: usize, most: usize) {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let (rpc, gate) = gated(threads, queue);
    let (started, refused): (Vec<_>, Vec<_>) =
        (0..calls).map(|_| start(&rpc)).partition(Result::is_ok);
    assert_eq!(started.len(), accepted, "{threads} threads, {queue} waiting, {calls} calls");
    for refused in refused {
        assert_eq!(refused.err(), Some(Some(code::BUSY)));
    }
    gate.filled(most);
    gate.open();
    for call in started.into_iter().flatten() {
        assert_eq!(code_of(&runtime.block_on(call)), None);
    }
    let inside = gate.state.lock().unwrap();
    assert_eq!((inside.most, inside.passed), (most, accepted));
}

#[test]
fn limits_running_and_waiting_calls() {
    // Repeated, since the result must not depend on whether a thread has already started its call.
    for _ in 0..20 {
        check(1, 0, 3, 1, 1);
        check(1, 1, 3, 2, 1);
        check(2, 0, 5, 2, 2);
        check(2, 3, 9, 5, 2);
        check(4, 256, 20, 20, 4);
        check(16, 1, 3, 3, 3);
    }
}

#[test]
fn does_not_run_a_call_that_was_cancelled_while_it_waited() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let (rpc, gate) = gated(1, 2);
    let first = start(&rpc).ok().unwrap();
    gate.filled(1);
    let second = start(&rpc).ok().unwrap();
    let third = start(&rpc).ok().unwrap();
    drop(second);
    gate.open();
    assert_eq!(code_of(&runtime.block_on(first)), None);
    assert_eq!(code_of(&runtime.block_on(third)), None);
    assert_eq!(gate.state.lock().unwrap().passed, 2);
}

#[test]
fn cancels_the_token_of_a_call_at_its_deadline() {
    let (sender, messages) = mpsc::channel();
    let handler = move |token: CancellationToken| {
        sender.send("runs").unwrap();
        Builder::new_current_thread().build().unwrap().block_on(token.cancelled());
        sender.send("is cancelled").unwrap();
    };
    // Time cannot be paused: tokio waits for blocking work before it advances.
    let call_timeout = Some(Duration::from_millis(20));
    let limits = Limits { call_timeout, ..Limits::default() };
    let rpc = Router::new().method("m", blocking(handler)).limits(limits).build().unwrap();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let call = start(&rpc).ok().unwrap();
    assert_eq!(messages.recv_timeout(Duration::from_secs(10)), Ok("runs"));
    assert_eq!(code_of(&runtime.block_on(call)), Some(code::TIMEOUT));
    assert_eq!(messages.recv_timeout(Duration::from_secs(10)), Ok("is cancelled"));
}

#[test]
fn releases_the_permit_before_the_caller_gets_the_result() {
    let limits = Limits { blocking_threads: 1, blocking_queue: 0, ..Limits::default() };
    let rpc = Router::new().method("m", blocking(|| 1)).limits(limits).build().unwrap();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    for _ in 0..200 {
        assert_eq!(runtime.block_on(rpc.call::<i64>("m", &[0; 0])).unwrap(), 1);
    }
}

#[test]
fn releases_the_permit_after_a_panic() {
    let rpc = Router::new()
        .method("m", blocking(|| -> () { panic!("on a thread") }))
        .method("n", blocking(|| 1))
        .limits(Limits { blocking_threads: 1, blocking_queue: 0, ..Limits::default() })
        .build()
        .unwrap();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        for _ in 0..3 {
            let panicked = rpc.call::<()>("m", &[0; 0]).await;
            assert_eq!(panicked.unwrap_err().code(), code::INTERNAL_ERROR);
            assert_eq!(rpc.call::<i64>("n", &[0; 0]).await.unwrap(), 1);
        }
    });
}

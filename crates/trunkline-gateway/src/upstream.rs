//! An upstream: its task, which keeps a connection and the list of tools, and the calls of its tools.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use trunkline::layers::ValidateLayer;
use trunkline::{DynamicOperations, Router};
use trunkline_mcp::CompletionTarget;
use trunkline_mcp::client::{CallOptions, Error};
use trunkline_mcp::{CompletionParams, CompletionValues, SubscribedResource};

use crate::approvals::{Approval, Approvals};
use crate::backoff::Backoff;
use crate::caller::{Caller, Relay};
use crate::config::{GatewayConfig, UpstreamConfig};
use crate::connection::{Connection, ProgramState, reason};
use crate::definition::Digest;
use crate::error::UpstreamError;
use crate::name::UpstreamName;
use crate::running_call::{Elapsed, Reply, RunningCall, Subject, Waiting};
use crate::status::{RejectedItem, UnapprovedTool, UpstreamState, UpstreamStatus};
use crate::subscriptions::{Refusal, Subscriptions};
use crate::tools::{OfferedTool, Selection};

/// An upstream and its state.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) name: UpstreamName,
    pub(crate) config: UpstreamConfig,
    gateway: Arc<GatewayConfig>,
    approvals: Arc<Approvals>,
    pub(crate) operations: DynamicOperations,
    subscriptions: Arc<Subscriptions>,
    program: ProgramState,
    state: Mutex<State>,
    /// The permits of running calls.
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// The calls that wait for input.
    asking: Waiting,
    /// Held while tools are reviewed and operations replaced, so that those of the last selection remain.
    publishing: tokio::sync::Mutex<()>,
    /// Notified when the connection may have failed.
    check: Notify,
    /// Notified when a failed connection should be opened without a delay.
    retry: Notify,
    /// Notified after the first attempt to connect.
    attempted: Notify,
}

#[derive(Debug)]
struct State {
    phase: UpstreamState,
    connection: Option<Arc<Connection>>,
    last_error: Option<String>,
    retry_at: Option<Instant>,
    failures: u64,
    /// The tools of the last list that the configuration allows.
    selection: Arc<Selection>,
    approvals: Vec<Approval>,
    /// The definitions that are not approved.
    unapproved: Vec<UnapprovedTool>,
    has_attempted: bool,
    /// Whether the operations are those of the selection. Before, they may be those of a predecessor.
    is_published: bool,
}

/// The reason why no tool was approved.
#[derive(Debug)]
pub(crate) enum ApproveError {
    /// The upstream does not offer such a tool.
    UnknownTool,
    /// The definition has another digest, which is returned.
    OtherDigest(String),
}

/// The minimum time between two lists.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// A connection that lasts as long is not part of a series of failures.
const STABLE: Duration = Duration::from_secs(60);
/// The maximum length of an error in the status, in characters.
const MAX_ERROR: usize = 1_000;

impl Upstream {
    pub(crate) fn new(
        name: UpstreamName,
        config: UpstreamConfig,
        gateway: Arc<GatewayConfig>,
        approvals: Arc<Approvals>,
    ) -> Self {
        let state = State {
            phase: UpstreamState::Connecting,
            connection: None,
            last_error: None,
            retry_at: None,
            failures: 0,
            selection: Arc::default(),
            approvals: Vec::new(),
            unapproved: Vec::new(),
            has_attempted: false,
            is_published: false,
        };
        Self {
            name,
            running: Arc::new(Semaphore::new(config.in_flight)),
            asking: Waiting::new((config.in_flight / 2).max(1), config.input_timeout),
            publishing: tokio::sync::Mutex::default(),
            config,
            gateway,
            approvals,
            operations: DynamicOperations::new(),
            subscriptions: Arc::default(),
            program: ProgramState::default(),
            state: Mutex::new(state),
            waiting: AtomicUsize::new(0),
            check: Notify::new(),
            retry: Notify::new(),
            attempted: Notify::new(),
        }
    }

    /// The upstream of this name with another configuration. It takes over the operations and the subscriptions when
    /// it is connected: `self` must have ended before.
    pub(crate) fn successor(&self, config: UpstreamConfig) -> Self {
        let (gateway, approvals) = (Arc::clone(&self.gateway), Arc::clone(&self.approvals));
        let mut successor = Self::new(self.name.clone(), config, gateway, approvals);
        successor.operations = self.operations.clone();
        successor.subscriptions = Arc::clone(&self.subscriptions);
        successor
    }

    /// Keeps the upstream connected until the token is cancelled.
    pub(crate) async fn run(self: Arc<Self>, closing: CancellationToken) {
        let mut backoff = Backoff::new(self.config.min_backoff, self.config.max_backoff);
        let failing = async {
            loop {
                let started = Instant::now();
                let error = self.program.describe(Box::pin(self.serve()).await);
                if started.elapsed() >= STABLE {
                    backoff.reset();
                }
                let delay = backoff.next();
                self.fail(&error, delay);
                tokio::select! {
                    () = sleep(delay) => {}
                    () = self.retry.notified() => {}
                }
                self.lock().phase = UpstreamState::Connecting;
            }
        };
        tokio::select! {
            () = closing.cancelled() => {}
            () = failing => {}
            () = self.asking.expire() => {}
        }
        self.asking.clear();
        let connection = {
            let mut state = self.lock();
            (state.phase, state.retry_at) = (UpstreamState::Stopped, None);
            state.connection.take()
        };
        self.attempted.notify_waiters();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Waits until the first attempt to connect has succeeded or failed.
    pub(crate) async fn attempted(&self) {
        loop {
            let attempted = self.attempted.notified();
            {
                let state = self.lock();
                if state.has_attempted || state.phase == UpstreamState::Stopped {
                    return;
                }
            }
            attempted.await;
        }
    }

    /// Connects again without a delay, or checks the connection.
    pub(crate) fn reconnect(&self) {
        if self.lock().phase == UpstreamState::Failed {
            self.retry.notify_one();
        } else {
            self.check.notify_one();
        }
    }

    /// Approves the definitions of tools, by name and digest, if all of them are current. The error has the name.
    pub(crate) async fn approve(
        self: &Arc<Self>,
        tools: BTreeMap<String, String>,
    ) -> Result<(), (String, ApproveError)> {
        let _turn = self.publishing.lock().await;
        let selection = Arc::clone(&self.lock().selection);
        let mut current = HashMap::<&str, Vec<&Digest>>::new();
        for one in &selection.offered {
            current.entry(&one.tool.name).or_default().push(&one.digest);
        }
        for (tool, digest) in &tools {
            let digests = current.get(&**tool).map(Vec::as_slice).unwrap_or_default();
            let error = match digests {
                [] => ApproveError::UnknownTool,
                all if all.iter().any(|one| one.0 == *digest) => continue,
                [first, ..] => ApproveError::OtherDigest(first.0.clone()),
            };
            return Err((tool.clone(), error));
        }
        let tools = tools.into_iter().map(|(tool, digest)| (tool, Digest(digest)));
        self.review(selection, tools.collect()).await;
        Ok(())
    }

    /// The whole difference of a tool that is not approved.
    pub(crate) fn unapproved(&self, tool: &str) -> Option<UnapprovedTool> {
        let (offered, approval) = {
            let state = self.lock();
            let mut tools = state.selection.offered.iter().zip(&state.approvals);
            let found = tools.find(|(offered, approval)| {
                offered.tool.name == tool && **approval != Approval::Approved
            });
            let (offered, approval) = found?;
            (Arc::clone(offered), approval.clone())
        };
        offered.unapproved(&approval, usize::MAX)
    }

    pub(crate) fn status(&self) -> UpstreamStatus {
        let state = self.lock();
        let withheld = self.withheld(&state);
        let changed = state.flagged(|approval| matches!(approval, Approval::Changed(_)));
        let retry_in = state.retry_at.map(|at| at.saturating_duration_since(Instant::now()));
        UpstreamStatus {
            name: self.name.to_string(),
            target: self.config.target.to_string(),
            state: state.phase,
            last_error: state.last_error.clone(),
            retry_in_ms: retry_in.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
            failures: state.failures,
            tools: state.selection.offered.len() - withheld.len(),
            resources: state.selection.resources.len() + state.selection.templates.len(),
            prompts: state.selection.prompts.len(),
            changed: if self.config.pin { Vec::new() } else { changed },
            withheld,
            unapproved: state.unapproved.clone(),
            rejected: state.selection.rejected.clone(),
        }
    }

    fn withheld(&self, state: &State) -> Vec<String> {
        if self.config.pin {
            state.flagged(|approval| *approval != Approval::Approved)
        } else {
            Vec::new()
        }
    }

    /// Connects, and refreshes the tools until the connection fails. Returns the reason.
    async fn serve(self: &Arc<Self>) -> String {
        let limit = self.config.connect_timeout;
        let opened = async {
            let Self { name, config, gateway, subscriptions, program, .. } = &**self;
            let connection =
                Connection::open(name, config, gateway, subscriptions, program).await?;
            let selection = self.list(&connection).await?;
            Ok::<_, String>((Arc::new(connection), selection))
        };
        let (connection, selection) = match timeout(limit, opened).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(error)) => return error,
            Err(_) => return timed_out("connect", limit),
        };
        // Clients may call new tools when they are registered.
        self.lock().connection = Some(Arc::clone(&connection));
        self.publish(selection).await;
        {
            let mut state = self.lock();
            (state.phase, state.retry_at, state.has_attempted) = (UpstreamState::Ready, None, true);
            let tools = state.selection.offered.len();
            tracing::info!(upstream = %self.name, tools, "upstream is ready");
        }
        self.attempted.notify_waiters();
        let restored = timeout(limit, self.subscriptions.restore(&connection.client)).await;
        if restored.is_err() {
            return timed_out("subscribe to resources", limit);
        }
        loop {
            let refreshed = Instant::now();
            tokio::select! {
                () = sleep(self.config.refresh_interval) => {}
                () = self.check.notified() => {}
                () = connection.changed() => sleep_until(refreshed + MIN_REFRESH_INTERVAL).await,
                error = connection.closed() => return error,
            }
            match timeout(limit, self.list(&connection)).await {
                Ok(Ok(selection)) => self.publish(selection).await,
                Ok(Err(error)) => return error,
                Err(_) => return timed_out("list the tools", limit),
            }
            let released = timeout(limit, self.subscriptions.release(&connection.client)).await;
            if released.is_err() {
                return timed_out("end subscriptions", limit);
            }
        }
    }

    async fn list(&self, connection: &Connection) -> Result<Selection, String> {
        let list = connection.tools().await.map_err(|error| reason(&error))?;
        let mut selection = Selection::new(&self.name, &self.config, list)?;
        selection.add(&self.name, connection.others().await);
        Ok(selection)
    }

    /// Registers the tools, except those that are withheld, and saves new approvals.
    async fn publish(self: &Arc<Self>, selection: Selection) {
        let _turn = self.publishing.lock().await;
        self.review(Arc::new(selection), Vec::new()).await;
    }

    /// Reviews tools, some of which are approved explicitly, and registers them. `publishing` is held by the caller.
    async fn review(self: &Arc<Self>, selection: Arc<Selection>, explicit: Vec<(String, Digest)>) {
        let (upstream, reviewed) = (Arc::clone(self), Arc::clone(&selection));
        let review = tokio::task::spawn_blocking(move || {
            let Self { name, config, approvals, .. } = &*upstream;
            approvals.approve(name, explicit);
            let tools = reviewed.offered.iter().map(|one| one.reviewed());
            let (approvals, saved) = approvals.review(name, config.pin, tools);
            let unapproved = reviewed.unapproved(&approvals);
            (approvals, unapproved, saved)
        });
        // It fails only when the runtime stops.
        let Ok((approvals, unapproved, saved)) = review.await else { return };
        if let Err(error) = saved {
            let upstream = &self.name;
            tracing::error!(%upstream, %error, "approvals are lost when the process ends");
        }
        self.replace(selection, approvals, unapproved);
    }

    /// Registers tools by their approvals.
    fn replace(
        self: &Arc<Self>,
        selection: Arc<Selection>,
        approvals: Vec<Approval>,
        unapproved: Vec<UnapprovedTool>,
    ) {
        let is_offered = |approval: &Approval| !self.config.pin || *approval == Approval::Approved;
        let tools = selection.offered.iter().zip(&approvals);
        let tools = tools.filter(|(_, approval)| is_offered(approval)).map(|(tool, _)| tool);
        {
            let state = self.lock();
            let is_known = is_same(&state.selection, &selection) && state.approvals == approvals;
            if state.is_published && is_known {
                return;
            }
        }
        self.log_flagged(&selection, &approvals);
        let operations = self.offer(&selection, tools);
        let router = operations.into_iter().fold(Router::new(), Router::operation);
        let replaced = self.operations.replace(router.layer(ValidateLayer::new()));
        let published = match replaced {
            Ok(()) => (selection, approvals, unapproved),
            Err(error) => {
                // The previous tools may have been changed, withheld or removed by the upstream.
                tracing::error!(upstream = %self.name, %error, "tool refresh failed; nothing is offered");
                let selection = Arc::new(Selection::rejected(&error));
                if let Err(error) = self.operations.replace(Router::new()) {
                    tracing::error!(upstream = %self.name, %error, "the previous tools are still offered");
                    return;
                }
                (selection, Vec::new(), Vec::new())
            }
        };
        let mut state = self.lock();
        (state.selection, state.approvals, state.unapproved) = published;
        state.is_published = true;
    }

    fn log_flagged(&self, selection: &Selection, approvals: &[Approval]) {
        let consequence = if self.config.pin { "withheld" } else { "still offered" };
        for (tool, approval) in selection.offered.iter().zip(approvals) {
            let problem = match approval {
                Approval::Approved => continue,
                Approval::Changed(_) => "the definition changed after it was approved",
                Approval::Added => "the tool was added after the others were approved",
            };
            let (upstream, tool) = (&self.name, &tool.prefixed);
            tracing::warn!(%upstream, tool, consequence, "{problem}");
        }
        for RejectedItem { name, reason } in &selection.rejected {
            tracing::warn!(upstream = %self.name, name, reason, "an item is left out");
        }
    }

    /// Sends a request, within the limits of the upstream, or continues one whose caller repeats it with answers.
    pub(crate) async fn request(
        &self,
        caller: Caller,
        subject: Subject,
        send: impl FnOnce(Arc<Connection>, CallOptions) -> BoxFuture<'static, Reply>,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let peer = caller.peer.clone();
        let after = self.config.call_timeout;
        let resumed = self.asking.resume(&self.name, &caller, &subject);
        let resumed = resumed.map_err(|_| UpstreamError::Ended { upstream: self.name.clone() });
        let call = match resumed? {
            Some(call) => call,
            None => {
                let permit = self.permit().await?;
                let connection = self.connection()?;
                let send = |relay: &Arc<Relay>| send(connection, relay.options());
                RunningCall::new((&self.name, caller), subject, after, permit, send)
            }
        };
        match call.run(&peer, &self.asking).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(self.failed(&error)),
            Err(Elapsed) => {
                self.check.notify_one();
                Err(UpstreamError::Timeout { upstream: self.name.clone(), after })
            }
        }
    }

    /// Suggests values.
    pub(crate) async fn complete(
        &self,
        target: &CompletionTarget,
        params: &CompletionParams,
    ) -> Result<CompletionValues, UpstreamError> {
        let _permit = self.permit().await?;
        let connection = self.connection()?;
        let after = self.config.call_timeout;
        match timeout(after, connection.complete(target, params)).await {
            Ok(found) => found.map_err(|error| self.failed(&error)),
            Err(_) => Err(UpstreamError::Timeout { upstream: self.name.clone(), after }),
        }
    }

    /// Subscribes to a resource. While the upstream is not connected, it is subscribed when it is.
    pub(crate) async fn subscribe(
        &self,
        resource: SubscribedResource,
    ) -> Result<(), UpstreamError> {
        let upstream = || self.name.clone();
        let connection = self.lock().connection.clone();
        let client = connection.as_ref().map(|connection| &connection.client);
        if client.is_some_and(|client| !client.server().capabilities.subscribe) {
            return Err(UpstreamError::NoSubscriptions { upstream: upstream() });
        }
        let (after, added) = (self.config.call_timeout, self.subscriptions.add(client, resource));
        let Ok(added) = timeout(after, added).await else {
            return Err(UpstreamError::Timeout { upstream: upstream(), after });
        };
        added.map_err(|refusal| match refusal {
            Refusal::TooMany => UpstreamError::Busy { upstream: upstream() },
            Refusal::Upstream(Error::NoSubscription(_)) => {
                UpstreamError::NoSubscriptions { upstream: upstream() }
            }
            Refusal::Upstream(error) => self.failed(&error),
        })
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, UpstreamError> {
        let busy = || UpstreamError::Busy { upstream: self.name.clone() };
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(permit);
        }
        let waiting = Queued::new(&self.waiting);
        if waiting.before >= self.config.queue {
            return Err(busy());
        }
        let permit =
            timeout(self.config.call_timeout, Arc::clone(&self.running).acquire_owned()).await;
        permit.ok().and_then(Result::ok).ok_or_else(busy)
    }

    fn connection(&self) -> Result<Arc<Connection>, UpstreamError> {
        let state = self.lock();
        state.connection.clone().ok_or_else(|| UpstreamError::Unavailable {
            upstream: self.name.clone(),
            retry_after: state.retry_at.map(|at| at.saturating_duration_since(Instant::now())),
        })
    }

    fn failed(&self, error: &Error) -> UpstreamError {
        let upstream = self.name.clone();
        if let Error::Request(request) = error
            && let Some(object) = request.error.error_object()
        {
            if error.may_be_session_loss() {
                self.check.notify_one();
            }
            return UpstreamError::Refused { upstream, error: object.clone() };
        }
        self.check.notify_one();
        UpstreamError::Failed { upstream, reason: excerpt(&reason(error)) }
    }

    fn fail(&self, error: &str, delay: Duration) {
        let upstream = &self.name;
        tracing::warn!(%upstream, error, retry_in = ?delay, "upstream failed");
        let mut state = self.lock();
        state.phase = UpstreamState::Failed;
        state.connection = None;
        state.last_error = Some(excerpt(error));
        state.retry_at = Some(Instant::now() + delay);
        state.failures += 1;
        state.has_attempted = true;
        drop(state);
        self.asking.clear();
        self.attempted.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The names of the tools with such an approval.
    fn flagged(&self, is_flagged: impl Fn(&Approval) -> bool) -> Vec<String> {
        let tools = self.selection.offered.iter().zip(&self.approvals);
        let tools = tools.filter(|(_, approval)| is_flagged(approval));
        tools.map(|(tool, _)| tool.tool.name.clone()).collect()
    }
}

/// A call that waits for a permit, until this is dropped.
struct Queued<'c> {
    count: &'c AtomicUsize,
    /// The number of calls that waited before.
    before: usize,
}

impl<'c> Queued<'c> {
    fn new(count: &'c AtomicUsize) -> Self {
        Self { count, before: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

fn is_same(one: &Selection, other: &Selection) -> bool {
    let key = |tool: &Arc<OfferedTool>| (tool.tool.name.clone(), tool.digest.clone());
    one.rejected == other.rejected
        && one.resources == other.resources
        && one.templates == other.templates
        && one.prompts == other.prompts
        && one.has_completions == other.has_completions
        && one.offered.len() == other.offered.len()
        && one.offered.iter().zip(&other.offered).all(|(one, other)| key(one) == key(other))
}

fn timed_out(action: &str, limit: Duration) -> String {
    format!("failed to {action} within {} ms", limit.as_millis())
}

fn excerpt(text: &str) -> String {
    trunkline::protocol::excerpt(text, MAX_ERROR).to_string()
}

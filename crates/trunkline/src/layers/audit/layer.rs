use std::borrow::Cow;
use std::fmt::Write;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::json;
use trunkline_access::Principal;
use trunkline_core::call::{Call, CallFuture, Description, Effect};
use trunkline_core::envelope::canonical;
use trunkline_core::error::ErrorObject;
use trunkline_core::outcome::Outcome;
use trunkline_core::trace_context::TraceContext;
use trunkline_history::audit::{AuditEntry, AuditError, AuditLog, AuditedCall, Ending, Event};
use trunkline_server::request::Peer;
#[cfg(unix)]
use trunkline_server::unix;

use crate::code;
use crate::layers::call_database::CallDatabase;
use crate::layers::layered::{CallLayer, CallService, layer};
use crate::layers::read_params::{are_long, read_params};

/// Writes calls that change data to an audit log.
#[derive(Debug, Clone)]
pub(crate) struct AuditLayer {
    log: AuditLog,
    calls: Arc<CallNumbers>,
}

/// The ids of calls in the log.
#[derive(Debug)]
struct CallNumbers {
    /// Random, which distinguishes these calls from those of other layers, processes and machines.
    layer: u64,
    last: AtomicU64,
}

impl AuditLayer {
    /// Writes to this log.
    pub(crate) fn new(log: AuditLog) -> Self {
        let layer = RandomState::new().hash_one(0_u8);
        let calls = CallNumbers { layer, last: AtomicU64::new(0) };
        Self { log, calls: Arc::new(calls) }
    }

    /// Lets the refusals of access rules be logged for an operation.
    pub(crate) fn describe(&self, description: &mut Description) {
        description.extensions.insert(self.clone());
    }

    /// Logs that access rules refuse a call, if its operation may change data: with the worst effect of the operation, and
    /// without the digest of the params, since a caller without permission must cause little work. The refusal is sent
    /// even if the log cannot be written, since nothing is changed.
    pub(crate) fn log_refusal(
        call: &Call,
        code: i64,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let description = call.operation()?.description();
        let Self { log, calls } = description.extensions.get()?;
        let effect = description.effect;
        if effect == Some(Effect::ReadOnly) {
            return None;
        }
        let audited = describe(call, SentParams { effect, sha256: None }, calls.next());
        let ending = Ending { outcome: "refused", code: Some(code), ..Ending::default() };
        let log = log.clone();
        // The log itself reports that it cannot be written.
        Some(async move { drop(log.append(&AuditEntry::now(&audited, Event::End(ending))).await) })
    }
}

layer!(AuditLayer);

impl CallLayer for AuditLayer {
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
        let may_change = call.operation().is_some_and(|operation| {
            let is_read_later = are_long(&call) && operation.description().effect_of.is_some();
            is_read_later || call.effect() != Some(Effect::ReadOnly)
        });
        if !may_change {
            return inner.run(call);
        }
        let mut inner = inner.take();
        let Self { log, calls } = self.clone();
        CallFuture::boxed(async move {
            let since = Instant::now();
            let (call, sent) = match read_params(call, SentParams::read).await {
                Ok(read) => read,
                Err(error) => return Ok(Outcome::error(error)),
            };
            if sent.effect == Some(Effect::ReadOnly) {
                return inner.call(call).await;
            }
            let audited = describe(&call, sent, calls.next());
            let mut running = Running { log, audited, since, unfinished: Some("cancelled") };
            if let Err(error) = running.begin().await {
                return Ok(Outcome::error(refusal(&error)));
            }
            let ended = inner.call(call).await;
            if let Ok(outcome) = &ended {
                running.end(outcome).await;
            }
            ended
        })
    }
}

/// A call whose end is not yet in the log. Dropped, it is logged as cancelled.
struct Running {
    log: AuditLog,
    audited: AuditedCall,
    since: Instant,
    /// The outcome if the call ends now. `None` if the end is in the log.
    unfinished: Option<&'static str>,
}

impl Running {
    async fn begin(&mut self) -> Result<(), AuditError> {
        let begun = self.log.append(&AuditEntry::now(&self.audited, Event::Begin)).await;
        match &begun {
            Ok(()) => {}
            // The log may have the entry.
            Err(AuditError::Fsync(_) | AuditError::Timeout(_)) => self.unfinished = Some("refused"),
            Err(_) => self.unfinished = None,
        }
        begun
    }

    /// Logs the end. If that fails, the reply is sent nevertheless, since the call has run: the log has its beginning.
    async fn end(mut self, outcome: &Outcome) {
        self.unfinished = None;
        let ending = self.ending(outcome);
        let appended = self.log.append(&AuditEntry::now(&self.audited, Event::End(ending))).await;
        if let Err(error) = appended {
            let (call, operation) = (&self.audited.call, &self.audited.operation);
            tracing::error!(%error, call, operation, "the end of a call is missing in the audit log");
        }
    }

    fn ending(&self, outcome: &Outcome) -> Ending {
        let code = outcome.code();
        let counts: Counts = match outcome.as_result() {
            Ok(result) => serde_json::from_slice(result).unwrap_or_default(),
            Err(_) => Counts::default(),
        };
        let Counts { rows_affected, cascaded, is_error } = counts;
        let outcome = if code.is_some() || is_error { "error" } else { "ok" };
        Ending { outcome, code, rows_affected, cascaded, duration: self.since.elapsed() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(outcome) = self.unfinished {
            let ending = Ending { outcome, duration: self.since.elapsed(), ..Ending::default() };
            // If this fails, the log has no end of the call, or no entry of it at all.
            let _ = self.log.append_later(&AuditEntry::now(&self.audited, Event::End(ending)));
        }
    }
}

/// The members of results that are logged. Results of other forms have none.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    rows_affected: Option<u64>,
    cascaded: Option<u64>,
    /// Whether the result is that of an MCP tool that failed.
    #[serde(rename = "isError")]
    is_error: bool,
}

impl CallNumbers {
    fn next(&self) -> String {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{:016x}-{number}", self.layer)
    }
}

/// The part of an entry that depends on the params.
struct SentParams {
    effect: Option<Effect>,
    sha256: Option<String>,
}

impl SentParams {
    fn read(call: &Call) -> Self {
        let effect = call.effect();
        let digest = || digest(&SHA256, &canonical(call.params().unwrap_or_default()));
        let sha256 = (effect != Some(Effect::ReadOnly)).then(|| hexadecimal(digest()));
        Self { effect, sha256 }
    }
}

fn describe(call: &Call, sent: SentParams, number: String) -> AuditedCall {
    let extensions = call.extensions();
    let principal = Principal::of(extensions);
    let audited = AuditedCall {
        call: number,
        operation: call
            .operation()
            .map_or_else(String::new, |operation| operation.name().to_owned()),
        effect: match sent.effect {
            Some(Effect::Additive) => "additive",
            Some(Effect::Destructive) => "destructive",
            Some(Effect::ReadOnly) | None => "unknown",
        },
        database: database(call),
        params_sha256: sent.sha256,
        principal: principal.map(|principal| principal.name().to_owned()),
        issuer: principal.and_then(Principal::issuer).map(str::to_owned),
        peer: peer(call),
        endpoint: extensions.endpoint(),
        id: call.id(),
        trace_id: TraceContext::of(extensions).map(TraceContext::trace_id),
    };
    audited.truncated()
}

/// The database of an operation on databases, if it is known.
fn database(call: &Call) -> Option<String> {
    let database: &CallDatabase = call.operation()?.description().extensions.get()?;
    database.of_call(call).map(Cow::into_owned)
}

fn peer(call: &Call) -> Option<String> {
    let extensions = call.extensions();
    if let Some(address) = Peer::of(extensions).0 {
        return Some(address.to_string());
    }
    #[cfg(unix)]
    if let Some(unix::Peer { uid, pid, .. }) = extensions.get() {
        let pid = pid.map(|pid| format!(" pid {pid}")).unwrap_or_default();
        return Some(format!("uid {uid}{pid}"));
    }
    None
}

fn hexadecimal(digest: impl AsRef<[u8]>) -> String {
    let mut text = String::new();
    for byte in digest.as_ref() {
        write!(text, "{byte:02x}").expect("text is written to memory");
    }
    text
}

/// The error of a call that does not run, since it would not be logged.
fn refusal(error: &AuditError) -> ErrorObject {
    let reason = "the call was not run, since the audit log cannot be written; the server's log has the cause";
    tracing::warn!(%error, "refused a call that the audit log does not record");
    let data = json!({ "kind": "audit_unavailable", "reason": reason });
    ErrorObject::new(code::AUDIT, "Audit log unavailable").with_data(&data)
}

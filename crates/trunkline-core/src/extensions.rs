//! Extensions: values that transports and layers attach to calls, by type.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use crate::trace_context::{TraceContext, TraceState};

/// A set of values, at most one of each type.
///
/// The calls of a batch share one set until a layer changes it for one of them. Cloning increments reference
/// counts.
#[derive(Clone, Default)]
pub struct Extensions {
    /// The origin, shared by all calls of a body.
    origin: Option<Arc<dyn Origin>>,
    /// The most recently added value.
    last: Option<Added>,
}

/// The default protocol of calls, as named by OpenTelemetry.
pub const JSON_RPC: &str = "jsonrpc";

type Added = Arc<Entry<dyn Any + Send + Sync>>;

/// An added value, and the previous one. Cloned sets share entries.
struct Entry<T: ?Sized> {
    before: Option<Added>,
    value: T,
}

/// The connection or request that a message body was received on.
pub trait Origin: Any + Send + Sync {
    /// The name of the endpoint.
    fn endpoint(&self) -> &'static str;

    /// The protocol of the endpoint, unless a call has another one.
    fn protocol(&self) -> &'static str {
        JSON_RPC
    }

    /// The trace of the client.
    fn trace(&self) -> Option<TraceContext> {
        None
    }

    /// The vendor data of the client's trace.
    fn trace_state(&self) -> Option<&TraceState> {
        None
    }

    /// The value of this type that the transport or its middleware has set. [Nested calls](Extensions::for_nested_call)
    /// inherit it.
    fn get(&self, _key: TypeId) -> Option<&dyn Any> {
        None
    }
}

impl Extensions {
    /// An empty set, without allocation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A set with the name of the endpoint, for endpoints without headers.
    #[must_use]
    pub fn from_endpoint(endpoint: &'static str) -> Self {
        Self::from_origin(NamedOrigin { endpoint })
    }

    /// A set for a call that is made in the course of this one, with the name of its endpoint. It inherits the
    /// values set by the middleware of the transport, such as the tenant.
    ///
    /// It does not inherit headers, protocol, and values added by layers, which the layers of the nested call add
    /// themselves.
    #[must_use]
    pub fn for_nested_call(&self, endpoint: &'static str) -> Self {
        Self::from_origin(NestedOrigin { endpoint, origin: self.origin.clone() })
    }

    /// The name of the endpoint that received the call: `json-rpc`, `mcp`, `stdio`, …; `in-process` for a call made
    /// in this process.
    #[must_use]
    pub fn endpoint(&self) -> &'static str {
        self.origin.as_deref().map_or("in-process", Origin::endpoint)
    }

    /// Sets the protocol of the call, if it differs from that of the endpoint. History and traces
    /// (`rpc.system.name`) show it.
    #[must_use]
    pub fn with_protocol(mut self, protocol: &'static str) -> Self {
        if protocol != self.protocol() {
            self.insert(Protocol(protocol));
        }
        self
    }

    /// The protocol of the call. Default: `jsonrpc`.
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        let of_endpoint = || self.origin.as_deref().map_or(JSON_RPC, Origin::protocol);
        self.added().map_or_else(of_endpoint, |Protocol(protocol)| protocol)
    }

    /// The trace that the client sent, for example in the header `traceparent`.
    #[must_use]
    pub fn remote_trace(&self) -> Option<TraceContext> {
        self.origin.as_deref()?.trace()
    }

    /// The vendor data of the trace: of the client, or of a layer.
    #[must_use]
    pub fn trace_state(&self) -> Option<&TraceState> {
        let state: Option<&TraceState> =
            self.added().or_else(|| self.origin.as_deref()?.trace_state());
        state.filter(|state| !state.as_str().is_empty())
    }

    /// A set with this origin and no values.
    pub fn from_origin(origin: impl Origin) -> Self {
        Self { origin: Some(Arc::new(origin)), last: None }
    }

    /// The origin, if it is of type `T`.
    pub fn origin<T: Origin>(&self) -> Option<&T> {
        let origin: &dyn Any = self.origin.as_deref()?;
        origin.downcast_ref()
    }

    /// Adds a value, which replaces the earlier one of its type. Clones of this set are not affected.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        // Values can be replaced in place up to the first entry that is shared with a clone.
        let mut entry = self.last.as_mut();
        while let Some(own) = entry.and_then(Arc::get_mut) {
            if let Some(slot) = own.value.downcast_mut() {
                *slot = value;
                return;
            }
            entry = own.before.as_mut();
        }
        self.last = Some(Arc::new(Entry { before: self.last.take(), value }));
    }

    /// The value of type `T`, if there is one.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.added().or_else(|| self.origin.as_deref()?.get(TypeId::of::<T>())?.downcast_ref())
    }

    fn added<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let mut next = self.last.as_deref();
        while let Some(entry) = next {
            if let Some(value) = entry.value.downcast_ref() {
                return Some(value);
            }
            next = entry.before.as_deref();
        }
        None
    }
}

/// Drops the earlier entries in a loop, since there may be too many for recursion.
impl<T: ?Sized> Drop for Entry<T> {
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut entry) = before {
            before = Arc::get_mut(&mut entry).and_then(|entry| entry.before.take());
        }
    }
}

impl TraceContext {
    /// The trace of a call, for layers and handlers.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<Self> {
        extensions.added().copied()
    }
}

/// The protocol of a call, if it differs from that of the endpoint.
struct Protocol(&'static str);

/// An endpoint without headers.
struct NamedOrigin {
    endpoint: &'static str,
}

impl Origin for NamedOrigin {
    fn endpoint(&self) -> &'static str {
        self.endpoint
    }
}

/// The origin of a nested call, which inherits values of another origin.
struct NestedOrigin {
    endpoint: &'static str,
    origin: Option<Arc<dyn Origin>>,
}

impl Origin for NestedOrigin {
    fn endpoint(&self) -> &'static str {
        self.endpoint
    }

    fn get(&self, key: TypeId) -> Option<&dyn Any> {
        self.origin.as_deref()?.get(key)
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Extensions")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Extensions;

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Number(u8);

    #[test]
    fn insert_does_not_change_clones() {
        let mut first = Extensions::new();
        first.insert(Number(1));
        first.insert("text");
        let mut second = first.clone();
        second.insert(Number(2));
        first.insert("other");
        let values = |set: &Extensions| (set.get().copied(), set.get::<&str>().copied());
        assert_eq!(values(&first), (Some(Number(1)), Some("other")));
        assert_eq!(values(&second), (Some(Number(2)), Some("text")));
        second.insert(Number(3));
        assert_eq!(values(&second), (Some(Number(3)), Some("text")));
        assert_eq!(first.get::<u64>(), None);
    }

    #[test]
    fn drops_replaced_values() {
        let values: Vec<_> = (0..3).map(Arc::new).collect();
        let mut set = Extensions::new();
        for value in &values {
            set.insert(Arc::clone(value));
            set.insert("between");
        }
        assert_eq!(values.iter().map(Arc::strong_count).collect::<Vec<_>>(), [1, 1, 2]);
        drop(set);
        assert_eq!(Arc::strong_count(&values[2]), 1);
    }

    #[test]
    fn drops_many_entries_without_recursion() {
        let mut set = Extensions::new();
        let mut clones = Vec::new();
        for number in 0..100_000_u32 {
            set.insert(number);
            clones.push(set.clone());
        }
        clones.clear();
        assert_eq!(set.get(), Some(&99_999_u32));
        drop(set);
    }
}

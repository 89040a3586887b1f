//! What a transport or a layer tells the handlers about a call, by type.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use crate::trace_context::TraceContext;

/// A set of values, at most one of each type.
///
/// The calls of a batch share one set until a layer changes it for one of them. Cloning costs
/// reference counts.
#[derive(Clone, Default)]
pub struct Extensions {
    /// What the door knows, shared by all calls of a body.
    origin: Option<Arc<dyn Origin>>,
    /// The value that was added last.
    last: Option<Added>,
}

/// The protocol that calls come in unless their door says otherwise, by OpenTelemetry's name for it.
pub const JSON_RPC: &str = "jsonrpc";

type Added = Arc<Entry<dyn Any + Send + Sync>>;

/// A value that was added on the way, and the one before it. Sets that were cloned share them.
struct Entry<T: ?Sized> {
    before: Option<Added>,
    value: T,
}

/// What came along with a body through a door.
pub trait Origin: Any + Send + Sync {
    /// The door's name.
    fn endpoint(&self) -> &'static str;

    /// What is spoken there, unless a call says otherwise.
    fn protocol(&self) -> &'static str {
        JSON_RPC
    }

    /// The trace that the client is in.
    fn trace(&self) -> Option<TraceContext> {
        None
    }

    /// The value of this type that the transport or its middleware has set. Calls that are made
    /// [on behalf](Extensions::for_nested_call) of one that came through here have it, too.
    fn get(&self, _key: TypeId) -> Option<&dyn Any> {
        None
    }
}

impl Extensions {
    /// An empty set. Allocates nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What a door without headers knows: its name.
    #[must_use]
    pub fn from_endpoint(door: &'static str) -> Self {
        Self::from_origin(Through { door })
    }

    /// What goes on to calls that are made on behalf of one that came with these, through a door of this
    /// name: the values that middleware of its door has set, like who the tenant is.
    ///
    /// What is of that one call alone does not: its headers, its protocol, and what was added to it on its
    /// way, which layers around the new calls add again.
    #[must_use]
    pub fn for_nested_call(&self, door: &'static str) -> Self {
        Self::from_origin(OnBehalf { door, origin: self.origin.clone() })
    }

    /// The name of the door that the call came through: `json-rpc`, `mcp`, `stdio`, …. A call made in
    /// this process came through none: `in-process`.
    #[must_use]
    pub fn endpoint(&self) -> &'static str {
        self.origin.as_deref().map_or("in-process", Origin::endpoint)
    }

    /// The same, of calls that come in this protocol: by one word, which
    /// history and traces (`rpc.system.name`) show. Without it, they
    /// come in that of their transport.
    #[must_use]
    pub fn with_protocol(mut self, protocol: &'static str) -> Self {
        if protocol != self.protocol() {
            self.insert(Protocol(protocol));
        }
        self
    }

    /// The protocol that the call came in. Default: `jsonrpc`.
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        let of_door = || self.origin.as_deref().map_or(JSON_RPC, Origin::protocol);
        self.added().map_or_else(of_door, |Protocol(protocol)| protocol)
    }

    /// The trace that the client sent, for example with the header `traceparent`.
    #[must_use]
    pub fn remote_trace(&self) -> Option<TraceContext> {
        self.origin.as_deref()?.trace()
    }

    /// An empty set of calls that came in this way.
    pub fn from_origin(origin: impl Origin) -> Self {
        Self { origin: Some(Arc::new(origin)), last: None }
    }

    /// What the door knows, if the call came through a door of type `T`.
    pub fn origin<T: Origin>(&self) -> Option<&T> {
        let origin: &dyn Any = self.origin.as_deref()?;
        origin.downcast_ref()
    }

    /// Adds a value in place of the earlier one of its type, which clones of this set keep.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        // Values can be replaced up to the first entry that is shared with a clone.
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

/// Drops the earlier entries in a loop: there may be too many for recursion.
impl<T: ?Sized> Drop for Entry<T> {
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut entry) = before {
            before = Arc::get_mut(&mut entry).and_then(|entry| entry.before.take());
        }
    }
}

impl TraceContext {
    /// The trace that a call belongs to, for layers and handlers.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Option<Self> {
        extensions.added().copied()
    }
}

/// What a call is spoken in, if that is not what its door speaks.
struct Protocol(&'static str);

/// A door without headers.
struct Through {
    door: &'static str,
}

impl Origin for Through {
    fn endpoint(&self) -> &'static str {
        self.door
    }
}

/// A door that passes on what another one knows.
struct OnBehalf {
    door: &'static str,
    origin: Option<Arc<dyn Origin>>,
}

impl Origin for OnBehalf {
    fn endpoint(&self) -> &'static str {
        self.door
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
    fn values_are_replaced_in_one_set_only() {
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
    fn values_that_are_replaced_are_dropped() {
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
    fn many_entries_are_dropped_within_a_small_stack() {
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

//! Calls and their operations.

mod converted;
mod description;
mod endpoint;
mod future;
mod observer;
mod registered;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::envelope::Request;
use crate::envelope::{Kind, Members, ScanError, Scanner, Span, Text};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::format::Encoding;
use crate::id::Id;
use crate::limits::calls::Limits;

use description::KnownEffect;
pub use description::{Description, Effect, EffectOf, Example};
pub use endpoint::{Endpoint, run_when_ready};
pub use future::{CallFuture, CancelGuard, MaybeReady};
pub use observer::{MessageInfo, Observation, Observer};
pub use registered::RegisteredOperation;

/// A valid request: the method name, the params, the id, and the extensions set by transports and layers.
///
/// Name, params and id are slices of the body and are not copied.
pub struct Call {
    body: Bytes,
    /// `None` after [`redirect_to`](Self::redirect_to).
    method: Option<Text>,
    params: Option<Span>,
    id: Option<Span>,
    operation: Option<Arc<RegisteredOperation>>,
    /// The effect, which several layers read. Unset after a change of the operation or the params.
    effect: KnownEffect,
    extensions: Extensions,
    /// Whether the body is exactly the text of this request.
    is_whole: bool,
    rare: Option<Box<Rare>>,
}

/// Fields that few calls have, boxed because every layer moves the call.
#[derive(Default)]
struct Rare {
    cancellation: Option<CancelGuard>,
    observation: Option<Arc<dyn Observation>>,
    /// Whether the code that replies to the call has taken the observation, and ends it.
    is_ended_elsewhere: bool,
    /// Not an extension, since nested calls with the same extensions have other params.
    encoding: Option<Encoding>,
    /// The error that replaces the outcome of the handler.
    refusal: Option<ErrorObject>,
    /// The original body, if params were converted. The memory that is reserved for it stays reserved.
    sent: Option<Bytes>,
}

impl Call {
    pub(crate) fn new(body: Bytes, request: Request, extensions: Extensions) -> Self {
        let Request { method, params, id } = request;
        let method = Some(method);
        let (operation, effect, rare) = (None, KnownEffect::default(), None);
        Self { body, method, params, id, operation, effect, extensions, is_whole: false, rare }
    }

    /// Creates a call in this process. Params that serialise to `null`, such as `()`, are omitted.
    ///
    /// # Errors
    /// -32602 when `params` does not serialise to an array, an object or `null`, or is nested deeper than
    /// [`Limits::MAX_DEPTH`](crate::limits::calls::Limits::MAX_DEPTH).
    pub fn request(id: &Id, method: &str, params: &impl Serialize) -> Result<Self, ErrorObject> {
        Self::create(Some(id), method, params)
    }

    /// Creates a notification in this process.
    ///
    /// # Errors
    /// As for a [request](Self::request).
    pub fn notification(method: &str, params: &impl Serialize) -> Result<Self, ErrorObject> {
        Self::create(None, method, params)
    }

    /// Creates a call whose body is the message, so that it can be sent unchanged.
    fn create(id: Option<&Id>, method: &str, params: &impl Serialize) -> Result<Self, ErrorObject> {
        let mut body = Vec::with_capacity(CAPACITY);
        body.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":");
        let name = body.len();
        serde_json::to_writer(&mut body, method).expect("text serialises into memory");
        let span = Span::new(name, body.len());
        let method = Text { span, escaped: span.of(&body).contains(&b'\\') };
        let before = body.len();
        body.extend_from_slice(b",\"params\":");
        let params = params_text(&mut body, params)?;
        if params.is_none() {
            body.truncate(before);
        }
        let id = id.map(|id| {
            body.extend_from_slice(b",\"id\":");
            let start = body.len();
            body.extend_from_slice(id.as_raw().as_bytes());
            Span::new(start, body.len())
        });
        body.push(b'}');
        let call = Self::new(Bytes::from(body), Request { method, params, id }, Extensions::new());
        Ok(Self { is_whole: true, ..call })
    }

    /// Duplicates the call, for layers that send it more than once. The copy has the same id and extensions,
    /// shares the text, and is cancelled independently.
    ///
    /// The history of a server records the original call only.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let rare = self.rare.as_ref().map(|rare| {
            let (encoding, refusal) = (rare.encoding.clone(), rare.refusal.clone());
            Box::new(Rare { encoding, refusal, ..Rare::default() })
        });
        Self {
            body: self.body.clone(),
            operation: self.operation.clone(),
            effect: self.effect.clone(),
            extensions: self.extensions.clone(),
            rare,
            ..*self
        }
    }

    /// The JSON text of the request, with [converted](crate::operation::Operation::strict_params) params.
    pub fn message(&self) -> Bytes {
        if self.is_whole {
            return self.body.clone();
        }
        let mut text = b"{\"jsonrpc\":\"2.0\",\"method\":".to_vec();
        serde_json::to_writer(&mut text, &self.method()).expect("text serialises into memory");
        for (name, span) in [("params", self.params), ("id", self.id)] {
            if let Some(span) = span {
                text.extend_from_slice(format!(",\"{name}\":").as_bytes());
                text.extend_from_slice(span.of(&self.body));
            }
        }
        text.push(b'}');
        Bytes::from(text)
    }

    /// The name of the method.
    #[must_use]
    pub fn method(&self) -> Cow<'_, str> {
        match (&self.method, &self.operation) {
            (Some(method), _) => method.value(&self.body),
            (None, Some(operation)) => Cow::Borrowed(operation.name()),
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// Whether the method has this name.
    #[must_use]
    pub fn has_method(&self, name: &str) -> bool {
        match &self.method {
            Some(method) => method.is(&self.body, name),
            None => self.method() == name,
        }
    }

    /// The JSON text of the params: an array or an object.
    #[must_use]
    pub fn params(&self) -> Option<&[u8]> {
        self.params.map(|span| span.of(&self.body))
    }

    /// The members of the params, in the order of the text. Empty for an array.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'_, str>, Part)> {
        members(&self.body, self.params)
    }

    /// The JSON text of a value in the params.
    #[must_use]
    pub fn text(&self, part: Part) -> &[u8] {
        part.span.of(&self.body)
    }

    /// The JSON text of a value in the params, independent of the lifetime of the call.
    #[must_use]
    pub fn bytes(&self, part: Part) -> Bytes {
        self.body.slice(part.span.range())
    }

    /// Finds members of the params by name, and members of the object named `nested`, in one pass. Values that
    /// are not objects have no members.
    ///
    /// # Errors
    /// If one of the members is duplicated.
    pub fn find_members<const N: usize, const M: usize>(
        &self,
        names: &[&str; N],
        (nested, inner_names): (&str, &[&str; M]),
    ) -> Result<(Parts<N>, Parts<M>), DuplicateMember> {
        let (mut found, mut inner) = ([None; N], [None; M]);
        let Some(params) = self.params.filter(|span| span.of(&self.body).starts_with(b"{")) else {
            return Ok((found, inner));
        };
        Scanner::within(&self.body, params).named_members(
            names.iter().copied(),
            |scanner, index| {
                let nests = index.is_some_and(|index| names[index] == nested);
                if !nests || scanner.peek() != Some(b'{') {
                    return put(&mut found, index, scanner.value()?.1);
                }
                let start = scanner.offset();
                scanner.named_members(inner_names.iter().copied(), |scanner, index| {
                    put(&mut inner, index, scanner.value()?.1)
                })?;
                put(&mut found, index, Span::new(start, scanner.offset()))
            },
        )?;
        Ok((found, inner))
    }

    /// Redirects the call to `operation`, with a part of its params as params, for protocols with methods that wrap
    /// calls. The part must come from this call, and be an object or an array, or a string that is the JSON text of an
    /// object. The params are [converted](crate::operation::Operation::strict_params) to the types of the operation.
    #[must_use]
    pub fn redirect_to(
        mut self,
        operation: Arc<RegisteredOperation>,
        params: Option<Part>,
    ) -> Self {
        self.method = None;
        self.params = params.map(|part| part.span);
        self.operation = Some(operation);
        self.effect = KnownEffect::default();
        self.is_whole = false;
        if let Some(rare) = &mut self.rare {
            rare.encoding = rare.encoding.as_ref().map(Encoding::without_params);
        }
        if params.is_some_and(|part| !part.is_converted) {
            self.convert_params();
        }
        self
    }

    /// Redirects the call to `operation` with new params, for protocols whose messages contain them in another form.
    /// [Parts](Part) of the previous params must not be used with the new call.
    ///
    /// # Errors
    /// As for a [request](Self::request).
    pub fn redirect_with(
        self,
        operation: Arc<RegisteredOperation>,
        params: &impl Serialize,
    ) -> Result<Self, ErrorObject> {
        let mut body = Vec::with_capacity(CAPACITY);
        let params = params_text(&mut body, params)?;
        let id = self.id.map(|id| {
            let start = body.len();
            body.extend_from_slice(id.of(&self.body));
            Span::new(start, body.len())
        });
        let call = self.redirect_to(operation, None);
        let mut call = Self { body: Bytes::from(body), params, id, ..call };
        call.convert_params();
        Ok(call)
    }

    /// Redirects the call to an unknown method without params, for protocols whose messages name an operation in their
    /// params. The name must be a string of this call. Without one, the method keeps its name.
    #[must_use]
    pub fn redirect_to_unknown(mut self, name: Option<Part>) -> Self {
        if let Some(name) = name {
            let escaped = self.text(name).contains(&b'\\');
            self.method = Some(Text { span: name.span, escaped });
        }
        (self.params, self.operation) = (None, None);
        self.effect = KnownEffect::default();
        self.is_whole = false;
        self
    }

    /// Makes the call fail with `error` instead of running its handler, for protocols that validate a call before
    /// they run it. All layers, the history and the metrics see it like any other call.
    #[must_use]
    pub fn with_refusal(mut self, error: ErrorObject) -> Self {
        self.rare_mut().refusal = Some(error);
        self
    }

    /// Whether an error replaces the outcome of the handler.
    pub(crate) fn is_refused(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.refusal.is_some())
    }

    /// The error that replaces the outcome of the handler, if any.
    pub(crate) fn take_refusal(&mut self) -> Option<ErrorObject> {
        self.rare.as_mut()?.refusal.take()
    }

    /// The id. `None` for a notification.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        self.id.map(|span| Id::from_raw(self.body.slice(span.range())))
    }

    /// Whether the client expects no reply (section 4.1).
    #[must_use]
    pub fn is_notification(&self) -> bool {
        self.id.is_none()
    }

    /// The operation. `None` if the method is unknown.
    #[must_use]
    pub fn operation(&self) -> Option<&Arc<RegisteredOperation>> {
        self.operation.as_ref()
    }

    /// The values set by transports and layers.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// The extensions, for layers that pass values to later layers and the handler.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extensions
    }

    /// Takes the observation, if the service has an observer, for protocols that write their own responses: they end it
    /// with the response. `None` if it was taken before.
    pub fn take_observation(&mut self) -> Option<Arc<dyn Observation>> {
        let rare = self.rare.as_mut().filter(|rare| !rare.is_ended_elsewhere)?;
        rare.is_ended_elsewhere = rare.observation.is_some();
        rare.observation.clone()
    }

    /// Starts the observation of this call.
    pub(crate) fn observe(&mut self, observer: &dyn Observer, message: MessageInfo<'_>) {
        let observation = observer.begin(self, message);
        self.rare_mut().observation = Some(observation);
    }

    /// The observation, if the service has an observer, for layers that report what they find out about the call.
    pub fn observation(&self) -> Option<&Arc<dyn Observation>> {
        self.rare.as_ref()?.observation.as_ref()
    }

    /// The body that contains the call.
    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// The encoding, if request or reply are not JSON.
    pub fn encoding(&self) -> Option<&Encoding> {
        self.rare.as_ref()?.encoding.as_ref()
    }

    #[inline]
    pub(crate) fn with_encoding(mut self, encoding: Option<Encoding>) -> Self {
        if let Some(encoding) = encoding {
            let is_converted = self.rare.as_ref().is_some_and(|rare| rare.sent.is_some());
            let encoding = if is_converted { encoding.without_params() } else { encoding };
            let rare = self.rare_mut();
            if let Some(refusal) = encoding.refusal() {
                rare.refusal = Some(refusal.clone());
            }
            rare.encoding = Some(encoding);
        }
        self
    }

    fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Sets the operation, and converts the params to its types.
    #[inline]
    pub(crate) fn resolve(&mut self, operation: Option<Arc<RegisteredOperation>>) {
        self.operation = operation;
        self.effect = KnownEffect::default();
        self.convert_params();
    }

    /// Runs a function if the call is cancelled, for extractors that stop work on other threads. A call is cancelled
    /// by dropping the future of its handler: by the transport when the client disconnects, or after the timeout.
    pub fn on_cancel(&mut self, run: impl FnOnce() + Send + Sync + 'static) {
        self.rare_mut().cancellation.get_or_insert_default().add(run);
    }

    /// Takes the functions to run if the call is cancelled, for the future of the handler.
    pub fn take_cancel_guard(&mut self) -> Option<CancelGuard> {
        self.rare.as_mut()?.cancellation.take()
    }
}

/// The members of the object at `span`. Empty for other values.
fn members(body: &[u8], span: Option<Span>) -> impl Iterator<Item = (Cow<'_, str>, Part)> {
    let object = span.filter(|span| span.of(body).starts_with(b"{"));
    let mut members = object.map(|span| Members::within(body, span));
    std::iter::from_fn(move || {
        let (name, value) = members.as_mut()?.next_span()?;
        Some((name.value(body), Part::new(value)))
    })
}

/// Omits the params, which may contain secrets.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &self.method())
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}

/// A value in the params of a [`Call`].
#[derive(Debug, Clone, Copy)]
pub struct Part {
    span: Span,
    is_converted: bool,
}

impl Part {
    fn new(span: Span) -> Self {
        Self { span, is_converted: false }
    }
}

/// The values of members, by the index of their names.
pub type Parts<const N: usize> = [Option<Part>; N];

/// An object has a duplicate member. Parsers disagree on which one counts.
#[derive(Debug)]
pub struct DuplicateMember;

/// Unreachable, since the text of a call is valid.
impl From<ScanError> for DuplicateMember {
    fn from(_: ScanError) -> Self {
        Self
    }
}

fn put(
    found: &mut [Option<Part>],
    index: Option<usize>,
    value: Span,
) -> Result<(), DuplicateMember> {
    let earlier = index.and_then(|index| found[index].replace(Part::new(value)));
    earlier.map_or(Ok(()), |_| Err(DuplicateMember))
}

/// Appends the JSON text of the params, unless it is `null`.
fn params_text(body: &mut Vec<u8>, params: &impl Serialize) -> Result<Option<Span>, ErrorObject> {
    let start = body.len();
    serde_json::to_writer(&mut *body, params)
        .map_err(|error| ErrorObject::invalid_params(&error.to_string()))?;
    if body.len() - start > MAX_PARAMS {
        return Err(ErrorObject::invalid_params("params must be smaller than 2 GiB"));
    }
    // Raw values may be nested too deep, and the rest of the code relies on this check.
    match Scanner::new(&body[start..], Limits::MAX_DEPTH).value() {
        Ok((Kind::Array | Kind::Object, _)) => Ok(Some(Span::new(start, body.len()))),
        Ok((Kind::Null, _)) => Ok(None),
        Ok(_) => Err(ErrorObject::invalid_params("params must be an array or an object")),
        Err(error) => Err(ErrorObject::invalid_params(&error.reason.to_string())),
    }
}

/// The initial capacity, in bytes. Most requests fit, and take one allocation.
const CAPACITY: usize = 128;

/// With a name and an id, the text of a call stays below the maximum offset.
const MAX_PARAMS: usize = i32::MAX as usize;

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::{Call, Part};
    use crate::id::Id;

    /// `expected` contains the values of `a`, `m`, and `b` in `m`, or is `None` for a duplicate.
    #[track_caller]
    fn check(params: &str, expected: Option<[&str; 3]>) {
        let raw = RawValue::from_string(params.to_owned()).unwrap();
        let call = Call::request(&Id::NULL, "f", &raw).unwrap();
        let text = |part: &Option<Part>| {
            part.map_or("", |part| str::from_utf8(call.text(part)).unwrap()).to_owned()
        };
        let found = call.find_members(&["a", "m"], ("m", &["b"]));
        let found = found.ok().map(|([a, m], [b])| [a, m, b].map(|part| text(&part)));
        assert_eq!(found, expected.map(|values| values.map(str::to_owned)), "{params}");
    }

    #[test]
    fn finds_members_by_name() {
        check("{}", Some(["", "", ""]));
        check("[1]", Some(["", "", ""]));
        check(r#"{"a":1,"m":{"b":2}}"#, Some(["1", r#"{"b":2}"#, "2"]));
        check(
            r#"{ "m" : { "c" : {"b":1} , "b" : [ 2 ] } , "aa" : 1 }"#,
            Some(["", r#"{ "c" : {"b":1} , "b" : [ 2 ] }"#, "[ 2 ]"]),
        );
        check(r#"{"b":1,"m":"b"}"#, Some(["", "\"b\"", ""]));
        check(
            r#"{"\u0061":1,"\u006d":{"\u0062":"\""}}"#,
            Some(["1", r#"{"\u0062":"\""}"#, r#""\"""#]),
        );
        check(r#"{"a":1,"\u0061":1}"#, None);
        check(r#"{"m":{},"m":1}"#, None);
        check(r#"{"m":{"b":1,"b":1}}"#, None);
        check(r#"{"c":1,"c":1,"m":{"c":1,"c":1}}"#, Some(["", r#"{"c":1,"c":1}"#, ""]));
    }
}

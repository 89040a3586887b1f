//! One call on its way to a handler, and the operation that it is for.

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

pub use description::{Description, Effect, EffectOf, Example};
pub use endpoint::Endpoint;
pub(crate) use endpoint::Route;
pub use future::{CallFuture, CancelGuard};
pub use observer::Recording;
pub use observer::{MessageInfo, Notes, Observation, Observer};
pub use registered::RegisteredOperation;

/// A request that is valid as a request: a method's name, params, an id, and what the transport
/// knows about its sender.
///
/// Name, params and id are ranges of the body that they came in: a call copies nothing.
pub struct Call {
    body: Bytes,
    /// None if the operation was chosen by another name than its own.
    method: Option<Text>,
    params: Option<Span>,
    id: Option<Span>,
    operation: Option<Arc<RegisteredOperation>>,
    extensions: Extensions,
    /// Whether the body is the text of this request, and nothing else.
    is_whole: bool,
    rare: Option<Box<Rare>>,
}

/// Fields that few calls have, boxed because every layer moves the call.
#[derive(Default)]
struct Rare {
    cancellation: Option<CancelGuard>,
    /// Ended by the code that answers the call.
    recording: Option<Recording>,
    /// Facts that layers pass on to observers.
    notes: Option<Arc<Notes>>,
    /// No extension: calls made with the extensions of this one have their own params.
    encoding: Option<Encoding>,
    /// The error that the call ends with in place of its handler.
    refusal: Option<ErrorObject>,
}

impl Call {
    pub(crate) fn new(body: Bytes, request: Request, extensions: Extensions) -> Self {
        let Request { method, params, id } = request;
        let method = Some(method);
        let (operation, rare) = (None, None);
        Self { body, method, params, id, operation, extensions, is_whole: false, rare }
    }

    /// A call made in this process, as a transport would make it. Params that serialise to `null`,
    /// as `()` does, are none.
    ///
    /// # Errors
    /// -32602 when `params` serialises to something else than an array, an object or `null`, or
    /// nests deeper than [`Limits::MAX_DEPTH`](crate::limits::calls::Limits::MAX_DEPTH).
    pub fn request(id: &Id, method: &str, params: &impl Serialize) -> Result<Self, ErrorObject> {
        Self::written(Some(id), method, params)
    }

    /// A call that wants no reply, made in this process.
    ///
    /// # Errors
    /// As for a [request](Self::request).
    pub fn notification(method: &str, params: &impl Serialize) -> Result<Self, ErrorObject> {
        Self::written(None, method, params)
    }

    /// The call's whole text is its body, so that it can be sent as it is.
    fn written(
        id: Option<&Id>,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Self, ErrorObject> {
        let mut body = Vec::with_capacity(USUAL);
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

    /// The same call again, for layers that make a call more than once. It has the same id and the
    /// same extensions, copies no text, and is cancelled apart from this one.
    ///
    /// A server's history hears of the call that it was made of, and not of this one.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let rare = self.rare.as_ref().map(|rare| {
            let (encoding, refusal) = (rare.encoding.clone(), rare.refusal.clone());
            Box::new(Rare { encoding, refusal, ..Rare::default() })
        });
        Self {
            body: self.body.clone(),
            operation: self.operation.clone(),
            extensions: self.extensions.clone(),
            rare,
            ..*self
        }
    }

    /// The text of the request, as it is sent.
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

    /// The method's name, unescaped.
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

    /// The params' JSON text: an array or an object.
    #[must_use]
    pub fn params(&self) -> Option<&[u8]> {
        self.params.map(|span| span.of(&self.body))
    }

    /// The members of the params, in the order in which they were sent; none of an array.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'_, str>, Part)> {
        members(&self.body, self.params)
    }

    /// The JSON text of a member, or of a member of a member.
    #[must_use]
    pub fn text(&self, part: Part) -> &[u8] {
        part.0.of(&self.body)
    }

    /// The same text, which outlives the call.
    #[must_use]
    pub fn bytes(&self, part: Part) -> Bytes {
        self.body.slice(part.0.range())
    }

    /// Finds members of the params by their names, and members of the one named `nested` by theirs, in one scan of
    /// the text. Values that are not objects have no members.
    ///
    /// # Errors
    /// If there is a duplicate of one of them.
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

    /// This call made to `operation`, with a part of its params for params: what a protocol makes of
    /// a method of its own. Part and call belong together; it is an object or an array, or nothing.
    #[must_use]
    pub fn redirect_to(
        mut self,
        operation: Arc<RegisteredOperation>,
        params: Option<Part>,
    ) -> Self {
        self.method = None;
        self.params = params.map(|part| part.0);
        self.operation = Some(operation);
        self.is_whole = false;
        if let Some(rare) = &mut self.rare {
            rare.encoding = rare.encoding.as_ref().map(Encoding::without_params);
        }
        self
    }

    /// This call, which will end with `error` where its handler would be run. For doors that look at what is
    /// sent before they run it: all layers, those of the operation included, the history
    /// and the metrics see a call like any other, and may refuse it themselves.
    #[must_use]
    pub fn with_refusal(mut self, error: ErrorObject) -> Self {
        self.rare_mut().refusal = Some(error);
        self
    }

    /// What the call ends with in place of its handler, if that is not to be run.
    pub(crate) fn take_refusal(&mut self) -> Option<ErrorObject> {
        self.rare.as_mut()?.refusal.take()
    }

    /// The id; a notification has none.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        self.id.map(|span| Id::from_raw(self.body.slice(span.range())))
    }

    /// Whether the client wants no reply (section 4.1).
    #[must_use]
    pub fn is_notification(&self) -> bool {
        self.id.is_none()
    }

    /// The operation that will be called; none when the method is unknown.
    #[must_use]
    pub fn operation(&self) -> Option<&Arc<RegisteredOperation>> {
        self.operation.as_ref()
    }

    /// What the transport and the layers told about this call.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// For layers: what later layers and the handler shall know.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extensions
    }

    /// For doors that answer calls in their own way: what tells the service's
    /// history how this call ends, if there is a history and nobody has taken it
    /// yet. `Rpc::answer` and `Rpc::run` take it themselves.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.rare.as_mut()?.recording.take()
    }

    /// Begins the record of this call.
    pub(crate) fn observe(&mut self, observer: &dyn Observer, message: MessageInfo<'_>) {
        let notes = Arc::default();
        let recording = observer.begin(self, message, &notes);
        let rare = self.rare_mut();
        (rare.recording, rare.notes) = (Some(recording), Some(notes));
    }

    /// What layers have noted for observers, if the call is watched.
    pub fn notes(&self) -> Option<&Arc<Notes>> {
        self.rare.as_ref()?.notes.as_ref()
    }

    /// The text that the call came in, of which it may be a part.
    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// What was not said in JSON, if anything.
    pub fn encoding(&self) -> Option<&Encoding> {
        self.rare.as_ref()?.encoding.as_ref()
    }

    pub(crate) fn with_encoding(mut self, encoding: Option<Encoding>) -> Self {
        if encoding.is_some() {
            self.rare_mut().encoding = encoding;
        }
        self
    }

    fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    pub(crate) fn resolve(&mut self, operation: Option<Arc<RegisteredOperation>>) {
        self.operation = operation;
    }

    /// Runs a function if the call is cancelled. A call is cancelled by dropping the future of its handler: a
    /// transport does that when its client is gone, a timeout when its time is up. For extractors, whose
    /// value tells work on other threads to stop.
    pub fn on_cancel(&mut self, run: impl FnOnce() + Send + Sync + 'static) {
        self.rare_mut().cancellation.get_or_insert_default().add(run);
    }

    /// What to run if the future of the handler is dropped. It lives in that future.
    pub fn take_cancel_guard(&mut self) -> Option<CancelGuard> {
        self.rare.as_mut()?.cancellation.take()
    }
}

/// The members of the object at `span`, if there is one.
fn members(body: &[u8], span: Option<Span>) -> impl Iterator<Item = (Cow<'_, str>, Part)> {
    let object = span.filter(|span| span.of(body).starts_with(b"{"));
    let mut members = object.map(|span| Members::within(body, span));
    std::iter::from_fn(move || {
        let (name, value) = members.as_mut()?.next_span()?;
        Some((name.value(body), Part(value)))
    })
}

/// Shows no params: they may hold secrets.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &self.method())
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}

/// A value in the params of the [`Call`] that it was had from.
#[derive(Debug, Clone, Copy)]
pub struct Part(Span);

/// The values of members by the index of their names.
pub type Parts<const N: usize> = [Option<Part>; N];

/// An object has two members of one name: readers may disagree which of them counts.
#[derive(Debug)]
pub struct DuplicateMember;

/// The text of a call was validated, so this does not happen.
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
    let earlier = index.and_then(|index| found[index].replace(Part(value)));
    earlier.map_or(Ok(()), |_| Err(DuplicateMember))
}

/// Appends the JSON text of params, if they are any.
fn params_text(body: &mut Vec<u8>, params: &impl Serialize) -> Result<Option<Span>, ErrorObject> {
    let start = body.len();
    serde_json::to_writer(&mut *body, params)
        .map_err(|error| ErrorObject::invalid_params(&error.to_string()))?;
    if body.len() - start > MAX_PARAMS {
        return Err(ErrorObject::invalid_params("params have less than 2 GiB"));
    }
    // Raw values serialise to what no body could hold, and all else relies on that check.
    match Scanner::new(&body[start..], Limits::MAX_DEPTH).value() {
        Ok((Kind::Array | Kind::Object, _)) => Ok(Some(Span::new(start, body.len()))),
        Ok((Kind::Null, _)) => Ok(None),
        Ok(_) => Err(ErrorObject::invalid_params("params serialise to an array or an object")),
        Err(error) => Err(ErrorObject::invalid_params(&error.reason.to_string())),
    }
}

/// Most requests fit, so that most are one allocation.
const USUAL: usize = 128;

/// With a name and an id, a call's text stays below what offsets can tell.
const MAX_PARAMS: usize = i32::MAX as usize;

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::{Call, Part};
    use crate::id::Id;

    /// `expected` are the values of `a`, `m`, and `b` in `m`, or `None` if there is a duplicate.
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
    fn members_are_found_by_their_names() {
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

//! Calls with converted params.

use bytes::Bytes;

use super::description::KnownEffect;
use super::{Call, MAX_PARAMS, Part};
use crate::call::RegisteredOperation;
use crate::envelope::{Span, Text};
use crate::format::Encoding;

impl Part {
    /// The same part, which is known to be [unchanged](RegisteredOperation::convert) by a conversion to the types of the
    /// operation that the call is redirected to.
    #[must_use]
    pub fn as_converted(self) -> Self {
        Self { is_converted: true, ..self }
    }
}

impl Call {
    /// Replaces a part of the params by another JSON text, for protocols that convert the params of an operation before
    /// they redirect the call. The observer of the call sees the new message. [Parts](Part) of the previous params must
    /// not be used with the new call.
    #[must_use]
    pub fn replace(mut self, part: Part, text: &[u8]) -> Self {
        self.replace_span(part.span, text);
        if let Some(observation) = self.observation() {
            observation.convert(&self.body);
        }
        self
    }

    /// Converts the params to the types of the operation.
    #[inline]
    pub(super) fn convert_params(&mut self) {
        let types = self.operation.as_deref().and_then(RegisteredOperation::types);
        let (Some(types), Some(params)) = (types, self.params) else { return };
        if let Some(text) = types.convert(params.of(&self.body)) {
            self.replace_span(params, &text);
        }
    }

    /// The message with converted params, if the params were converted since the call was read.
    pub(crate) fn converted_message(&self) -> Option<&Bytes> {
        self.rare.as_ref()?.sent.as_ref()?;
        Some(&self.body)
    }

    #[cold]
    fn replace_span(&mut self, part: Span, text: &[u8]) {
        let Some(params) = self.params else { return };
        let mut body = b"{\"jsonrpc\":\"2.0\",\"method\":".to_vec();
        let start = body.len();
        match &self.method {
            Some(method) => body.extend_from_slice(method.span.of(&self.body)),
            None => serde_json::to_writer(&mut body, &self.method()).expect("text serialises"),
        }
        let method =
            self.method.map(|method| Text { span: Span::new(start, body.len()), ..method });
        body.extend_from_slice(b",\"params\":");
        let start = body.len();
        body.extend_from_slice(&self.body[params.range().start..part.range().start]);
        body.extend_from_slice(text);
        body.extend_from_slice(&self.body[part.range().end..params.range().end]);
        let params = Span::new(start, body.len());
        let id = self.id.map(|id| {
            body.extend_from_slice(b",\"id\":");
            let start = body.len();
            body.extend_from_slice(id.of(&self.body));
            Span::new(start, body.len())
        });
        body.push(b'}');
        if body.len() > MAX_PARAMS {
            return;
        }
        let sent = std::mem::replace(&mut self.body, Bytes::from(body));
        (self.method, self.params, self.id, self.is_whole) = (method, Some(params), id, true);
        self.effect = KnownEffect::default();
        let rare = self.rare_mut();
        rare.sent.get_or_insert(sent);
        rare.encoding = rare.encoding.as_ref().map(Encoding::without_params);
    }
}

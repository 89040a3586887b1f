//! The header fields used to check requests, collected in one pass. A lookup per field would hash each name, and
//! most of these fields are absent.

use http::header::GetAll;
use http::{HeaderMap, HeaderValue, header};

/// The header fields of a request.
pub(super) struct Fields<'a> {
    headers: &'a HeaderMap,
    pub(super) accept: Field<'a>,
    pub(super) content_encoding: Field<'a>,
    pub(super) content_length: Field<'a>,
    pub(super) content_type: Field<'a>,
    pub(super) expect: Field<'a>,
    pub(super) host: Field<'a>,
    pub(super) origin: Field<'a>,
    pub(super) transfer_encoding: Field<'a>,
}

/// A header field.
#[derive(Clone, Copy, Default)]
pub(super) struct Field<'a> {
    pub(super) first: Option<&'a HeaderValue>,
    pub(super) is_repeated: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn of(headers: &'a HeaderMap) -> Self {
        let mut fields = Self {
            headers,
            accept: Field::default(),
            content_encoding: Field::default(),
            content_length: Field::default(),
            content_type: Field::default(),
            expect: Field::default(),
            host: Field::default(),
            origin: Field::default(),
            transfer_encoding: Field::default(),
        };
        for (name, value) in headers {
            let field = match name.as_str() {
                "accept" => &mut fields.accept,
                "content-encoding" => &mut fields.content_encoding,
                "content-length" => &mut fields.content_length,
                "content-type" => &mut fields.content_type,
                "expect" => &mut fields.expect,
                "host" => &mut fields.host,
                "origin" => &mut fields.origin,
                "transfer-encoding" => &mut fields.transfer_encoding,
                _ => continue,
            };
            field.is_repeated = field.first.is_some();
            field.first = field.first.or(Some(value));
        }
        fields
    }

    /// All values of `Accept`.
    pub(super) fn accepts(&self) -> GetAll<'a, HeaderValue> {
        self.headers.get_all(header::ACCEPT)
    }

    /// Whether all values of the field equal `only`, ignoring case.
    pub(super) fn all_are(&self, field: Field<'_>, name: header::HeaderName, only: &[u8]) -> bool {
        let is_only = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(only);
        field.first.is_none() || self.headers.get_all(name).iter().all(is_only)
    }
}

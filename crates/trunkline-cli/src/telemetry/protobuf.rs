//! The binary encoding of Protocol Buffers, as far as OTLP uses it.

/// A message. Fields with the default value of their type are left out, as in proto3, except by the methods of elements,
/// which state it.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// The wire types of fields.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;

impl Message {
    pub(super) fn uint(self, field: u64, value: u64) -> Self {
        if value == 0 { self } else { self.key(field, VARINT).varint(value) }
    }

    pub(super) fn fixed32(mut self, field: u64, value: u32) -> Self {
        if value != 0 {
            self = self.key(field, FIXED_32);
            self.0.extend_from_slice(&value.to_le_bytes());
        }
        self
    }

    pub(super) fn fixed64(self, field: u64, value: u64) -> Self {
        if value == 0 { self } else { self.element_fixed64(field, value) }
    }

    pub(super) fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    pub(super) fn bytes(self, field: u64, value: &[u8]) -> Self {
        if value.is_empty() { self } else { self.element(field, value) }
    }

    /// A message in a field. An empty one is written, too.
    pub(super) fn message(self, field: u64, message: &Self) -> Self {
        self.element(field, &message.0)
    }

    /// The messages of a repeated field.
    pub(super) fn messages(self, field: u64, messages: impl IntoIterator<Item = Self>) -> Self {
        messages.into_iter().fold(self, |all, message| all.message(field, &message))
    }

    /// A number of an `optional` field or of a `oneof`, which is written if it is 0, too.
    pub(super) fn element_uint(self, field: u64, value: u64) -> Self {
        self.key(field, VARINT).varint(value)
    }

    pub(super) fn element_double(self, field: u64, value: f64) -> Self {
        self.element_fixed64(field, value.to_bits())
    }

    /// Text or bytes of a `oneof`.
    pub(super) fn element(mut self, field: u64, value: &[u8]) -> Self {
        self = self.key(field, LENGTH).varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// The numbers of a repeated field of 64 bits.
    pub(super) fn packed(mut self, field: u64, values: impl ExactSizeIterator<Item = u64>) -> Self {
        self = self.key(field, LENGTH).varint(values.len() as u64 * 8);
        values.for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
        self
    }

    /// The fields of another message, in this one.
    pub(super) fn fields(mut self, encoded: &[u8]) -> Self {
        self.0.extend_from_slice(encoded);
        self
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn element_fixed64(mut self, field: u64, value: u64) -> Self {
        self = self.key(field, FIXED_64);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn key(self, field: u64, wire_type: u64) -> Self {
        self.varint(field << 3 | wire_type)
    }

    fn varint(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the page "Encoding" of Protocol Buffers, and the limits of numbers.
    #[test]
    fn encodes_fields() {
        let new = Message::default;
        let inner = new().uint(1, 150);
        for (message, expected) in [
            (new().uint(1, 150), &b"\x08\x96\x01"[..]),
            (new().text(2, "testing"), b"\x12\x07testing"),
            (new().message(3, &inner), b"\x1a\x03\x08\x96\x01"),
            (new().messages(3, [new(), new()]), b"\x1a\x00\x1a\x00"),
            (new().uint(1, 0).text(2, "").fixed32(3, 0).fixed64(4, 0).bytes(5, b""), b""),
            (new().element_uint(1, 0).element(2, b""), b"\x08\x00\x12\x00"),
            (new().uint(1, u64::MAX), b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            (new().fixed32(16, 1), b"\x85\x01\x01\x00\x00\x00"),
            (new().fixed64(1, 2), b"\x09\x02\x00\x00\x00\x00\x00\x00\x00"),
            (new().element_double(5, 1.0), b"\x29\x00\x00\x00\x00\x00\x00\xf0\x3f"),
            (new().packed(6, [1, 0].into_iter()), b"\x32\x10\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
            (new().fields(b"\x08\x01"), b"\x08\x01"),
        ] {
            assert_eq!(message.into_bytes(), expected);
        }
    }
}

/// How much the reader takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How deep forms may nest: collections, and tags, metadata and `#_` before a form. Default 1,024.
    /// The reader, the writers and dropping need no stack for it, whatever it is.
    pub depth: usize,
    /// How many digits an integer in another radix than ten may have that is over 64 bits, and each
    /// part of a ratio. Default 1,024. Other numbers are kept as they are written, and cost nothing
    /// more than their text.
    pub digits: usize,
    /// How many bytes the namespaces of namespaced maps (`#:name{…}`) may add to their keys in one form
    /// (of many, if a [`Reader`](crate::Reader) reads many), unless the form is so long that they are
    /// less than 8 times its text, which is always right. Default 16 MiB. So a text of which the
    /// namespace is half makes no values out of all proportion.
    pub namespaces: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 1_024, digits: 1_024, namespaces: 16 << 20 }
    }
}

//! What may be chosen, each way.

/// How values become JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToJson {
    /// Write keywords and symbols by their names alone, as values and as keys: `:a/b` is `"b"`. Two
    /// keys that then have the same text are an error. Default false.
    pub names: bool,
    /// Write what is tagged without its tag. Otherwise tags are errors, but for those that the reader
    /// understands. Default false.
    pub unwrap_tags: bool,
}

/// How JSON becomes values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FromJson {
    /// What keys of objects become. Default [`Keys::Keyword`].
    pub keys: Keys,
    /// How deep arrays and objects may nest. Default 1,024. Reading needs no stack for it, whatever
    /// it is.
    pub depth: usize,
}

impl Default for FromJson {
    fn default() -> Self {
        Self { keys: Keys::default(), depth: 1_024 }
    }
}

/// What keys of objects become.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keys {
    /// Keywords where every reader of EDN takes them for those ([`Keyword::plain`](crate::Keyword::plain)), else strings.
    #[default]
    Keyword,
    /// Strings.
    String,
}

/// The caller of a command, and the mode of its execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// The caller. Requests of different callers may have the same `requestId`.
    pub caller: Caller,
    /// Whether it may have been executed before.
    pub mode: Mode,
}

/// The caller of a command: a name that distinguishes callers. The default is that of all unknown callers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Caller(String);

impl Caller {
    /// The caller of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a command may have been executed before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is executed, or it fails.
    #[default]
    Execute,
    /// What is done already is not done again: a record that is there need not be created, one that has
    /// the values is not changed, one that is gone need not be deleted.
    Repeat,
}

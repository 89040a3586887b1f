//! What goes along with calls that JSON does not tell.

#[cfg(feature = "edn")]
pub(crate) use super::edn::Aside;
#[cfg(not(feature = "edn"))]
use crate::error::ErrorObject;

/// What goes along with a call that JSON does not tell: nothing, without other formats.
#[cfg(not(feature = "edn"))]
#[derive(Debug, Clone)]
pub(crate) enum Aside {}

#[cfg(not(feature = "edn"))]
impl Aside {
    pub(crate) fn refusal(&self) -> Option<&ErrorObject> {
        match *self {}
    }

    pub(crate) fn without_params(&self) -> Self {
        match *self {}
    }
}

/// The same of all calls of a body.
#[derive(Debug, Default)]
pub(crate) enum Asides {
    #[default]
    None,
    /// One for each of them.
    #[cfg(feature = "edn")]
    Each(Vec<Aside>),
    #[cfg(feature = "edn")]
    Same(Aside),
}

impl Asides {
    /// Of the call in this place; that of a single request is the first.
    #[cfg(feature = "edn")]
    pub(crate) fn of(&self, index: usize) -> Option<&Aside> {
        match self {
            Self::None => None,
            Self::Each(asides) => asides.get(index),
            Self::Same(aside) => Some(aside),
        }
    }

    #[cfg(not(feature = "edn"))]
    pub(crate) fn of(&self, _index: usize) -> Option<&Aside> {
        match self {
            Self::None => None,
        }
    }
}

//! Parts with distinct keys: found by comparison among few, by hash among many.

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

use crate::error::{Error, Reason, shown};
use crate::syntax;
use crate::value::equality::Digest;
use crate::value::{Value, equality};

/// So many keys are compared one by one.
const FEW: usize = 16;

/// What can be found by a key.
pub(crate) trait Keyed {
    fn key(&self) -> &Value;
}

/// Of a set.
impl Keyed for Value {
    fn key(&self) -> &Value {
        self
    }
}

/// Of a map.
impl Keyed for (Value, Value) {
    fn key(&self) -> &Value {
        &self.0
    }
}

/// Parts with distinct keys, in their order.
pub(crate) enum Indexed<T> {
    Few(Vec<T>),
    /// Boxed: values shall not be larger because some are.
    Many(Box<Many<T>>),
}

pub(crate) struct Many<T> {
    parts: Vec<T>,
    /// Where the parts are, by their keys.
    places: HashTable<u32>,
    digest: Digest,
}

impl<T: Keyed> Indexed<T> {
    /// Of parts that should have distinct keys.
    ///
    /// # Errors
    /// [`Reason::DuplicateKey`].
    pub(crate) fn of(parts: Vec<T>) -> Result<Self, Error> {
        let duplicate = |at: usize| {
            let key = shown(&parts[at].key().to_string());
            Error::from(Reason::DuplicateKey { key })
        };
        // Few are compared one by one, unless comparing two of them may cost more than that.
        let is_costly = || parts.len() > 1 && parts.iter().any(|part| part.key().is_collection());
        if parts.len() > FEW || is_costly() {
            let places = places(&parts).map_err(duplicate)?;
            return Ok(Self::Many(Box::new(Many { parts, places, digest: Digest::default() })));
        }
        match first_duplicate(&parts) {
            Some(at) => Err(duplicate(at)),
            None => Ok(Self::Few(parts)),
        }
    }

    pub(crate) fn parts(&self) -> &[T] {
        match self {
            Self::Few(parts) => parts,
            Self::Many(many) => &many.parts,
        }
    }

    /// The same for clones of the parts.
    pub(crate) fn with_parts(&self, parts: Vec<T>) -> Self {
        match self {
            Self::Few(_) => Self::Few(parts),
            Self::Many(many) => {
                let (places, digest) = (many.places.clone(), many.digest.clone());
                Self::Many(Box::new(Many { parts, places, digest }))
            }
        }
    }

    /// The parts, of which the keys must not be changed.
    pub(crate) fn parts_mut(&mut self) -> &mut [T] {
        match self {
            Self::Few(parts) => parts,
            Self::Many(many) => {
                many.digest.forget();
                &mut many.parts
            }
        }
    }

    /// All of them, which leaves none.
    pub(crate) fn take(&mut self) -> Vec<T> {
        match self {
            Self::Few(parts) => std::mem::take(parts),
            Self::Many(many) => {
                many.places.clear();
                many.digest.forget();
                std::mem::take(&mut many.parts)
            }
        }
    }

    /// Where the digest of all is kept. That of few keys which are no collections is soon computed.
    pub(crate) fn digest(&self) -> Option<&Digest> {
        match self {
            Self::Few(_) => None,
            Self::Many(many) => Some(&many.digest),
        }
    }

    /// The place of the part with this key.
    pub(crate) fn find(&self, key: &Value) -> Option<usize> {
        match self {
            Self::Few(parts) => parts.iter().position(|part| part.key() == key),
            Self::Many(many) => {
                let is_wanted = |at: &u32| many.parts[*at as usize].key() == key;
                many.places.find(equality::digest(key), is_wanted).map(|at| *at as usize)
            }
        }
    }

    /// Adds a part at the end, with a key that is not there yet.
    pub(crate) fn push(&mut self, part: T) {
        match self {
            Self::Few(parts) => {
                parts.push(part);
                if parts.len() > FEW
                    && let Ok(places) = places(parts)
                {
                    let parts = std::mem::take(parts);
                    *self = Self::Many(Box::new(Many { parts, places, digest: Digest::default() }));
                }
            }
            Self::Many(many) => {
                many.digest.forget();
                many.parts.push(part);
                add(&mut many.places, &many.parts, many.parts.len() - 1);
            }
        }
    }

    /// Takes a part out. The others keep their order, and those behind it move up.
    pub(crate) fn remove(&mut self, at: usize) -> T {
        match self {
            Self::Few(parts) => parts.remove(at),
            Self::Many(many) => many.remove(at),
        }
    }

    /// Takes out what is not to be kept, which must not change a key.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&mut T) -> bool) {
        let mut parts = self.take();
        parts.retain_mut(keep);
        // The keys were distinct, and still are.
        *self = Self::of(parts).unwrap_or_default();
    }
}

impl<T: Keyed> Many<T> {
    fn remove(&mut self, at: usize) -> T {
        self.digest.forget();
        let digest = equality::digest(self.parts[at].key());
        let place = self.places.find_entry(digest, |place| *place as usize == at);
        place.map(OccupiedEntry::remove).ok();
        let is_last = at + 1 == self.parts.len();
        if !is_last {
            let behind = self.places.iter_mut().filter(|place| **place as usize > at);
            behind.for_each(|place| *place -= 1);
        }
        self.parts.remove(at)
    }
}

impl<T> Indexed<T> {
    pub(crate) const fn new() -> Self {
        Self::Few(Vec::new())
    }
}

impl<T> Default for Indexed<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The first key that stands there for the second time.
fn first_duplicate(parts: &[impl Keyed]) -> Option<usize> {
    let mut marks = 0_u64;
    let is_duplicate = |at: &usize| {
        let key = parts[*at].key();
        let mark = 1 << (mark(key) % 64);
        // Most often, a new mark tells that the key is new.
        let is_new = marks & mark == 0;
        marks |= mark;
        !is_new && parts[..*at].iter().any(|before| before.key() == key)
    };
    (0..parts.len()).find(is_duplicate)
}

/// A number that equal keys have in common, and those of one map most often do not.
fn mark(key: &Value) -> usize {
    let text = match key {
        Value::Keyword(keyword) => keyword.as_str(),
        Value::String(text) => text,
        Value::Symbol(symbol) => symbol.as_str(),
        Value::Integer(integer) => return integer.as_i64().unwrap_or(0) as usize,
        _ => return 0,
    };
    syntax::fingerprint(text)
}

/// The places of all, or that of the first key that stands there for the second time.
fn places(parts: &[impl Keyed]) -> Result<HashTable<u32>, usize> {
    let mut places = HashTable::with_capacity(parts.len());
    match (0..parts.len()).find(|at| !add(&mut places, parts, *at)) {
        Some(at) => Err(at),
        None => Ok(places),
    }
}

/// Adds a place, and tells whether no other has its key.
fn add(places: &mut HashTable<u32>, parts: &[impl Keyed], at: usize) -> bool {
    let digest = |at: usize| equality::digest(parts[at].key());
    let new = digest(at);
    if places.find(new, |before| parts[*before as usize].key() == parts[at].key()).is_some() {
        return false;
    }
    places.insert_unique(new, at as u32, |before| digest(*before as usize));
    true
}

//! When two values are equal, and the hash that goes with it: as Clojure tells it.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::OnceLock;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::index::Keyed;
use crate::value::Value;

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::Decimal(a), Self::Decimal(b)) => a == b,
            (Self::Ratio(a), Self::Ratio(b)) => a == b,
            (Self::Char(a), Self::Char(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Symbol(a), Self::Symbol(b)) => a == b,
            (Self::Keyword(a), Self::Keyword(b)) => a == b,
            (Self::Inst(a), Self::Inst(b)) => a == b,
            (Self::Uuid(a), Self::Uuid(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Set(a), Self::Set(b)) => a == b,
            (Self::Tagged(a), Self::Tagged(b)) => a == b,
            _ => match (self.as_sequence(), other.as_sequence()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self.kind()).hash(state);
        match self {
            Self::Nil => {}
            Self::Bool(bool) => bool.hash(state),
            Self::Integer(integer) => integer.hash(state),
            Self::Float(float) => canonical(*float).to_bits().hash(state),
            Self::Decimal(decimal) => decimal.hash(state),
            Self::Ratio(ratio) => ratio.hash(state),
            Self::Char(char) => char.hash(state),
            Self::String(string) => string.hash(state),
            Self::Symbol(symbol) => symbol.hash(state),
            Self::Keyword(keyword) => keyword.hash(state),
            Self::Inst(inst) => inst.hash(state),
            Self::Uuid(uuid) => uuid.hash(state),
            Self::List(list) => list.hash(state),
            Self::Vector(vector) => vector.hash(state),
            Self::Map(map) => map.hash(state),
            Self::Set(set) => set.hash(state),
            Self::Tagged(tagged) => tagged.hash(state),
        }
    }
}

impl Value {
    /// A value of the same kind, where equal values are of the same.
    fn kind(&self) -> &Self {
        const VECTOR: &Value = &Value::Vector(crate::Vector::new());
        if matches!(self, Self::List(_)) { VECTOR } else { self }
    }
}

/// The same number for what is equal: of zeros, and of what is no number.
fn canonical(float: f64) -> f64 {
    if float.is_nan() {
        f64::NAN
    } else if float == 0.0 {
        0.0
    } else {
        float
    }
}

/// The hash of a value in this process. No document can choose which values have the same.
pub(crate) fn digest(value: &impl Hash) -> u64 {
    static KEYS: OnceLock<DefaultHashBuilder> = OnceLock::new();
    KEYS.get_or_init(DefaultHashBuilder::default).hash_one(value)
}

/// Hashes what is the same in every order.
pub(crate) fn hash_unordered<H: Hasher>(parts: &[impl Hash], state: &mut H) {
    parts.len().hash(state);
    parts.iter().map(digest).fold(0, u64::wrapping_add).hash(state);
}

/// The places of equal keys in two collections of as many distinct ones; none if one lacks another.
pub(crate) fn pairs<T: Keyed>(
    here: &[T],
    there: &[T],
) -> Option<impl Iterator<Item = (usize, usize)> + use<T>> {
    let is_same = |(a, b): (&T, &T)| is_quick(a.key(), b.key()) && a.key() == b.key();
    // Most often they have the same order.
    let places: Vec<usize> = if here.iter().zip(there).all(is_same) {
        (0..here.len()).collect()
    } else {
        // Comparing each with each could take for ever where they are nested, and nearly equal.
        let mut table = HashTable::with_capacity(there.len());
        for (at, part) in there.iter().enumerate() {
            table.insert_unique(digest(part.key()), at, |at| digest(there[*at].key()));
        }
        let find = |wanted: &T| {
            table.find(digest(wanted.key()), |at| there[*at].key() == wanted.key()).copied()
        };
        here.iter().map(find).collect::<Option<_>>()?
    };
    Some(places.into_iter().enumerate())
}

/// Whether comparing both costs no more than hashing them.
fn is_quick(a: &Value, b: &Value) -> bool {
    !a.is_collection() && !b.is_collection()
}

//! When two values are equal, and the hash that goes with it: as Clojure tells it, and without a stack
//! that a value could overflow.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashTable;

use crate::value::index::Keyed;
use crate::value::parts::Parts;
use crate::value::{Map, Set, Value};

/// Values that have to be equal for others to be.
pub(crate) type Pairs<'a> = Vec<(&'a Value, &'a Value)>;

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        let mut waiting = Pairs::new();
        begin(self, other, &mut waiting) && are_equal(waiting)
    }
}

impl Eq for Value {}

/// Whether values are equal in each pair.
pub(crate) fn are_equal(mut waiting: Pairs<'_>) -> bool {
    while let Some(pair) = waiting.pop() {
        let same = match pair {
            (Value::Map(a), Value::Map(b)) => begin_maps(a, b, &mut waiting),
            (Value::Set(a), Value::Set(b)) => begin_sets(a, b, &mut waiting),
            (Value::Tagged(a), Value::Tagged(b)) => {
                a.tag() == b.tag() && begin(a.value(), b.value(), &mut waiting)
            }
            (a, b) => match (a.as_sequence(), b.as_sequence()) {
                (Some(a), Some(b)) => {
                    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| begin(a, b, &mut waiting))
                }
                _ => false,
            },
        };
        if !same {
            return false;
        }
    }
    true
}

/// Compares two values, but for the parts of collections, which wait.
fn begin<'a>(a: &'a Value, b: &'a Value, waiting: &mut Pairs<'a>) -> bool {
    if a.is_collection() && b.is_collection() {
        waiting.push((a, b));
        return true;
    }
    are_equal_atoms(a, b)
}

fn are_equal_atoms(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Integer(a), Value::Integer(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
        (Value::Decimal(a), Value::Decimal(b)) => a == b,
        (Value::Ratio(a), Value::Ratio(b)) => a == b,
        (Value::Char(a), Value::Char(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Symbol(a), Value::Symbol(b)) => a == b,
        (Value::Keyword(a), Value::Keyword(b)) => a == b,
        (Value::Inst(a), Value::Inst(b)) => a == b,
        (Value::Uuid(a), Value::Uuid(b)) => a == b,
        _ => false,
    }
}

/// Compares two maps, but for the parts of collections in them, which wait.
pub(crate) fn begin_maps<'a>(a: &'a Map, b: &'a Map, waiting: &mut Pairs<'a>) -> bool {
    let (a, b) = (a.entries(), b.entries());
    begin_keyed(a, b, waiting, |a, b, waiting| begin(&a.1, &b.1, waiting))
}

/// The same for sets.
pub(crate) fn begin_sets<'a>(a: &'a Set, b: &'a Set, waiting: &mut Pairs<'a>) -> bool {
    begin_keyed(a.values(), b.values(), waiting, |_, _, _| true)
}

/// Compares the keys of two collections, and what is behind the same key.
fn begin_keyed<'a, T: Keyed>(
    here: &'a [T],
    there: &'a [T],
    waiting: &mut Pairs<'a>,
    mut rest: impl FnMut(&'a T, &'a T, &mut Pairs<'a>) -> bool,
) -> bool {
    if here.len() != there.len() {
        return false;
    }
    if let ([a], [b]) = (here, there) {
        return begin(a.key(), b.key(), waiting) && rest(a, b, waiting);
    }
    // Most often they have the same order.
    if here.iter().zip(there).all(|(a, b)| are_equal_atoms(a.key(), b.key())) {
        return here.iter().zip(there).all(|(a, b)| rest(a, b, waiting));
    }
    // Comparing each with each could take for ever where they are nested, and nearly equal.
    let mut places = HashTable::with_capacity(there.len());
    for part in there {
        let digest = digest(part.key());
        places.insert_unique(digest, (digest, part), |(digest, _)| *digest);
    }
    here.iter().all(|a| {
        let wanted = digest(a.key());
        let mut found = places.iter_hash(wanted).filter(|(digest, _)| *digest == wanted);
        match (found.next(), found.next()) {
            (None, _) => false,
            // No other can be equal, so this one has to be.
            (Some((_, b)), None) => begin(a.key(), b.key(), waiting) && rest(a, b, waiting),
            (Some((_, b)), Some((_, c))) => [b, c]
                .into_iter()
                .chain(found.map(|(_, part)| part))
                .find(|b| a.key() == b.key())
                .is_some_and(|b| rest(a, b, waiting)),
        }
    })
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(digest(self));
    }
}

/// The hash of a value in this process. Which values have the same, no document can know.
pub(crate) fn digest(value: &Value) -> u64 {
    // The collections that have begun, from the outermost.
    let mut open: Vec<Sum<'_>> = Vec::new();
    let mut next = value;
    loop {
        let mut digest = digest_at_once(next);
        if digest.is_none() {
            open.extend(Sum::of(next));
        }
        next = loop {
            let Some(sum) = open.last_mut() else { return digest.unwrap_or_default() };
            if let Some(digest) = digest.take() {
                sum.add(digest);
            }
            if let Some(part) = sum.parts.next() {
                break part;
            }
            digest = Some(sum.end());
            open.pop();
        };
    }
}

/// The digest of what has no parts, or has told it before.
fn digest_at_once(value: &Value) -> Option<u64> {
    let keys = keys();
    Some(match value {
        Value::Nil => keys.hash_one(0_u8),
        Value::Bool(bool) => keys.hash_one((1_u8, bool)),
        Value::Integer(integer) => keys.hash_one((2_u8, integer)),
        Value::Float(float) => keys.hash_one((3_u8, canonical(*float).to_bits())),
        Value::Decimal(decimal) => keys.hash_one((4_u8, decimal)),
        Value::Ratio(ratio) => keys.hash_one((5_u8, ratio)),
        Value::Char(char) => keys.hash_one((6_u8, char)),
        Value::String(string) => keys.hash_one((7_u8, string)),
        Value::Symbol(symbol) => keys.hash_one((8_u8, symbol)),
        Value::Keyword(keyword) => keys.hash_one((9_u8, keyword)),
        Value::Inst(inst) => keys.hash_one((10_u8, inst)),
        Value::Uuid(uuid) => keys.hash_one((11_u8, uuid)),
        _ => return known(value)?.get(),
    })
}

/// Where a collection keeps its digest, if it does.
fn known(value: &Value) -> Option<&Digest> {
    match value {
        Value::Map(map) => map.digest(),
        Value::Set(set) => set.digest(),
        _ => None,
    }
}

/// The digest of a collection, so far.
struct Sum<'a> {
    value: &'a Value,
    parts: Parts<'a>,
    /// How many parts there are.
    count: usize,
    sum: u64,
    /// Of the parts, where their order counts.
    hasher: DefaultHasher,
    /// Of the key of the next value.
    key: Option<u64>,
}

impl<'a> Sum<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        let parts = Parts::of(value)?;
        let hasher = keys().build_hasher();
        Some(Self { value, count: parts.left(), parts, sum: 0, hasher, key: None })
    }

    fn add(&mut self, part: u64) {
        match (self.value, self.key.take()) {
            // In every order the same.
            (Value::Set(_), _) => self.sum = self.sum.wrapping_add(part),
            (Value::Map(_), None) => self.key = Some(part),
            (Value::Map(_), Some(key)) => {
                self.sum = self.sum.wrapping_add(keys().hash_one((key, part)));
            }
            _ => self.hasher.write_u64(part),
        }
    }

    fn end(&mut self) -> u64 {
        let hasher = &mut self.hasher;
        match self.value {
            Value::Set(_) => (12_u8, self.count, self.sum).hash(hasher),
            Value::Map(_) => (13_u8, self.count, self.sum).hash(hasher),
            Value::Tagged(tagged) => (14_u8, tagged.tag()).hash(hasher),
            // Lists and vectors are equal.
            _ => (15_u8, self.count).hash(hasher),
        }
        let digest = hasher.finish();
        if let Some(known) = known(self.value) {
            known.set(digest);
        }
        digest
    }
}

/// The digest of a collection, once it was asked for: each level of nested keys asks for those of all
/// levels below.
#[derive(Default)]
pub(crate) struct Digest(AtomicU64);

impl Digest {
    fn get(&self) -> Option<u64> {
        // It depends on nothing else that is in memory. Zero is computed again.
        Some(self.0.load(Ordering::Relaxed)).filter(|digest| *digest != 0)
    }

    fn set(&self, digest: u64) {
        self.0.store(digest, Ordering::Relaxed);
    }

    /// For collections that change.
    pub(crate) fn forget(&mut self) {
        *self.0.get_mut() = 0;
    }
}

impl Clone for Digest {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

/// Those of the standard library's maps: SipHash, which is made for input of others.
fn keys() -> &'static RandomState {
    static KEYS: OnceLock<RandomState> = OnceLock::new();
    KEYS.get_or_init(RandomState::new)
}

/// Hashes what is the same in every order.
pub(crate) fn hash_unordered<H: Hasher>(parts: &[impl Hash], state: &mut H) {
    parts.len().hash(state);
    parts.iter().map(|part| keys().hash_one(part)).fold(0, u64::wrapping_add).hash(state);
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

//! Items with distinct keys: the representation of maps and sets.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::OnceLock;

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

use super::Value;
use crate::error::{Error, Reason, quoted};
use crate::syntax;

/// Up to this length, keys are compared one by one.
const SMALL: usize = 16;

/// An item with a key: an entry of a map, or an element of a set.
pub(super) trait Keyed: Hash {
    fn key(&self) -> &Value;
}

impl Keyed for Value {
    fn key(&self) -> &Value {
        self
    }
}

impl Keyed for (Value, Value) {
    fn key(&self) -> &Value {
        &self.0
    }
}

/// Items with distinct keys, in insertion order.
#[derive(Clone)]
pub(super) enum KeyedVec<T> {
    /// Few items whose keys are scalars, or one item.
    Small(Vec<T>),
    /// Boxed to keep [`Value`] small.
    Indexed(Box<Indexed<T>>),
}

#[derive(Clone)]
pub(super) struct Indexed<T> {
    items: Vec<T>,
    /// The indices of the items, by the hashes of their keys.
    table: HashTable<u32>,
    /// The unordered hash, once it is computed.
    hash: OnceLock<u64>,
}

impl<T> KeyedVec<T> {
    pub(super) const fn new() -> Self {
        Self::Small(Vec::new())
    }

    pub(super) fn items(&self) -> &[T] {
        match self {
            Self::Small(items) => items,
            Self::Indexed(indexed) => &indexed.items,
        }
    }

    /// The items. Their keys must not be changed.
    pub(super) fn items_mut(&mut self) -> &mut [T] {
        match self {
            Self::Small(items) => items,
            Self::Indexed(indexed) => {
                indexed.hash.take();
                &mut indexed.items
            }
        }
    }

    pub(super) fn into_items(self) -> Vec<T> {
        match self {
            Self::Small(items) => items,
            Self::Indexed(indexed) => indexed.items,
        }
    }
}

impl<T: Keyed> KeyedVec<T> {
    /// # Errors
    /// [`Reason::DuplicateKey`].
    pub(super) fn from_items(items: Vec<T>) -> Result<Self, Error> {
        let duplicate = |at: usize| {
            let key = quoted(&items[at].key().to_string());
            Error::from(Reason::DuplicateKey { key })
        };
        if needs_index(&items) {
            let table = table(&items).map_err(duplicate)?;
            return Ok(Self::indexed(items, table));
        }
        match first_duplicate(&items) {
            Some(at) => Err(duplicate(at)),
            None => Ok(Self::Small(items)),
        }
    }

    fn indexed(items: Vec<T>, table: HashTable<u32>) -> Self {
        Self::Indexed(Box::new(Indexed { items, table, hash: OnceLock::new() }))
    }

    /// The index of the item with this key.
    pub(super) fn find(&self, key: &Value) -> Option<usize> {
        match self {
            Self::Small(items) => items.iter().position(|item| item.key() == key),
            Self::Indexed(indexed) => {
                let has_key = |at: &u32| indexed.items[*at as usize].key() == key;
                indexed.table.find(random_hash(key), has_key).map(|at| *at as usize)
            }
        }
    }

    /// Appends an item with a new key.
    pub(super) fn push(&mut self, item: T) {
        match self {
            Self::Small(items) => {
                items.push(item);
                if needs_index(items)
                    && let Ok(table) = table(items)
                {
                    *self = Self::indexed(std::mem::take(items), table);
                }
            }
            Self::Indexed(indexed) => {
                indexed.hash.take();
                indexed.items.push(item);
                add(&mut indexed.table, &indexed.items, indexed.items.len() - 1);
            }
        }
    }

    /// Removes an item. The following items move up.
    pub(super) fn remove(&mut self, at: usize) -> T {
        match self {
            Self::Small(items) => items.remove(at),
            Self::Indexed(indexed) => indexed.remove(at),
        }
    }

    /// Keeps the items for which `keep` returns true. It must not change keys.
    pub(super) fn retain(&mut self, keep: impl FnMut(&mut T) -> bool) {
        let mut items = std::mem::take(self).into_items();
        items.retain_mut(keep);
        // The keys remain distinct.
        *self = Self::from_items(items).unwrap_or_default();
    }

    /// A hash that does not depend on the order of the items. An index keeps it: each level of nested keys
    /// requires the hashes of all levels below.
    pub(super) fn unordered_hash(&self) -> u64 {
        match self {
            Self::Small(items) => unordered_hash(items),
            Self::Indexed(indexed) => *indexed.hash.get_or_init(|| unordered_hash(&indexed.items)),
        }
    }

    /// Whether `other` has the same keys, with items that are the same by `is_equal`.
    pub(super) fn equals(&self, other: &Self, is_equal: impl Fn(&T, &T) -> bool) -> bool {
        if self.items().len() != other.items().len() {
            return false;
        }
        for item in self.items() {
            match other.find(item.key()) {
                Some(at) if is_equal(item, &other.items()[at]) => {}
                _ => return false,
            }
        }
        true
    }
}

impl<T> Default for KeyedVec<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Keyed> Indexed<T> {
    fn remove(&mut self, at: usize) -> T {
        self.hash.take();
        let hash = random_hash(self.items[at].key());
        let entry = self.table.find_entry(hash, |index| *index as usize == at);
        entry.map(OccupiedEntry::remove).ok();
        let is_last = at + 1 == self.items.len();
        if !is_last {
            let following = self.table.iter_mut().filter(|index| **index as usize > at);
            following.for_each(|index| *index -= 1);
        }
        self.items.remove(at)
    }
}

/// Nested keys are indexed, whatever their number: comparing each with each could take exponential time.
fn needs_index(items: &[impl Keyed]) -> bool {
    items.len() > SMALL || (items.len() > 1 && items.iter().any(|item| item.key().is_collection()))
}

/// The index of the first item whose key occurs before it.
fn first_duplicate(items: &[impl Keyed]) -> Option<usize> {
    let mut seen = 0_u64;
    let is_duplicate = |at: &usize| {
        let key = items[*at].key();
        let bit = 1 << (fingerprint(key) % 64);
        // In most cases, a new bit shows that the key is new.
        let is_new = seen & bit == 0;
        seen |= bit;
        !is_new && items[..*at].iter().any(|before| before.key() == key)
    };
    (0..items.len()).find(is_duplicate)
}

/// A cheap hash of a key.
fn fingerprint(key: &Value) -> usize {
    let text = match key {
        Value::Keyword(keyword) => keyword.as_str(),
        Value::String(text) => text,
        Value::Symbol(symbol) => symbol.as_str(),
        Value::Integer(integer) => return integer.as_i64().unwrap_or(0) as usize,
        _ => return 0,
    };
    syntax::fingerprint(text)
}

/// The index of all items, or the index of the first duplicate.
fn table(items: &[impl Keyed]) -> Result<HashTable<u32>, usize> {
    let mut table = HashTable::with_capacity(items.len());
    match (0..items.len()).find(|at| !add(&mut table, items, *at)) {
        Some(at) => Err(at),
        None => Ok(table),
    }
}

/// Adds an item to the table and returns true, unless its key is a duplicate.
fn add(table: &mut HashTable<u32>, items: &[impl Keyed], at: usize) -> bool {
    let hash = |at: usize| random_hash(items[at].key());
    let new = hash(at);
    if table.find(new, |before| items[*before as usize].key() == items[at].key()).is_some() {
        return false;
    }
    table.insert_unique(new, at as u32, |before| hash(*before as usize));
    true
}

/// A hash with a random key per process, so that input cannot be crafted to collide.
fn random_hash(value: &impl Hash) -> u64 {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::new).hash_one(value)
}

fn unordered_hash(items: &[impl Hash]) -> u64 {
    let mut sum = items.len() as u64;
    for item in items {
        sum = sum.wrapping_add(random_hash(item));
    }
    sum
}

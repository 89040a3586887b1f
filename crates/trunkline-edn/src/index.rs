//! Finding a key among others: by comparison among few, by hash among many.

use hashbrown::HashTable;

use crate::sameness;
use crate::value::Value;

/// So many keys are compared one by one.
const FEW: usize = 8;

/// The places of keys, if there are many of them. It knows no keys: they are told each time.
#[derive(Clone, Default)]
pub(crate) struct Index(Option<Box<HashTable<u32>>>);

impl Index {
    /// Of keys that are not many yet.
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// Indexes keys, or tells the place of the first that stands there for the second time.
    pub(crate) fn of<'a>(
        count: usize,
        key: impl Fn(usize) -> &'a Value + Copy,
    ) -> Result<Self, usize> {
        // Few are compared one by one, unless comparing two of them may cost more than that.
        if count <= FEW && (0..count).all(|at| !key(at).is_collection()) {
            let is_new = |at: usize| (0..at).all(|before| key(before) != key(at));
            return (0..count).find(|at| !is_new(*at)).map_or(Ok(Self(None)), Err);
        }
        let mut table = HashTable::with_capacity(count);
        for at in 0..count {
            if !add(&mut table, at, key) {
                return Err(at);
            }
        }
        Ok(Self((count > FEW).then(|| Box::new(table))))
    }

    /// The place of a key.
    pub(crate) fn find<'a>(
        &self,
        wanted: &Value,
        count: usize,
        key: impl Fn(usize) -> &'a Value,
    ) -> Option<usize> {
        match &self.0 {
            None => (0..count).find(|at| key(*at) == wanted),
            Some(table) => {
                let is_wanted = |at: &u32| key(*at as usize) == wanted;
                table.find(sameness::digest(wanted), is_wanted).map(|at| *at as usize)
            }
        }
    }

    /// Adds the key at the last place, which was not there yet.
    pub(crate) fn push<'a>(&mut self, count: usize, key: impl Fn(usize) -> &'a Value + Copy) {
        match &mut self.0 {
            Some(table) => {
                add(table, count - 1, key);
            }
            None if count > FEW => *self = Self::of(count, key).unwrap_or_default(),
            None => {}
        }
    }
}

fn add<'a>(table: &mut HashTable<u32>, at: usize, key: impl Fn(usize) -> &'a Value) -> bool {
    let digest = |at: usize| sameness::digest(key(at));
    let new = digest(at);
    if table.find(new, |before| key(*before as usize) == key(at)).is_some() {
        return false;
    }
    table.insert_unique(new, at as u32, |before| digest(*before as usize));
    true
}

//! Dropping and cloning what may be nested deeper than a stack carries.

use std::cell::Cell;

use crate::value::Value;
use crate::value::parts::{self, Parts};

/// Up to here, they go into collections as usual: that is fastest, and every stack carries it.
const SHALLOW: usize = 32;

thread_local! {
    /// How many collections around this are being dropped or cloned.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Drops the parts of a collection.
pub(crate) fn drop_all(parts: impl IntoIterator<Item: Part>) {
    let depth = DEPTH.get();
    if depth == SHALLOW {
        return drop_iteratively(parts);
    }
    // Without a guard, which takes a fifth of dropping: no part panics when it is dropped.
    DEPTH.set(depth + 1);
    drop(parts);
    DEPTH.set(depth);
}

/// Clones the parts of a collection.
pub(crate) fn clone_all<T: Part>(parts: &[T]) -> Vec<T> {
    match Level::enter() {
        Some(_level) => parts.to_vec(),
        None => parts.iter().map(Part::clone_iteratively).collect(),
    }
}

/// Clones the only part of a collection.
pub(crate) fn clone_one(part: &Value) -> Value {
    match Level::enter() {
        Some(_level) => part.clone(),
        None => clone_iteratively(part),
    }
}

/// A collection around others that are being dropped or cloned.
struct Level(usize);

impl Level {
    /// None where the next one is too deep.
    fn enter() -> Option<Self> {
        let depth = DEPTH.get();
        (depth < SHALLOW).then(|| {
            DEPTH.set(depth + 1);
            Self(depth)
        })
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(self.0);
    }
}

/// What a collection has.
pub(crate) trait Part: Clone {
    /// Puts the collections in it elsewhere, and drops the rest.
    fn set_aside(self, waiting: &mut Vec<Value>);

    fn clone_iteratively(&self) -> Self;
}

impl Part for Value {
    fn set_aside(self, waiting: &mut Vec<Value>) {
        if self.is_collection() {
            waiting.push(self);
        }
    }

    fn clone_iteratively(&self) -> Self {
        clone_iteratively(self)
    }
}

impl Part for (Value, Value) {
    fn set_aside(self, waiting: &mut Vec<Value>) {
        self.0.set_aside(waiting);
        self.1.set_aside(waiting);
    }

    fn clone_iteratively(&self) -> Self {
        (clone_iteratively(&self.0), clone_iteratively(&self.1))
    }
}

fn drop_iteratively(parts: impl IntoIterator<Item: Part>) {
    let mut waiting = Vec::new();
    set_aside(parts, &mut waiting);
    // What is dropped here has no parts any more.
    while let Some(mut value) = waiting.pop() {
        match &mut value {
            Value::List(list) => set_aside(list.take(), &mut waiting),
            Value::Vector(vector) => set_aside(vector.take(), &mut waiting),
            Value::Set(set) => set_aside(set.take(), &mut waiting),
            Value::Map(map) => set_aside(map.take(), &mut waiting),
            Value::Tagged(tagged) => set_aside([tagged.take()], &mut waiting),
            _ => {}
        }
    }
}

fn set_aside(parts: impl IntoIterator<Item: Part>, waiting: &mut Vec<Value>) {
    parts.into_iter().for_each(|part| part.set_aside(waiting));
}

fn clone_iteratively(value: &Value) -> Value {
    // The collections that have begun, from the outermost, and where the clones of their parts begin.
    let mut open: Vec<(&Value, Parts<'_>, usize)> = Vec::new();
    let mut clones = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next.take() {
            match Parts::of(value) {
                Some(parts) => open.push((value, parts, clones.len())),
                None => clones.push(value.clone()),
            }
        }
        let Some((_, parts, _)) = open.last_mut() else { return clones.pop().unwrap_or_default() };
        next = parts.next();
        if next.is_none()
            && let Some((value, _, start)) = open.pop()
        {
            let clone = with_parts(value, &mut clones, start);
            clones.push(clone);
        }
    }
}

/// The collection again, of the clones of its parts.
fn with_parts(value: &Value, clones: &mut Vec<Value>, start: usize) -> Value {
    let mut parts = clones.drain(start..);
    match value {
        Value::List(_) => Value::List(parts.collect()),
        Value::Vector(_) => Value::Vector(parts.collect()),
        Value::Set(set) => Value::Set(set.with_values(parts.collect())),
        Value::Map(map) => Value::Map(map.with_entries(parts::entries(parts))),
        Value::Tagged(tagged) => tagged.with_value(parts.next().unwrap_or_default()).into(),
        // What has no parts was cloned as it is.
        _ => Value::Nil,
    }
}

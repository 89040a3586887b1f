//! Dropping what may be nested deeper than a stack carries.

use std::cell::Cell;

use crate::value::Value;

/// Up to here, dropping goes into collections as usual: that is fastest, and every stack carries it.
const SHALLOW: usize = 32;

thread_local! {
    /// How many collections around this are being dropped.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Drops the parts of a collection.
pub(crate) fn drop_all(parts: impl IntoIterator<Item: Part>) {
    let depth = DEPTH.get();
    if depth == SHALLOW {
        return drop_iteratively(parts);
    }
    DEPTH.set(depth + 1);
    drop(parts);
    DEPTH.set(depth);
}

/// What a collection has.
pub(crate) trait Part {
    /// Puts the collections in it elsewhere, and drops the rest.
    fn set_aside(self, waiting: &mut Vec<Value>);
}

impl Part for Value {
    fn set_aside(self, waiting: &mut Vec<Value>) {
        if self.is_collection() {
            waiting.push(self);
        }
    }
}

impl Part for (Value, Value) {
    fn set_aside(self, waiting: &mut Vec<Value>) {
        self.0.set_aside(waiting);
        self.1.set_aside(waiting);
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

//! Passes a [`Value`] as a whole between the types of this crate and its serializer and deserializer.
//!
//! Serde's data model has no keywords, sets or tags, and neither side can ask for the type of the other. The name of
//! a newtype struct identifies a type of this crate; other formats ignore it. A value that the data model cannot
//! express takes a slot of the thread. In its place, a unit is serialized, or an enum is visited.

use std::cell::Cell;

use crate::value::Value;

pub(super) const VALUE: &str = "$trunkline_edn::Value";
/// A key that other formats reject.
pub(super) const KEY: &str = "$trunkline_edn::Key";
/// A string that remains a string as the key of a map.
pub(super) const STRING: &str = "$trunkline_edn::String";
pub(super) const KEYWORD: &str = "$trunkline_edn::Keyword";
pub(super) const SYMBOL: &str = "$trunkline_edn::Symbol";
pub(super) const INST: &str = "$trunkline_edn::Inst";
pub(super) const UUID: &str = "$trunkline_edn::Uuid";
pub(super) const INTEGER: &str = "$trunkline_edn::Integer";
pub(super) const DECIMAL: &str = "$trunkline_edn::Decimal";
pub(super) const RATIO: &str = "$trunkline_edn::Ratio";

#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    /// The serializer is this crate's, and expects a value here.
    Requested,
    Value(Value),
}

thread_local! {
    static SLOT: Cell<Slot> = const { Cell::new(Slot::Empty) };
}

/// Empties the slot, also after a panic.
struct Clear;

impl Drop for Clear {
    fn drop(&mut self) {
        SLOT.take();
    }
}

/// Calls `serialize` with the request for a value, and returns the value if there is an answer.
pub(super) fn request<E>(serialize: impl FnOnce() -> Result<Value, E>) -> Result<Value, E> {
    let _clear = Clear;
    SLOT.set(Slot::Requested);
    let result = serialize();
    take().map_or(result, Ok)
}

/// Takes the request, which is valid once: whether the serializer is this crate's.
pub(super) fn take_request() -> bool {
    matches!(SLOT.take(), Slot::Requested)
}

/// Answers the request.
pub(super) fn answer(value: Value) {
    SLOT.set(Slot::Value(value));
}

/// Calls `visit` while the value is in the slot.
pub(super) fn offer<T>(value: Value, visit: impl FnOnce() -> T) -> T {
    let _clear = Clear;
    SLOT.set(Slot::Value(value));
    visit()
}

/// Takes the value that this crate's deserializer offers.
pub(super) fn take() -> Option<Value> {
    match SLOT.take() {
        Slot::Value(value) => Some(value),
        Slot::Empty | Slot::Requested => None,
    }
}

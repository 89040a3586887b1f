//! How the types of this crate know that they are given to this crate's serializer.
//!
//! Serde lets neither side ask who the other is. The [name](super::token) of a newtype struct identifies
//! the type to the serializer. The serializer then announces itself to the content of that newtype,
//! which takes the announcement before it does anything else. Other serializers announce nothing.

use std::cell::Cell;

use serde::Serialize;

use super::serializer::Serializer;
use crate::error::Error;
use crate::value::Value;

thread_local! {
    static IS_ANNOUNCED: Cell<bool> = const { Cell::new(false) };
}

/// Serializes the content of a newtype of this crate.
pub(super) fn announced(
    content: &(impl Serialize + ?Sized),
    serializer: Serializer,
) -> Result<Value, Error> {
    let _end = End;
    IS_ANNOUNCED.set(true);
    content.serialize(serializer)
}

/// Takes the announcement: whether the serializer is this crate's. It is given once.
pub(super) fn take() -> bool {
    IS_ANNOUNCED.take()
}

/// Ends an announcement that no serializer has taken.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        IS_ANNOUNCED.set(false);
    }
}

//! What a type is known to do, without asking it of the type.

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trunkline_core::error::RpcError;
use trunkline_core::operation::Operation;
use trunkline_core::params::may_be_absent;
use trunkline_core::schema::Schema;

use super::decoded::Param;

/// Writes the schema of a type.
pub type Generate = fn(&mut SchemaGenerator) -> schemars::Schema;

/// Answers questions about `T` with its own methods where `T` implements the trait in question, and
/// with those of [`Unprobed`] where it does not, or where that cannot be told (a type parameter).
pub struct Probe<T>(PhantomData<fn() -> T>);

/// The answers for types that do not implement the trait in question.
pub trait Unprobed<T> {
    /// No schema is known.
    fn schema(&self) -> Option<Generate> {
        None
    }

    /// No schema is known.
    fn schema_of_output(&self) -> Option<Schema> {
        None
    }

    /// The result is not described.
    fn output<S>(&self, operation: Operation<S>) -> Operation<S> {
        operation
    }

    /// A value's JSON is not known.
    fn json(&self, _value: fn() -> Param<T>) -> Option<Value> {
        None
    }

    /// A param of this type has to be there.
    fn may_be_absent(&self) -> bool {
        false
    }

    /// The errors are not described.
    fn errors<S>(&self, operation: Operation<S>) -> Operation<S> {
        operation
    }
}

impl<T> Unprobed<T> for Probe<T> {}

impl<T> Probe<T> {
    /// A probe of `T`.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: JsonSchema> Probe<T> {
    /// How to write the type's schema.
    #[must_use]
    pub fn schema(&self) -> Option<Generate> {
        Some(SchemaGenerator::subschema_for::<T>)
    }

    /// The schema of what the type is written as.
    #[must_use]
    pub fn schema_of_output(&self) -> Option<Schema> {
        Some(Schema::of_output::<T>())
    }

    /// Describes the result of `operation`, which is a `T`.
    pub fn output<S>(&self, operation: Operation<S>) -> Operation<S> {
        operation.output::<T>()
    }
}

impl<T: Serialize> Probe<T> {
    /// The JSON of a value, if it has any.
    pub fn json(&self, value: fn() -> Param<T>) -> Option<Value> {
        serde_json::to_value(value().0).ok()
    }
}

impl<T: DeserializeOwned> Probe<T> {
    /// Whether a param of this type may be left out.
    #[must_use]
    pub fn may_be_absent(&self) -> bool {
        may_be_absent::<T>()
    }
}

impl<E: RpcError> Probe<E> {
    /// Describes the errors of `operation`, which are those of `E`.
    pub fn errors<S>(&self, operation: Operation<S>) -> Operation<S> {
        operation.errors::<E>()
    }
}

impl<T> Default for Probe<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Probe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}

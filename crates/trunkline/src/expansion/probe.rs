//! Queries for optional traits of types.

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

/// Generates the schema of a type.
pub type Generate = fn(&mut SchemaGenerator) -> schemars::Schema;

/// Queries traits of `T` by autoref specialization: its own methods apply if `T` implements the trait, and those of
/// [`Unprobed`] if it does not, or if that is unknown (a type parameter).
pub struct Probe<T>(PhantomData<fn() -> T>);

/// The fallbacks for types that do not implement the queried trait.
pub trait Unprobed<T> {
    /// The schema is unknown.
    fn schema(&self) -> Option<Generate> {
        None
    }

    /// The schema is unknown.
    fn schema_of_output(&self) -> Option<Schema> {
        None
    }

    /// The result is not described.
    fn output<S>(&self, operation: Operation<S>) -> Operation<S> {
        operation
    }

    /// The JSON of values is unknown.
    fn json(&self, _value: fn() -> Param<T>) -> Option<Value> {
        None
    }

    /// A param of this type is required.
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
    /// The generator of the schema.
    #[must_use]
    pub fn schema(&self) -> Option<Generate> {
        Some(SchemaGenerator::subschema_for::<T>)
    }

    /// The schema of the serialised type.
    #[must_use]
    pub fn schema_of_output(&self) -> Option<Schema> {
        Some(Schema::of_output::<T>())
    }

    /// Describes the result of `operation` as a `T`.
    pub fn output<S>(&self, operation: Operation<S>) -> Operation<S> {
        operation.output::<T>()
    }
}

impl<T: Serialize> Probe<T> {
    /// The JSON of a value, if it serialises.
    pub fn json(&self, value: fn() -> Param<T>) -> Option<Value> {
        serde_json::to_value(value().0).ok()
    }
}

impl<T: DeserializeOwned> Probe<T> {
    /// Whether a param of this type may be omitted.
    #[must_use]
    pub fn may_be_absent(&self) -> bool {
        may_be_absent::<T>()
    }
}

impl<E: RpcError> Probe<E> {
    /// Describes the errors of `operation` as those of `E`.
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

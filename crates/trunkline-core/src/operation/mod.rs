//! Operations and their registry.

mod build;
mod handler;
mod pattern;
mod registry;
mod reply;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;

use crate::call::{
    CallFuture, Description, Effect, EffectOf, Endpoint, Example, RegisteredOperation,
};
use crate::conversion::{Conversions, ParamTypes};
use crate::error::RpcError;
use crate::extensions::Extensions;
use crate::outcome::Outcome;
use crate::schema::Schema;

pub use build::{BuildError, DISCOVER, SourceLocation};
pub use handler::{Handler, arguments};
pub use pattern::{Pattern, matches, may_match_prefix};
pub use registry::{Registry, ServiceLayers};
pub use reply::{IntoOutcome, IntoReply, IntoResult, Json};

/// An operation to register: a name, a handler and a description.
pub struct Operation<S = ()> {
    pub(crate) description: Description,
    /// Makes the endpoint of the handler with its state.
    make: Box<dyn FnOnce(S) -> Endpoint + Send>,
    immediate: bool,
    conversions: Conversions,
    pub(crate) timeout: Option<Duration>,
    pub(crate) layers: Vec<LayerFn>,
    pub(crate) location: &'static Location<'static>,
}

/// Wraps an endpoint in one layer.
pub type LayerFn = Arc<dyn Fn(Endpoint) -> Endpoint + Send + Sync>;

impl<S> Operation<S> {
    /// An operation with this name and handler.
    #[track_caller]
    pub fn new<H, M>(name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M, S>,
        M: 'static,
        S: Send + Sync + 'static,
    {
        let immediate = handler.is_immediate();
        let description = Description::new(name.into(), handler.declared(), handler.is_variadic());
        let make = Box::new(move |state| {
            Endpoint::new(move |mut call| match call.take_refusal() {
                Some(error) => CallFuture::ready(Outcome::error(error)),
                None => handler.call(call, &state),
            })
        });
        let location = Location::caller();
        let (conversions, timeout, layers) = (Conversions::All, None, Vec::new());
        Self { description, make, immediate, conversions, timeout, layers, location }
    }

    /// Sets the description, for people and language models.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description.text = Some(text.into());
        self
    }

    /// Sets the display name, such as `List tables`.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.description.title = Some(title.into());
        self
    }

    /// Sets the schema of the params, by name, to that of `T`. Params are [converted](Self::strict_params) to its types.
    #[must_use]
    pub fn input<T: JsonSchema>(self) -> Self {
        self.input_schema(Schema::of_input::<T>())
    }

    /// Passes params on unchanged, instead of converting them to the types of the [input schema](Self::input).
    ///
    /// By default, values in forms that language models send are converted where the schema makes their meaning certain,
    /// before layers and the handler read the params: a string that is the JSON text of a value (`"5"`, `"[1]"`, `"true"`)
    /// if the schema allows the type of that value and no strings; `null` for an optional member, which is removed, if the
    /// schema does not allow `null`; and an integer written as `1.0`.
    ///
    /// ```
    /// # use trunkline::{JsonSchema, Operation, Params};
    /// #[derive(serde::Deserialize, JsonSchema)]
    /// struct Page { size: u32 }
    ///
    /// // The param `"5"` is refused.
    /// let strict: Operation =
    ///     Operation::new("page", |Params(Page { size })| size).input::<Page>().strict_params();
    /// ```
    #[must_use]
    pub fn strict_params(mut self) -> Self {
        self.conversions = Conversions::None;
        self
    }

    /// Does not [convert](Self::strict_params) strings to the types of the input schema; `null` and numbers are still
    /// converted. `#[rpc]` sets this for methods that are not tools, whose schema it derives.
    #[must_use]
    pub fn strict_strings(mut self) -> Self {
        if self.conversions == Conversions::All {
            self.conversions = Conversions::ExceptStrings;
        }
        self
    }

    /// Sets the schema of the params, by name. Params are [converted](Self::strict_params) to its types.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<Schema>) -> Self {
        self.description.input = Some(schema.into());
        self
    }

    /// Sets the schema of the result to that of `T`.
    #[must_use]
    pub fn output<T: JsonSchema>(self) -> Self {
        self.output_schema(Schema::of_output::<T>())
    }

    /// Sets the schema of the result.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<Schema>) -> Self {
        self.description.output = Some(schema.into());
        self
    }

    /// Declares that the operation changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.effect(Effect::ReadOnly)
    }

    /// Declares that the operation adds data, but changes and removes none.
    #[must_use]
    pub fn additive(self) -> Self {
        self.effect(Effect::Additive)
    }

    /// Declares that the operation changes or removes data.
    #[must_use]
    pub fn destructive(self) -> Self {
        self.effect(Effect::Destructive)
    }

    /// Sets a function that returns the effect of a call from its params, by name. The effect declared for the
    /// operation is the worst case, which clients that list operations see.
    ///
    /// `effect_of` gets params that have not been validated. It should return the worst effect for those that it
    /// does not recognise.
    ///
    /// ```
    /// # use serde_json::Value;
    /// # use trunkline::{Effect, Operation};
    /// # let query = || ();
    /// let query: Operation =
    ///     Operation::new("query", query).destructive().effect_of(|params| match params.get("read_only") {
    ///         None | Some(Value::Bool(true)) => Effect::ReadOnly,
    ///         _ => Effect::Destructive,
    ///     });
    /// ```
    #[must_use]
    pub fn effect_of(mut self, effect_of: EffectOf) -> Self {
        self.description.effect_of = Some(effect_of);
        self
    }

    fn effect(mut self, effect: Effect) -> Self {
        self.description.effect = Some(effect);
        self
    }

    /// Declares that repeating a call has no further effect.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.description.idempotent = true;
        self
    }

    /// Declares that the operation accesses only this service's data, and no other system.
    #[must_use]
    pub fn closed_world(mut self) -> Self {
        self.description.closed_world = true;
        self
    }

    /// Offers the operation to language models as a tool of this name.
    ///
    /// A name consists of 1 to 128 of the characters `A-Z a-z 0-9 _ - .` and is unique among the tools.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.description.tool = Some(name.into());
        self
    }

    /// Distinguishes a dynamic operation from earlier ones with the same name and description: a confirmation of
    /// a call applies to one revision only.
    #[must_use]
    pub fn revision(mut self, revision: impl Into<String>) -> Self {
        self.description.revision = Some(revision.into());
        self
    }

    /// Sets extension data for a protocol. Replaces the earlier value of the same type.
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.description.extensions.insert(value);
        self
    }

    /// Declares the errors that the operation may return: all of `E`.
    #[must_use]
    pub fn errors<E: RpcError>(mut self) -> Self {
        self.description.errors = E::descriptions();
        self
    }

    /// Adds an example of a call and its result.
    #[must_use]
    pub fn example(mut self, example: Example) -> Self {
        self.description.examples.push(example);
        self
    }

    /// Declares that the operation is meant for notifications. Calls with an id work as well.
    #[must_use]
    pub fn notification(mut self) -> Self {
        self.description.notification = true;
        self
    }

    /// Sets the timeout of calls, instead of [`Limits::call_timeout`](crate::limits::calls::Limits::call_timeout).
    #[must_use]
    pub fn timeout(mut self, after: Duration) -> Self {
        self.timeout = Some(after);
        self
    }

    /// The method's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// The description, to change it.
    pub fn description_mut(&mut self) -> &mut Description {
        &mut self.description
    }

    /// Wraps the operation, including its current layers.
    pub fn wrap(&mut self, layer: LayerFn) {
        self.layers.push(layer);
    }

    /// Prefixes the name with `namespace.`.
    pub fn nest(&mut self, namespace: &str) {
        let name = &mut self.description.name;
        *name = format!("{namespace}.{name}");
    }

    /// Sets the state of the handler.
    pub fn bind<S2>(self, state: S) -> Operation<S2>
    where
        S: Send + 'static,
    {
        let make = self.make;
        Operation {
            description: self.description,
            make: Box::new(move |_| make(state)),
            immediate: self.immediate,
            conversions: self.conversions,
            timeout: self.timeout,
            layers: self.layers,
            location: self.location,
        }
    }

    /// Whether the outcome is ready when the service returns. With layers, it may not be.
    pub(crate) fn is_immediate(&self) -> bool {
        self.immediate && self.layers.is_empty()
    }
}

impl Operation {
    /// Builds the endpoint of the operation, without the layers of the service. A dynamic operation continues with the
    /// `extensions` of the previous one of its name. `depth` is the maximum depth of messages.
    pub(crate) fn register(
        self,
        is_static: bool,
        extensions: Extensions,
        depth: usize,
    ) -> RegisteredOperation {
        let is_immediate = self.is_immediate();
        let endpoint = (self.make)(());
        let endpoint = self.layers.iter().fold(endpoint, |endpoint, layer| layer(endpoint));
        let Self { description, conversions, timeout, location, .. } = self;
        let Description { input, params, variadic, .. } = &description;
        let types = ParamTypes::of(conversions, input.as_ref(), params, *variadic, depth);
        RegisteredOperation {
            description,
            endpoint,
            types,
            is_immediate,
            is_static,
            timeout,
            extensions,
            location,
        }
    }
}

impl<S> fmt::Debug for Operation<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Operation").field(&self.description).finish()
    }
}

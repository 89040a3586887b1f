//! Operations: what is registered, and what every door may know of it.

mod bind;
mod build;
mod handler;
mod pattern;
mod registry;
mod reply;

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;

use crate::call::{Description, Effect, EffectOf, Endpoint, Example, Registered};
use crate::error::RpcError;
use crate::extensions::Extensions;
use crate::params::{Arguments, Function, Param};
use crate::schema::Schema;
use bind::{Bound, MakeEndpoint, Unbound};
use handler::Named;

pub use build::{BuildError, DISCOVER, Place};
pub use handler::{Handler, arguments};
pub use pattern::{Pattern, matches, may_match_below};
pub use registry::{Dispatch, Registry};
pub use reply::{IntoOutcome, IntoReply, Json};

/// An operation to register: a name, a handler, and what describes it.
pub struct Operation<S = ()> {
    pub(crate) description: Description,
    make: Box<dyn MakeEndpoint<S>>,
    immediate: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) layers: Vec<LayerFn>,
    pub(crate) place: &'static Location<'static>,
}

/// Wraps an endpoint in one layer.
pub type LayerFn = Arc<dyn Fn(Endpoint) -> Endpoint + Send + Sync>;

impl<S> Operation<S> {
    /// An operation that is called `name` and answered by `handler`.
    #[track_caller]
    pub fn new<H, M>(name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M, S>,
        M: 'static,
        S: Send + Sync + 'static,
    {
        let immediate = handler.is_immediate();
        let description = Description::new(name.into(), handler.declared(), handler.is_variadic());
        let make = Box::new(Unbound { handler, marker: PhantomData });
        let place = Location::caller();
        Self { description, make, immediate, timeout: None, layers: Vec::new(), place }
    }

    /// An operation that is called `name` and answered by a function whose arguments are the params.
    #[track_caller]
    pub fn function<F, A, R, M, const N: usize>(
        name: impl Into<String>,
        params: [Param; N],
        function: F,
    ) -> Self
    where
        F: Function<A, R, N>,
        A: Arguments + 'static,
        R: IntoReply<M> + 'static,
        M: 'static,
        S: Send + Sync + 'static,
    {
        let names = params.each_ref().map(Param::name);
        Self::new(name, Named { function, declared: params, names, marker: PhantomData })
    }

    /// Says what the operation does, for people and models.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description.text = Some(text.into());
        self
    }

    /// A name for people: `List tables`.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.description.title = Some(title.into());
        self
    }

    /// Says what the params are: those that `T` is read from, by name.
    #[must_use]
    pub fn input<T: JsonSchema>(self) -> Self {
        self.input_schema(Schema::of_input::<T>())
    }

    /// Says what the params are, by name.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<Schema>) -> Self {
        self.description.input = Some(schema.into());
        self
    }

    /// Says what the result is: what `T` is written as.
    #[must_use]
    pub fn output<T: JsonSchema>(self) -> Self {
        self.output_schema(Schema::of_output::<T>())
    }

    /// Says what the result is.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<Schema>) -> Self {
        self.description.output = Some(schema.into());
        self
    }

    /// Says that the operation changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.effect(Effect::Reads)
    }

    /// Says that the operation adds, and neither changes nor removes what was there.
    #[must_use]
    pub fn additive(self) -> Self {
        self.effect(Effect::Adds)
    }

    /// Says that the operation changes or removes what was there.
    #[must_use]
    pub fn destructive(self) -> Self {
        self.effect(Effect::Destroys)
    }

    /// Declares the effect of each call by its params, by name. The effect of the operation itself is the
    /// worst case: clients that list operations see it.
    ///
    /// `effect_of` sees the params before they are validated. What it does not recognise has the worst effect.
    ///
    /// ```
    /// # use serde_json::Value;
    /// # use trunkline::{Effect, Operation};
    /// # let query = || ();
    /// let query: Operation =
    ///     Operation::new("query", query).destructive().effect_of(|params| match params.get("read_only") {
    ///         None | Some(Value::Bool(true)) => Effect::Reads,
    ///         _ => Effect::Destroys,
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

    /// Says that the same call made again has no further effect.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.description.idempotent = true;
        self
    }

    /// Says that the operation reaches nothing but this service's own data: no web, no other system.
    #[must_use]
    pub fn closed_world(mut self) -> Self {
        self.description.closed_world = true;
        self
    }

    /// Offers the operation to language models, as the tool of this name.
    ///
    /// Names are 1 to 128 of the characters `A-Z a-z 0-9 _ - .`; no two tools have the same.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.description.tool = Some(name.into());
        self
    }

    /// Tells the operation from others that had its name before and look the same, where
    /// operations change: who has agreed to a call of one has not agreed to the other.
    #[must_use]
    pub fn revision(mut self, revision: impl Into<String>) -> Self {
        self.description.revision = Some(revision.into());
        self
    }

    /// Adds a value that a protocol needs to know of the operation, in place of the earlier one of its type.
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.description.extensions.insert(value);
        self
    }

    /// Says which errors the operation may answer with: all of `E`'s.
    #[must_use]
    pub fn errors<E: RpcError>(mut self) -> Self {
        self.description.errors = E::descriptions();
        self
    }

    /// Shows a call, and what comes of it.
    #[must_use]
    pub fn example(mut self, example: Example) -> Self {
        self.description.examples.push(example);
        self
    }

    /// Says that the operation is meant to be notified of. It can be called all the same.
    #[must_use]
    pub fn notification(mut self) -> Self {
        self.description.notification = true;
        self
    }

    /// How long a call may take, in the place of [`Limits::call_timeout`](crate::limits::calls::Limits::call_timeout): for an
    /// operation that takes longer than others by its nature, or has to be quicker.
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

    /// Wraps the operation, its layers so far included.
    pub fn wrap(&mut self, layer: LayerFn) {
        self.layers.push(layer);
    }

    /// Wraps the handler, inside of all layers.
    pub fn wrap_handler(&mut self, layer: LayerFn) {
        self.layers.insert(0, layer);
    }

    /// Puts the operation under `namespace.`.
    pub fn nest(&mut self, namespace: &str) {
        let name = &mut self.description.name;
        *name = format!("{namespace}.{name}");
    }

    /// The same operation with its state given.
    pub fn bind<S2>(self, state: S) -> Operation<S2>
    where
        S: Send + 'static,
    {
        let make = Box::new(Bound { make: self.make, state });
        Operation {
            description: self.description,
            make,
            immediate: self.immediate,
            timeout: self.timeout,
            layers: self.layers,
            place: self.place,
        }
    }

    /// Whether a call of it has ended when its service returns. Layers may wait.
    pub(crate) fn is_immediate(&self) -> bool {
        self.immediate && self.layers.is_empty()
    }
}

impl Operation {
    /// The operation as it is called. One that may go counts where the last one of its name has ended.
    pub(crate) fn register(self, is_fixed: bool, extensions: Extensions) -> Registered {
        let is_immediate = self.is_immediate();
        let endpoint = self.make.make(());
        let endpoint = self.layers.iter().fold(endpoint, |endpoint, layer| layer(endpoint));
        let Self { description, timeout, place, .. } = self;
        Registered { description, endpoint, is_immediate, is_fixed, timeout, extensions, place }
    }
}

impl<S> fmt::Debug for Operation<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Operation").field(&self.description).finish()
    }
}

//! Functions whose arguments are params, declared by a list of names.

use serde::de::value::Error as Absent;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::{RawValue, to_raw_value};

use super::binder::{Argument, Binder};
use super::error::ParamsError;

/// The declaration of one argument of a `function`.
///
/// A string literal declares a param of that name without a default.
#[derive(Debug, Clone)]
pub struct Param {
    name: &'static str,
    default: Option<Box<RawValue>>,
    variadic: bool,
}

/// Declares a param.
///
/// ```
/// # use trunkline::{Router, param};
/// # fn main() -> Result<(), trunkline::BuildError> {
/// let rpc = Router::new()
///     .function("scale", [param("x"), param("by").default(2.0)], |x: f64, by: f64| x * by)
///     .function("sum", [param("numbers").variadic()], |numbers: Vec<i64>| numbers.iter().sum::<i64>())
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn param(name: &'static str) -> Param {
    Param { name, default: None, variadic: false }
}

impl Param {
    /// Sets the default of a missing param.
    ///
    /// # Panics
    /// When `value` does not serialise to JSON.
    #[must_use]
    pub fn default(mut self, value: impl serde::Serialize) -> Self {
        self.default =
            Some(to_raw_value(&value).expect("the default of a param serialises to JSON"));
        self
    }

    /// Makes the param take all remaining positions. Only the last param can be variadic.
    #[must_use]
    pub fn variadic(mut self) -> Self {
        self.variadic = true;
        self
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it takes all remaining positions.
    pub fn is_variadic(&self) -> bool {
        self.variadic
    }
}

impl From<&'static str> for Param {
    fn from(name: &'static str) -> Self {
        param(name)
    }
}

/// A function of `N` arguments, each of which serde can deserialize.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function of {N} arguments that serde can read",
    note = "declare one name for each argument; give each argument a type, and return `Result`, `Json` or a plain value"
)]
pub trait Function<A, R, const N: usize>: Send + Sync + 'static {
    /// Calls the function.
    fn apply(&self, arguments: A) -> R;
}

/// The arguments of a function: a tuple, bound by the declared names.
pub trait Arguments: Sized {
    /// Deserializes the arguments.
    ///
    /// # Errors
    /// The first invalid param.
    fn bind(
        params: Option<&[u8]>,
        names: &[&'static str],
        declared: &[Param],
    ) -> Result<Self, ParamsError>;
}

macro_rules! functions {
    ($count:literal: $($index:literal $type:ident $value:ident),*) => {
        impl<F, R, $($type,)*> Function<($($type,)*), R, $count> for F
        where
            F: Fn($($type),*) -> R + Send + Sync + 'static,
        {
            fn apply(&self, ($($value,)*): ($($type,)*)) -> R {
                self($($value),*)
            }
        }

        impl<$($type: DeserializeOwned),*> Arguments for ($($type,)*) {
            fn bind(
                params: Option<&[u8]>,
                names: &[&'static str],
                declared: &[Param],
            ) -> Result<Self, ParamsError> {
                let variadic = declared.last().is_some_and(|last| last.variadic);
                let mut binder = Binder::new(params, names, variadic);
                $(let mut $value: Option<$type> = None;)*
                while let Some((index, argument)) = binder.next()? {
                    match index {
                        $($index => $value = Some(argument.read(names[$index])?),)*
                        _ => {}
                    }
                }
                Ok(($(match $value {
                    Some(value) => value,
                    None => absent(&declared[$index])?,
                },)*))
            }
        }
    };
}

impl<F, R> Function<(), R, 0> for F
where
    F: Fn() -> R + Send + Sync + 'static,
{
    fn apply(&self, (): ()) -> R {
        self()
    }
}

impl Arguments for () {
    fn bind(
        params: Option<&[u8]>,
        _names: &[&'static str],
        _declared: &[Param],
    ) -> Result<Self, ParamsError> {
        super::refuse_any(params)
    }
}

functions!(1: 0 A a);
functions!(2: 0 A a, 1 B b);
functions!(3: 0 A a, 1 B b, 2 C c);
functions!(4: 0 A a, 1 B b, 2 C c, 3 D d);
functions!(5: 0 A a, 1 B b, 2 C c, 3 D d, 4 E e);
functions!(6: 0 A a, 1 B b, 2 C c, 3 D d, 4 E e, 5 G g);
functions!(7: 0 A a, 1 B b, 2 C c, 3 D d, 4 E e, 5 G g, 6 H h);
functions!(8: 0 A a, 1 B b, 2 C c, 3 D d, 4 E e, 5 G g, 6 H h, 7 I i);

/// The value of a missing param: its default, `None` for an `Option`, or an error.
fn absent<T: DeserializeOwned>(param: &Param) -> Result<T, ParamsError> {
    if let Some(default) = &param.default {
        return Argument::One(default.get().as_bytes()).read(param.name);
    }
    if param.variadic {
        return Argument::empty_rest().read(param.name);
    }
    T::deserialize(Nothing).map_err(|_| ParamsError::Missing { param: param.name.to_owned() })
}

/// Whether a param of this type may be missing, such as an `Option`.
pub fn may_be_absent<T: DeserializeOwned>() -> bool {
    T::deserialize(Nothing).is_ok()
}

/// Deserializes as `None` only.
struct Nothing;

impl<'de> serde::Deserializer<'de> for Nothing {
    type Error = Absent;

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Absent> {
        visitor.visit_none()
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Absent> {
        Err(Absent::custom("absent"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

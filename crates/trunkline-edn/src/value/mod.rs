//! Values of EDN.

mod decimal;
mod inst;
mod integer;
mod keyed_vec;
mod map;
mod names;
mod ratio;
mod sequence;
mod set;
mod uuid;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::mem;

use crate::location::Step;

pub use decimal::Decimal;
pub use inst::Inst;
pub use integer::Integer;
pub use map::Map;
pub use names::{Keyword, Symbol};
pub(crate) use ratio::MAX_DIGITS;
pub use ratio::Ratio;
pub use sequence::{List, Vector};
pub use set::Set;
pub use uuid::Uuid;

/// A form of EDN.
///
/// Equality is that of Clojure: `(1)` equals `[1]`, the order of maps and sets does not matter, and `1` does not
/// equal `1.0`. `##NaN` equals itself.
///
/// Cloning, comparing, hashing, formatting and dropping a value recurse, as they do for `serde_json::Value`. The
/// readers limit the depth ([`Limits::depth`](crate::Limits::depth), [`FromJson::depth`](crate::json::FromJson::depth));
/// values that Rust code nests deeper, or reads with a larger limit, may overflow the stack.
#[derive(Clone, Default)]
pub enum Value {
    /// `nil`
    #[default]
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// `42`, `7N`, `0x1F`
    Integer(Integer),
    /// `1.0`, `##Inf`
    Float(f64),
    /// `1.50M`
    Decimal(Decimal),
    /// `1/3`
    Ratio(Ratio),
    /// `\a`, `\newline`. Characters over 16 bits, which EDN does not have, are written as strings.
    Char(char),
    /// `"text"`
    String(String),
    /// `name`, `namespace/name`
    Symbol(Symbol),
    /// `:name`, `:namespace/name`
    Keyword(Keyword),
    /// `#inst "2024-02-29T23:59:00Z"`
    Inst(Inst),
    /// `#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`
    Uuid(Uuid),
    /// `(1 2)`
    List(List),
    /// `[1 2]`
    Vector(Vector),
    /// `{:a 1}`
    Map(Map),
    /// `#{1 2}`
    Set(Set),
    /// `#my/tag 1`
    Tagged(Tagged),
}

macro_rules! accessors {
    ($($(#[$doc:meta])* $name:ident -> $type:ty, $variant:ident($inner:ident) => $some:expr;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(&self) -> Option<$type> {
            match self {
                Self::$variant($inner) => $some,
                _ => None,
            }
        }
    )*};
}

impl Value {
    /// The value in a map for a name, as a keyword or else as a string.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Map(map) = self else { return None };
        let keyword = Keyword::new(name).ok().map(Self::Keyword);
        let found = keyword.and_then(|keyword| map.get(&keyword));
        found.or_else(|| map.get(&Self::from(name)))
    }

    /// [`get`](Self::get), mutable.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        let Self::Map(map) = self else { return None };
        let keyword = Keyword::new(name).ok().map(Self::Keyword);
        let keyword = keyword.filter(|keyword| map.contains_key(keyword));
        map.get_mut(&keyword.unwrap_or_else(|| name.into()))
    }

    accessors! {
        /// The boolean.
        as_bool -> bool, Bool(bool) => Some(*bool);
        /// The text of a string.
        as_str -> &str, String(text) => Some(text);
        /// The integer, if 64 bits hold it.
        as_i64 -> i64, Integer(integer) => integer.as_i64();
        /// The keyword.
        as_keyword -> &Keyword, Keyword(keyword) => Some(keyword);
        /// The symbol.
        as_symbol -> &Symbol, Symbol(symbol) => Some(symbol);
        /// The map.
        as_map -> &Map, Map(map) => Some(map);
        /// The set.
        as_set -> &Set, Set(set) => Some(set);
    }

    /// The nearest floating-point number of any number. It may be infinite.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Integer(integer) => Some(integer.to_f64()),
            Self::Float(float) => Some(*float),
            Self::Decimal(decimal) => Some(decimal.to_f64()),
            Self::Ratio(ratio) => Some(ratio.to_f64()),
            _ => None,
        }
    }

    /// The values of a list or a vector.
    #[must_use]
    pub fn as_sequence(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(list),
            Self::Vector(vector) => Some(vector),
            _ => None,
        }
    }

    /// Whether the value is `nil`.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    /// The name of the type, for errors: `keyword`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "boolean",
            Self::Integer(_) => "integer",
            Self::Float(_) => "float",
            Self::Decimal(_) => "decimal",
            Self::Ratio(_) => "ratio",
            Self::Char(_) => "character",
            Self::String(_) => "string",
            Self::Symbol(_) => "symbol",
            Self::Keyword(_) => "keyword",
            Self::Inst(_) => "inst",
            Self::Uuid(_) => "uuid",
            Self::List(_) => "list",
            Self::Vector(_) => "vector",
            Self::Map(_) => "map",
            Self::Set(_) => "set",
            Self::Tagged(_) => "tagged value",
        }
    }

    /// The text of a scalar that can be the key of a JSON object.
    pub(crate) fn key_text(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::String(text) => text.into(),
            Self::Keyword(keyword) => keyword.as_str().into(),
            Self::Symbol(symbol) => symbol.as_str().into(),
            Self::Integer(integer) => integer.to_string().into(),
            Self::Bool(bool) => bool.to_string().into(),
            Self::Char(c) => c.to_string().into(),
            Self::Inst(inst) => inst.to_string().into(),
            Self::Uuid(uuid) => uuid.to_string().into(),
            _ => return None,
        })
    }

    /// Converts a name to a key: a keyword if every EDN reader accepts it, else a string.
    pub(crate) fn from_name(name: &str) -> Self {
        Keyword::plain(name).map_or_else(|| name.into(), Self::Keyword)
    }

    /// The step to the value of this key.
    pub(crate) fn key_step(&self) -> Step {
        Step::key(&self.key_text().unwrap_or_else(|| self.to_string().into()))
    }

    /// Whether the value contains other values.
    pub(crate) fn is_collection(&self) -> bool {
        matches!(
            self,
            Self::List(_) | Self::Vector(_) | Self::Map(_) | Self::Set(_) | Self::Tagged(_)
        )
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Float(a), Self::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Decimal(a), Self::Decimal(b)) => a == b,
            (Self::Ratio(a), Self::Ratio(b)) => a == b,
            (Self::Char(a), Self::Char(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Symbol(a), Self::Symbol(b)) => a == b,
            (Self::Keyword(a), Self::Keyword(b)) => a == b,
            (Self::Inst(a), Self::Inst(b)) => a == b,
            (Self::Uuid(a), Self::Uuid(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Set(a), Self::Set(b)) => a == b,
            (Self::Tagged(a), Self::Tagged(b)) => a == b,
            (a, b) => match (a.as_sequence(), b.as_sequence()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }
}

impl Eq for Value {}

/// Consistent with equality: lists equal vectors, both zeros are equal, and all NaN are equal.
impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let kind = match self {
            Self::List(_) => &Self::Vector(Vector::new()),
            other => other,
        };
        mem::discriminant(kind).hash(state);
        match self {
            Self::Nil => {}
            Self::Float(float) if float.is_nan() => f64::NAN.to_bits().hash(state),
            // The sum of both zeros is the positive one.
            Self::Float(float) => (float + 0.0).to_bits().hash(state),
            Self::List(list) => list.hash(state),
            Self::Vector(vector) => vector.hash(state),
            Self::Bool(value) => value.hash(state),
            Self::Integer(value) => value.hash(state),
            Self::Decimal(value) => value.hash(state),
            Self::Ratio(value) => value.hash(state),
            Self::Char(value) => value.hash(state),
            Self::String(value) => value.hash(state),
            Self::Symbol(value) => value.hash(state),
            Self::Keyword(value) => value.hash(state),
            Self::Inst(value) => value.hash(state),
            Self::Uuid(value) => value.hash(state),
            Self::Map(value) => value.hash(state),
            Self::Set(value) => value.hash(state),
            Self::Tagged(value) => value.hash(state),
        }
    }
}

/// A value with a tag that is unknown to the reader: `#my/point [1 2]`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Tagged(Box<(Symbol, Value)>);

impl Tagged {
    /// `#tag value`.
    #[must_use]
    pub fn new(tag: Symbol, value: impl Into<Value>) -> Self {
        Self(Box::new((tag, value.into())))
    }

    /// The tag.
    #[must_use]
    pub fn tag(&self) -> &Symbol {
        &self.0.0
    }

    /// The tagged value.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0.1
    }

    /// The tagged value.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.0.1
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Cow<'_, str>> for Value {
    fn from(text: Cow<'_, str>) -> Self {
        Self::String(text.into_owned())
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Nil
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nil, Into::into)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::Vector(values.into())
    }
}

impl<T: Into<Self>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Self {
        Self::Vector(values.into())
    }
}

impl<K: Into<Self>, V: Into<Self>, S> From<HashMap<K, V, S>> for Value {
    fn from(entries: HashMap<K, V, S>) -> Self {
        Self::Map(entries.into_iter().collect())
    }
}

impl<K: Into<Self>, V: Into<Self>> From<BTreeMap<K, V>> for Value {
    fn from(entries: BTreeMap<K, V>) -> Self {
        Self::Map(entries.into_iter().collect())
    }
}

impl<T: Into<Self>, S> From<HashSet<T, S>> for Value {
    fn from(values: HashSet<T, S>) -> Self {
        Self::Set(values.into_iter().collect())
    }
}

impl<T: Into<Self>> From<BTreeSet<T>> for Value {
    fn from(values: BTreeSet<T>) -> Self {
        Self::Set(values.into_iter().collect())
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),* $(,)?) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from! {
    bool => Bool, char => Char, String => String, f32 => Float, f64 => Float,
    i8 => Integer, i16 => Integer, i32 => Integer, i64 => Integer, i128 => Integer, isize => Integer,
    u8 => Integer, u16 => Integer, u32 => Integer, u64 => Integer, u128 => Integer, usize => Integer,
    Integer => Integer, Decimal => Decimal, Ratio => Ratio, Symbol => Symbol, Keyword => Keyword,
    Inst => Inst, Uuid => Uuid, List => List, Vector => Vector, Map => Map, Set => Set,
    Tagged => Tagged,
}

//! [`edn!`](crate::edn): EDN in Rust code.

use std::str::FromStr;

use crate::error::Error;
use crate::value::{Inst, Keyword, List, Map, Set, Symbol, Tagged, Uuid, Value, Vector};

/// Creates a [`Value`](crate::Value) from EDN notation.
///
/// ```
/// use trunkline_edn::edn;
///
/// let (features, limit) = (vec!["search", "export"], Some(10));
/// let config = edn!({
///     :enabled? true, :app/name "trunkline", :log-level :info,
///     :since #inst "2024", :rates [1, -2.5 nil], :roles #{:admin 'guest},
///     :features ~features, :limit ~(limit.map(|limit| limit * 2)),
/// });
/// assert_eq!(config.get("log-level"), Some(&edn!(:info)));
/// assert_eq!(config.get("features"), Some(&edn!(["search" "export"])));
/// assert_eq!(config.get("limit"), Some(&edn!(20)));
/// ```
///
/// Some notation differs from EDN, because Rust splits the code into tokens:
///
/// | | |
/// |---|---|
/// | variable, expression | `~name`, `~(expression)`, of a type that is `Into<Value>` |
/// | character | as in Rust, `'a'` |
/// | string, number | as in Rust, without a suffix; use `~` for other numbers, such as `1.50M` and `##Inf` |
/// | symbol | after a quote, `'name` |
/// | keyword, symbol, tag | Rust identifiers, joined by `-`, `->`, `.` or `/`, with `?` or `!` at the end; other keywords in quotes, `:"a*b"` |
/// | negative number | after a comma if it follows a keyword or a symbol: to Rust, `:a -1` equals `:a-1` |
///
/// `#_`, metadata and namespaced maps are not supported. Invalid notation does not compile. A map of over 30 entries
/// may require a higher
/// [`recursion_limit`](https://doc.rust-lang.org/reference/attributes/limits.html).
///
/// # Panics
/// A map has a duplicate key, a set a duplicate value, or a text in quotes is not a valid keyword, inst or UUID:
///
/// ```should_panic
/// // "2024-13" is not an instant
/// trunkline_edn::edn!(#inst "2024-13");
/// ```
#[macro_export(local_inner_macros)]
macro_rules! edn {
    ($($form:tt)*) => { __edn!(@forms value [] [] $($form)*) };
}

/// Reads forms from the left: `@forms collection [previous forms] [tags of the next form] forms`; and names of several
/// tokens: `@name type [previous tokens]`, then the same.
#[doc(hidden)]
#[macro_export(local_inner_macros)]
macro_rules! __edn {
    // The end of the forms.
    (@forms $of:ident [$($parts:tt)*] [$($tag:tt)+]) => {
        ::core::compile_error!("expected a form after the tag")
    };
    (@forms value [$value:expr,] []) => { $value };
    (@forms value [] []) => { ::core::compile_error!("expected a form") };
    (@forms value [$($parts:tt)*] []) => {
        ::core::compile_error!("expected one form")
    };
    (@forms map [$($key:expr, $value:expr,)*] []) => {
        $crate::edn_macro::map(::std::vec![$(($key, $value)),*])
    };
    (@forms map [$($parts:tt)*] []) => {
        ::core::compile_error!("the last key of the map has no value")
    };
    (@forms $of:ident [$($part:expr,)*] []) => {
        $crate::edn_macro::$of(::std::vec![$($part),*])
    };

    // A comma, in one step with the keyword after it: each step counts for the recursion limit.
    (@forms $of:ident [$($parts:tt)*] [] , : $word:ident $($rest:tt)*) => {
        __edn!(@name keyword [::core::stringify!($word)]
            $of [$($parts)*] [] $($rest)*)
    };
    (@forms $of:ident $parts:tt $tags:tt , $($rest:tt)*) => {
        __edn!(@forms $of $parts $tags $($rest)*)
    };

    // Scalars.
    (@forms $of:ident [$($parts:tt)*] $tags:tt nil $($rest:tt)*) => {
        __edn!(@forms $of
            [$($parts)* __edn!(@tagged $tags $crate::Value::Nil),] [] $($rest)*)
    };
    (@forms $of:ident $parts:tt $tags:tt - $word:ident $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "`-", ::core::stringify!($word), "` is not a number"
        ))
    };
    (@forms $of:ident [$($parts:tt)*] $tags:tt $literal:literal $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags {
            const _: () = $crate::edn_macro::check_literal(::core::stringify!($literal));
            $crate::edn_macro::literal($literal)
        }),] [] $($rest)*)
    };
    (@forms $of:ident [$($parts:tt)*] $tags:tt ~ $name:ident $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            ::core::convert::Into::<$crate::Value>::into($name)),] [] $($rest)*)
    };
    (@forms $of:ident [$($parts:tt)*] $tags:tt ~ ($value:expr) $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            ::core::convert::Into::<$crate::Value>::into($value)),] [] $($rest)*)
    };
    (@forms $of:ident $parts:tt $tags:tt : $word:ident $($rest:tt)*) => {
        __edn!(@name keyword [::core::stringify!($word)] $of $parts $tags $($rest)*)
    };
    (@forms $of:ident [$($parts:tt)*] $tags:tt : $text:literal $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            $crate::edn_macro::keyword($text)),] [] $($rest)*)
    };
    (@forms $of:ident $parts:tt $tags:tt $word:lifetime $($rest:tt)*) => {
        __edn!(@name symbol [::core::stringify!($word)] $of $parts $tags $($rest)*)
    };

    // Collections.
    (@forms $of:ident [$($parts:tt)*] $tags:tt ($($form:tt)*) $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            __edn!(@forms list [] [] $($form)*)),] [] $($rest)*)
    };
    (@forms $of:ident [$($parts:tt)*] $tags:tt [$($form:tt)*] $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            __edn!(@forms vector [] [] $($form)*)),] [] $($rest)*)
    };
    (@forms $of:ident [$($parts:tt)*] $tags:tt {$($form:tt)*} $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            __edn!(@forms map [] [] $($form)*)),] [] $($rest)*)
    };
    (@forms $of:ident [$($parts:tt)*] $tags:tt # {$($form:tt)*} $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            __edn!(@forms set [] [] $($form)*)),] [] $($rest)*)
    };

    // Other forms that begin with `#`.
    (@forms $of:ident [$($parts:tt)*] $tags:tt # inst $text:literal $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            $crate::edn_macro::inst($text)),] [] $($rest)*)
    };
    (@forms $of:ident [$($parts:tt)*] $tags:tt # uuid $text:literal $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            $crate::edn_macro::uuid($text)),] [] $($rest)*)
    };
    (@forms $of:ident $parts:tt $tags:tt # $word:ident $($rest:tt)*) => {
        __edn!(@name tag [::core::stringify!($word)] $of $parts $tags $($rest)*)
    };

    // Errors.
    (@forms $of:ident $parts:tt $tags:tt $word:ident $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "unexpected `", ::core::stringify!($word), "`; write `~", ::core::stringify!($word),
            "` for a variable, or `'", ::core::stringify!($word), "` for a symbol"
        ))
    };
    (@forms $of:ident $parts:tt $tags:tt $other:tt $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "unexpected `", ::core::stringify!($other), "`"
        ))
    };

    // The next token of a name.
    (@name $what:ident [$($name:tt)*] $of:ident $parts:tt $tags:tt - $word:ident $($rest:tt)*) => {
        __edn!(@name $what [$($name)*, "-", ::core::stringify!($word)]
            $of $parts $tags $($rest)*)
    };
    (@name $what:ident [$($name:tt)*] $of:ident $parts:tt $tags:tt -> $word:ident $($rest:tt)*) => {
        __edn!(@name $what [$($name)*, "->", ::core::stringify!($word)]
            $of $parts $tags $($rest)*)
    };
    (@name $what:ident [$($name:tt)*] $of:ident $parts:tt $tags:tt . $word:ident $($rest:tt)*) => {
        __edn!(@name $what [$($name)*, ".", ::core::stringify!($word)]
            $of $parts $tags $($rest)*)
    };
    (@name $what:ident [$($name:tt)*] $of:ident $parts:tt $tags:tt / $word:ident $($rest:tt)*) => {
        __edn!(@name $what [$($name)*, "/", ::core::stringify!($word)]
            $of $parts $tags $($rest)*)
    };
    (@name $what:ident $name:tt $of:ident $parts:tt $tags:tt - $number:literal $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "write a comma before the number `-", ::core::stringify!($number),
            "`, or quotes around a name that ends with it, as in `:\"a-1\"`"
        ))
    };
    // The end of a keyword, in one step with a literal and the next keyword, as in a map.
    (@name keyword [$($name:tt)*] $of:ident [$($parts:tt)*] $tags:tt
        $literal:literal , : $word:ident $($rest:tt)*) => {
        __edn!(@name keyword [::core::stringify!($word)] $of [
            $($parts)*
            __edn!(@tagged $tags
                $crate::edn_macro::keyword(::core::concat!($($name)*))),
            __edn!(@forms value [] [] $literal),
        ] [] $($rest)*)
    };
    // The end of a name.
    (@name $what:ident [$($name:tt)*] $of:ident $parts:tt $tags:tt ? $($rest:tt)*) => {
        __edn!(@named $what [$($name)*, "?"] $of $parts $tags $($rest)*)
    };
    (@name $what:ident [$($name:tt)*] $of:ident $parts:tt $tags:tt ! $($rest:tt)*) => {
        __edn!(@named $what [$($name)*, "!"] $of $parts $tags $($rest)*)
    };
    (@name tag [$($name:tt)*] $of:ident $parts:tt [$($tag:tt)*] $($rest:tt)*) => {
        __edn!(@forms $of $parts [$($tag)* ::core::concat!($($name)*),] $($rest)*)
    };
    (@name $what:ident [$($name:tt)*] $of:ident [$($parts:tt)*] $tags:tt $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            $crate::edn_macro::$what(::core::concat!($($name)*))),] [] $($rest)*)
    };
    (@named tag [$($name:tt)*] $of:ident $parts:tt [$($tag:tt)*] $($rest:tt)*) => {
        __edn!(@forms $of $parts [$($tag)* ::core::concat!($($name)*),] $($rest)*)
    };
    (@named $what:ident [$($name:tt)*] $of:ident [$($parts:tt)*] $tags:tt $($rest:tt)*) => {
        __edn!(@forms $of [$($parts)* __edn!(@tagged $tags
            $crate::edn_macro::$what(::core::concat!($($name)*))),] [] $($rest)*)
    };

    (@tagged [] $value:expr) => { $value };
    (@tagged [$($tag:expr,)*] $value:expr) => {
        $crate::edn_macro::tagged(&[$($tag),*], $value)
    };
}

/// The type of a literal in `edn!`: one for each kind, so that Rust infers it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a literal of `edn!`",
    note = "write numbers without a suffix, and other values after `~`"
)]
pub trait Literal: Into<Value> {}

impl Literal for i128 {}
impl Literal for f64 {}
impl Literal for bool {}
impl Literal for char {}
impl Literal for &str {}

pub fn literal(literal: impl Literal) -> Value {
    literal.into()
}

/// Panics at compile time for a literal that is a different number in EDN.
///
/// ```compile_fail,E0080
/// trunkline_edn::edn!([017]);
/// ```
pub const fn check_literal(text: &str) {
    if let [b'0', b'0'..=b'9', ..] | [b'-', b'0', b'0'..=b'9', ..] = text.as_bytes() {
        panic!("a number that begins with a zero is octal in EDN, but decimal in Rust");
    }
}

#[track_caller]
pub fn keyword(text: &str) -> Value {
    Value::Keyword(valid(Keyword::new(text)))
}

/// The symbol of a text that starts with a quote.
#[track_caller]
pub fn symbol(quoted: &str) -> Value {
    Value::Symbol(valid(Symbol::new(quoted.trim_start_matches('\''))))
}

#[track_caller]
pub fn inst(text: &str) -> Value {
    Value::Inst(valid(Inst::from_str(text)))
}

#[track_caller]
pub fn uuid(text: &str) -> Value {
    Value::Uuid(valid(Uuid::from_str(text)))
}

/// A value with tags, from the outermost.
#[track_caller]
pub fn tagged(tags: &[&str], value: Value) -> Value {
    let tag = |value, tag: &&str| Value::Tagged(Tagged::new(valid(Symbol::new(tag)), value));
    tags.iter().rev().fold(value, tag)
}

pub fn list(parts: Vec<Value>) -> Value {
    Value::List(List::from(parts))
}

pub fn vector(parts: Vec<Value>) -> Value {
    Value::Vector(Vector::from(parts))
}

#[track_caller]
pub fn set(parts: Vec<Value>) -> Value {
    Value::Set(valid(Set::of_values(parts)))
}

#[track_caller]
pub fn map(entries: Vec<(Value, Value)>) -> Value {
    Value::Map(valid(Map::of_entries(entries)))
}

/// Panics for invalid input, as `edn!` documents.
#[track_caller]
fn valid<T>(result: Result<T, Error>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("edn!: {}", error.reason()),
    }
}

//! Binding of params, by position or by name, to their declaration.

use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use super::error::{MAX_UNKNOWN, ParamsError, unknown_name};
use super::integer::Integer;
use crate::envelope::{Elements, Members};

/// Iterates over the params of a call and finds the declaration of each.
pub(crate) struct Binder<'de, 'n> {
    names: &'n [&'static str],
    /// Whether the last declared param takes all remaining positions.
    variadic: bool,
    source: Source<'de>,
    /// A bit for each of the first 64 params that were seen. serde detects later duplicates.
    seen: u64,
}

enum Source<'de> {
    Absent,
    Positions {
        elements: Elements<'de>,
        next: usize,
    },
    /// `next` is the index after the declaration of the last member.
    Names {
        text: &'de [u8],
        members: Members<'de>,
        next: usize,
    },
}

/// The argument for one declared param.
pub(crate) enum Argument<'de> {
    One(&'de [u8]),
    /// The remaining positions.
    Rest {
        first: Option<&'de [u8]>,
        rest: Elements<'de>,
    },
}

impl<'de, 'n> Binder<'de, 'n> {
    pub(crate) fn new(
        params: Option<&'de [u8]>,
        names: &'n [&'static str],
        variadic: bool,
    ) -> Self {
        let source = match params {
            None => Source::Absent,
            Some(text) if text.first() == Some(&b'[') => {
                Source::Positions { elements: Elements::new(text), next: 0 }
            }
            Some(text) => Source::Names { text, members: Members::new(text), next: 0 },
        };
        Self { names, variadic, source, seen: 0 }
    }

    /// The next argument and the index of its declaration.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(usize, Argument<'de>)>, ParamsError> {
        // Most clients send params by name and in the declared order.
        if let Source::Names { members, next, .. } = &mut self.source
            && let Some(name) = self.names.get(*next)
            && let Some(value) = members.next_value_of(name)
        {
            let index = *next;
            *next += 1;
            return self.once(index, value);
        }
        self.next_of_any()
    }

    #[inline(never)]
    fn next_of_any(&mut self) -> Result<Option<(usize, Argument<'de>)>, ParamsError> {
        match &mut self.source {
            Source::Absent => Ok(None),
            Source::Positions { elements, next } => {
                let index = *next;
                *next += 1;
                let Some(first) = elements.next_value() else {
                    return Ok(None);
                };
                if self.variadic && index + 1 == self.names.len() {
                    let done = Source::Absent;
                    let Source::Positions { elements: rest, .. } =
                        std::mem::replace(&mut self.source, done)
                    else {
                        return Ok(None);
                    };
                    return Ok(Some((index, Argument::Rest { first: Some(first), rest })));
                }
                if index >= self.names.len() {
                    let given = index + 1 + elements.count();
                    return Err(ParamsError::TooMany { given, declared: self.names.to_vec() });
                }
                Ok(Some((index, Argument::One(first))))
            }
            Source::Names { text, members, next } => {
                let Some((name, value)) = members.next_member() else {
                    return Ok(None);
                };
                let Some(index) = self.names.iter().position(|declared| name.is(text, declared))
                else {
                    let params = unknown(text, self.names);
                    return Err(ParamsError::Unknown { params, declared: self.names.to_vec() });
                };
                *next = index + 1;
                self.once(index, value)
            }
        }
    }

    /// Returns the argument, or an error for a duplicate.
    #[inline]
    fn once(
        &mut self,
        index: usize,
        value: &'de [u8],
    ) -> Result<Option<(usize, Argument<'de>)>, ParamsError> {
        let bit = 1_u64.checked_shl(index as u32).unwrap_or(0);
        if self.seen & bit != 0 {
            return Err(ParamsError::Duplicate { param: self.names[index] });
        }
        self.seen |= bit;
        Ok(Some((index, Argument::One(value))))
    }
}

/// The first names that are not declared, so that the error lists several misspelled ones.
fn unknown(text: &[u8], declared: &[&'static str]) -> Vec<String> {
    let mut members = Members::new(text);
    std::iter::from_fn(|| members.next_member())
        .filter(|(name, _)| !declared.iter().any(|declared| name.is(text, declared)))
        .take(MAX_UNKNOWN)
        .map(|(name, _)| unknown_name(&name.unescape(text)))
        .collect()
}

impl<'de> Argument<'de> {
    /// An empty argument for a variadic param.
    pub(crate) fn empty_rest() -> Self {
        Self::Rest { first: None, rest: Elements::new(b"[]") }
    }

    /// Reads the argument as `T`; `param` is its name.
    pub(crate) fn read<T: Deserialize<'de>>(self, param: &str) -> Result<T, ParamsError> {
        self.seed(std::marker::PhantomData, param)
    }

    pub(crate) fn seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
        param: &str,
    ) -> Result<T::Value, ParamsError> {
        match self {
            Self::One(text) => deserialize(seed, text),
            Self::Rest { first, rest } => seed.deserialize(Rest { first, rest }),
        }
        .map_err(|error| ParamsError::invalid(param, &error))
    }
}

/// Deserialises a value whose text was validated.
fn deserialize<'de, T: DeserializeSeed<'de>>(
    seed: T,
    text: &'de [u8],
) -> Result<T::Value, serde_json::Error> {
    match Integer::of(text) {
        Some(integer) => seed.deserialize(integer),
        None => seed.deserialize(&mut serde_json::Deserializer::from_slice(text)),
    }
}

/// The remaining positions as a sequence.
struct Rest<'de> {
    first: Option<&'de [u8]>,
    rest: Elements<'de>,
}

impl<'de> SeqAccess<'de> for Rest<'de> {
    type Error = serde_json::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Self::Error> {
        let Some(text) = self.first.take().or_else(|| self.rest.next_value()) else {
            return Ok(None);
        };
        deserialize(seed, text).map(Some)
    }
}

/// Deserializes sequences, also through newtypes and `Option`.
impl<'de> serde::Deserializer<'de> for Rest<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Self::Error> {
        let value = visitor.visit_seq(&mut self)?;
        // A tuple stops reading when it is full.
        match usize::from(self.first.is_some()) + self.rest.count() {
            0 => Ok(value),
            1 => Err(Self::Error::custom("1 value too many")),
            left => Err(Self::Error::custom(format_args!("{left} values too many"))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

//! Binding of params, by position or by name, to their declaration.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::error::ParamsError;
use super::integer::Integer;
use crate::envelope::{Elements, Members};

/// Iterates over the params of a call and finds the declaration of each.
pub(crate) struct Binder<'de> {
    names: &'static [&'static str],
    source: Source<'de>,
    /// Whether the last declared param takes all remaining positions. False once it has a value.
    variadic: bool,
    /// A bit for each of the first 64 params that were seen. serde detects later duplicates.
    seen: u64,
    /// The name and value of the current entry.
    current: Option<(&'static str, Argument<'de>)>,
}

/// `next` is the index of the next declaration; of names, that after the last member's.
enum Source<'de> {
    Positions { elements: Elements<'de>, next: usize },
    Names { text: &'de [u8], members: Members<'de>, next: usize },
}

/// The argument for one declared param.
pub(crate) enum Argument<'de> {
    One(&'de [u8]),
    /// The remaining positions.
    Rest(Elements<'de>),
}

impl<'de> Binder<'de> {
    pub(crate) fn new(
        params: Option<&'de [u8]>,
        names: &'static [&'static str],
        variadic: bool,
    ) -> Self {
        let source = match params.unwrap_or(b"[]") {
            text if text.first() == Some(&b'[') => {
                Source::Positions { elements: Elements::new(text), next: 0 }
            }
            text => Source::Names { text, members: Members::new(text), next: 0 },
        };
        Self { names, source, variadic: variadic && !names.is_empty(), seen: 0, current: None }
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
        let last = self.names.len().saturating_sub(1);
        match &mut self.source {
            Source::Positions { elements, next } => {
                let index = *next;
                *next += 1;
                if self.variadic && index == last {
                    return Ok(Some((index, self.rest())));
                }
                if let Some(value) = elements.next_value() {
                    if index >= self.names.len() {
                        let given = index + 1 + elements.count();
                        return Err(ParamsError::TooMany { given, declared: self.names.to_vec() });
                    }
                    return Ok(Some((index, Argument::One(value))));
                }
            }
            Source::Names { text, members, next } => {
                if let Some((name, value)) = members.next_member() {
                    let is_name = |declared: &&str| name.is(text, declared);
                    let Some(index) = self.names.iter().position(is_name) else {
                        return Err(unknown(text, self.names));
                    };
                    *next = index + 1;
                    return self.once(index, value);
                }
            }
        }
        // Without a value, a variadic param is empty.
        Ok(self.variadic.then(|| (last, self.rest())))
    }

    /// The remaining positions, for the last param.
    fn rest(&mut self) -> Argument<'de> {
        self.variadic = false;
        let none = Elements::new(b"[]");
        Argument::Rest(match &mut self.source {
            Source::Positions { elements, .. } => std::mem::replace(elements, none),
            Source::Names { .. } => none,
        })
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
        self.variadic &= index + 1 < self.names.len();
        Ok(Some((index, Argument::One(value))))
    }
}

/// The arguments as the entries of a map, so that derived structs handle missing fields, defaults and options.
impl<'de> MapAccess<'de> for Binder<'de> {
    type Error = ParamsError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ParamsError> {
        let Some((index, argument)) = self.next()? else { return Ok(None) };
        let name = self.names[index];
        self.current = Some((name, argument));
        let key: StrDeserializer<'_, ParamsError> = name.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ParamsError> {
        let (name, argument) = self.current.take().expect("serde requests a value after its key");
        match argument {
            Argument::One(text) => deserialize(seed, text),
            Argument::Rest(elements) => seed.deserialize(Rest(elements)),
        }
        .map_err(|error| ParamsError::invalid(name, &error))
    }
}

/// The error of names that are not declared. It lists several misspelled ones.
fn unknown(text: &[u8], declared: &[&'static str]) -> ParamsError {
    let mut members = Members::new(text);
    let names = std::iter::from_fn(|| members.next_member())
        .filter(|(name, _)| !declared.iter().any(|declared| name.is(text, declared)))
        .map(|(name, _)| name.value(text));
    ParamsError::unknown(names, declared)
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
struct Rest<'de>(Elements<'de>);

impl<'de> SeqAccess<'de> for Rest<'de> {
    type Error = serde_json::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Self::Error> {
        self.0.next_value().map(|text| deserialize(seed, text)).transpose()
    }
}

/// Deserializes sequences, also through newtypes and `Option`.
impl<'de> serde::Deserializer<'de> for Rest<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Self::Error> {
        let value = visitor.visit_seq(&mut self)?;
        // A tuple stops reading when it is full.
        match self.0.count() {
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

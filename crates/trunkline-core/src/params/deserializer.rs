//! A serde deserializer of params, by position and by name.

use serde::de::Visitor;
use serde::forward_to_deserialize_any;

use super::binder::Binder;
use super::error::ParamsError;
use crate::envelope::Elements;

/// Deserializes the params of a call as a whole.
#[derive(Clone, Copy)]
pub(crate) struct ParamsDeserializer<'de> {
    params: Option<&'de [u8]>,
    variadic: bool,
}

impl<'de> ParamsDeserializer<'de> {
    pub(crate) fn new(params: Option<&'de [u8]>, variadic: bool) -> Self {
        Self { params, variadic }
    }

    fn json(&self) -> Json<'de> {
        serde_json::Deserializer::from_slice(self.params.unwrap_or(b"{}"))
    }

    /// An error if more than `taken` positions were sent.
    fn too_many(&self, taken: usize) -> Option<ParamsError> {
        let text = self.params.filter(|text| text.first() == Some(&b'['))?;
        let given = Elements::new(text).count();
        (given > taken).then(|| ParamsError::longer_than_tuple(given, taken))
    }
}

type Json<'de> = serde_json::Deserializer<serde_json::de::SliceRead<'de>>;

/// The fields of a struct are the declaration. Other types are deserialized as usual: a map accepts any names, a
/// tuple or a `Vec` accepts positions.
impl<'de> serde::Deserializer<'de> for ParamsDeserializer<'de> {
    type Error = ParamsError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        visitor.visit_map(Binder::new(self.params, fields, self.variadic))
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        serde::Deserializer::deserialize_any(&mut self.json(), visitor)
            .map_err(|error| ParamsError::whole(&error))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        let mut json = Json::from_slice(self.params.unwrap_or(b"[]"));
        serde::Deserializer::deserialize_any(&mut json, visitor)
            .map_err(|error| ParamsError::whole(&error))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        self.deserialize_seq(visitor).map_err(|error| self.too_many(len).unwrap_or(error))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        Binder::new(self.params, &[], false).next()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParamsError> {
        match self.params {
            None => visitor.visit_none(),
            Some(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParamsError> {
        serde::Deserializer::deserialize_enum(&mut self.json(), name, variants, visitor)
            .map_err(|error| ParamsError::whole(&error))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        map identifier ignored_any
    }
}

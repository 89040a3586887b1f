//! Members that stand twice: who reads one of them may not read the one that another reads.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Any JSON in which no object, at any depth, has two members of one name.
#[derive(Debug)]
pub(in crate::tools) struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Unique, A::Error> {
        while elements.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Unique, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format_args!("the member {name:?} stands twice")));
            }
            members.next_value::<Unique>()?;
            names.insert(name);
        }
        Ok(Unique)
    }
}

#[cfg(test)]
mod tests {
    use super::Unique;

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let error = serde_json::from_str::<Unique>(json).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expected, "{json}");
    }

    #[test]
    fn each_name_stands_once() {
        check(r#"{"a":{"a":[{"a":1},{"a":-1.5}]},"b":["a","a",null,true]}"#, None);
        check("123456789012345678901234567890", None);
        check(r#"{"a":1,"a":1}"#, Some("the member \"a\" stands twice at line 1 column 10"));
        check(
            r#"[{"b":{"a":1,"\u0061":2}}]"#,
            Some("the member \"a\" stands twice at line 1 column 21"),
        );
    }
}

use rusqlite::Statement;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use crate::DistinctKeys;
use crate::error::Error;
use crate::value;

/// Values for the parameters of a statement: scalars, or the objects of a [`Rowset`](crate::Rowset), such
/// as `{"$blob": base64}`.
#[derive(Clone, Debug)]
pub enum Params {
    /// By position, for `?`, `?1`, and named parameters in the order of their first use.
    ByPosition(Vec<Json>),
    /// By name, for `:name`, `@name` and `$name`. The sign may be left out.
    ByName(Map<String, Json>),
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match DistinctKeys::deserialize(deserializer)?.0 {
            Json::Array(values) => Ok(Self::ByPosition(values)),
            Json::Object(values) => Ok(Self::ByName(values)),
            _ => Err(D::Error::custom(
                "expected a list of values for ?, or an object of values for :name",
            )),
        }
    }
}

/// Gives every parameter its value. One without a value would silently be NULL, so it is an error, as is
/// a value without a parameter.
pub(super) fn bind(statement: &mut Statement<'_>, params: Option<&Params>) -> Result<(), Error> {
    match params {
        None => bind_by_position(statement, &[]),
        Some(Params::ByPosition(values)) => bind_by_position(statement, values),
        Some(Params::ByName(values)) => bind_by_name(statement, values),
    }
}

fn bind_by_position(statement: &mut Statement<'_>, values: &[Json]) -> Result<(), Error> {
    let wanted = statement.parameter_count();
    if values.len() != wanted {
        return bad(format!("the statement has {wanted}, and {} values were given", values.len()));
    }
    for (index, value) in (1..).zip(values) {
        bind_one(statement, index, &format!("number {index}"), value)?;
    }
    Ok(())
}

fn bind_by_name(statement: &mut Statement<'_>, values: &Map<String, Json>) -> Result<(), Error> {
    let wanted = statement.parameter_count();
    let mut used = 0;
    for index in 1..=wanted {
        let Some(name) = statement.parameter_name(index).map(str::to_owned) else {
            return bad(format!("parameter number {index} has no name; give an array"));
        };
        let bare = name.get(1..).unwrap_or_default();
        let Some(value) = values.get(&name).or_else(|| values.get(bare)) else {
            return bad(format!("{name:?} has no value"));
        };
        bind_one(statement, index, &name, value)?;
        used += 1;
    }
    if used < values.len() {
        let names: Vec<&str> =
            (1..=wanted).filter_map(|index| statement.parameter_name(index)).collect();
        let is_known = |given: &str| {
            let is = |name: &&str| *name == given || name.get(1..) == Some(given);
            names.iter().any(is)
        };
        if let Some(unknown) = values.keys().find(|given| !is_known(given)) {
            return bad(format!("the statement has no parameter {unknown:?}"));
        }
        return bad("one parameter is given under two names".to_owned());
    }
    Ok(())
}

fn bind_one(
    statement: &mut Statement<'_>,
    index: usize,
    name: &str,
    json: &Json,
) -> Result<(), Error> {
    match value::from_json(json) {
        Ok(value) => Ok(statement.raw_bind_parameter(index, value)?),
        Err(reason) => bad(format!("{name}: {reason}")),
    }
}

fn bad<T>(reason: String) -> Result<T, Error> {
    Err(Error::BadParams { reason })
}

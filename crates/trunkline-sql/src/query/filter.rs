//! Translation of filters to a `WHERE` clause. Names come from the schema and are quoted; values are always bound.

use serde_json::{Map, Value as Json};

use super::document;
use crate::model::error::Error;
use crate::model::schema::{Column, Dialect, Table};
use crate::model::value::{self, Value};

/// A `WHERE` clause, or nothing, and the values of the statement's parameters so far.
#[derive(Debug)]
pub(super) struct Filter<'t> {
    dialect: Dialect,
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
    /// The columns that the values of the clause are compared with.
    pub(super) columns: Vec<&'t str>,
}

/// A column of a condition, with its name in SQL.
struct Operand<'t> {
    sql: String,
    column: &'t Column,
}

/// Names of the operators, for messages.
const OPERATORS: &str = "eq, ne, gt, gte, lt, lte, in, like, is_null";

impl<'t> Filter<'t> {
    /// The filter under which all conditions hold. `values` are those of the statement before it.
    pub(super) fn all(
        table: &'t Table,
        filters: &Map<String, Json>,
        values: Vec<Value>,
    ) -> Result<Self, Error> {
        let dialect = table.dialect;
        dialect.check_names("filters", filters.len())?;
        let mut filter = Self { dialect, sql: String::new(), values, columns: Vec::new() };
        for (name, condition) in filters {
            let column = table.open_column(name, "filters")?;
            let operand = Operand { sql: dialect.column(&column.name), column };
            filter
                .add(&operand, condition)
                .map_err(|reason| Error::BadFilter { column: column.name.clone(), reason })?;
        }
        Ok(filter)
    }

    fn add(&mut self, column: &Operand<'t>, condition: &Json) -> Result<(), String> {
        match condition {
            Json::Array(_) => {
                Err("a list requires the operator \"in\": {\"in\": [...]}".to_owned())
            }
            Json::Object(operators) if !value::has_marker(operators) => {
                if operators.is_empty() {
                    return Err(format!("the object is empty; the operators are {OPERATORS}"));
                }
                operators.iter().try_for_each(|(operator, operand)| {
                    self.add_operator(column, operator, operand)
                })
            }
            _ => self.add_equality(column, condition, false),
        }
    }

    fn add_operator(
        &mut self,
        column: &Operand<'t>,
        operator: &str,
        operand: &Json,
    ) -> Result<(), String> {
        // Other spellings are those of SQL and MongoDB.
        match operator.strip_prefix('$').unwrap_or(operator) {
            "eq" | "=" | "==" => self.add_equality(column, operand, false),
            "ne" | "neq" | "!=" | "<>" => self.add_equality(column, operand, true),
            "gt" | ">" => self.add_comparison(column, ">", operand),
            "gte" | ">=" => self.add_comparison(column, ">=", operand),
            "lt" | "<" => self.add_comparison(column, "<", operand),
            "lte" | "<=" => self.add_comparison(column, "<=", operand),
            "in" => self.add_membership(column, operand),
            "like" => self.add_likeness(column, operand),
            "is_null" => self.add_nullness(column, operand),
            _ => Err(format!("unknown operator {operator:?}; the operators are {OPERATORS}")),
        }
    }

    /// `= NULL` holds for no row, so null means `IS NULL`.
    fn add_equality(
        &mut self,
        column: &Operand<'t>,
        operand: &Json,
        negated: bool,
    ) -> Result<(), String> {
        match (self.scalar(column, operand)?, negated) {
            (Value::Null, false) => self.push(&format!("{} IS NULL", column.sql)),
            (Value::Null, true) => self.push(&format!("{} IS NOT NULL", column.sql)),
            (value, false) => self.compare(column, "=", value),
            (value, true) => self.compare(column, "<>", value),
        }
        Ok(())
    }

    fn add_comparison(
        &mut self,
        column: &Operand<'t>,
        sign: &str,
        operand: &Json,
    ) -> Result<(), String> {
        match self.scalar(column, operand)? {
            Value::Null => Err("null cannot be compared; use \"is_null\"".to_owned()),
            value => {
                self.compare(column, sign, value);
                Ok(())
            }
        }
    }

    fn add_membership(&mut self, column: &Operand<'t>, operand: &Json) -> Result<(), String> {
        let Json::Array(members) = operand else {
            return Err("\"in\" requires a list".to_owned());
        };
        let scalar = |member| self.scalar(column, member);
        let members: Vec<Value> = members.iter().map(scalar).collect::<Result<_, _>>()?;
        let count = members.len();
        let values = members.into_iter().filter(|value| *value != Value::Null);
        let parameters: Vec<String> = values.map(|value| self.bind(column, value)).collect();
        let membership = match parameters.as_slice() {
            // PostgreSQL has no empty list.
            [] => "FALSE".to_owned(),
            parameters => format!("{} IN ({})", column.sql, parameters.join(", ")),
        };
        // In SQL, `NULL IN (NULL)` is not true.
        if parameters.len() < count {
            self.push(&format!("({membership} OR {} IS NULL)", column.sql));
        } else {
            self.push(&membership);
        }
        Ok(())
    }

    fn add_likeness(&mut self, column: &Operand<'t>, operand: &Json) -> Result<(), String> {
        let Json::String(pattern) = operand else {
            return Err("\"like\" requires a string".to_owned());
        };
        let parameter = self.bind(column, Value::Text(pattern.clone()));
        self.push(&self.dialect.like(&column.sql, &parameter));
        Ok(())
    }

    fn add_nullness(&mut self, column: &Operand<'t>, operand: &Json) -> Result<(), String> {
        let test = match operand {
            Json::Bool(true) => "IS NULL",
            Json::Bool(false) => "IS NOT NULL",
            _ => return Err("\"is_null\" requires true or false".to_owned()),
        };
        self.push(&format!("{} {test}", column.sql));
        Ok(())
    }

    fn compare(&mut self, column: &Operand<'t>, sign: &str, value: Value) {
        let parameter = self.bind(column, value);
        self.push(&format!("{} {sign} {parameter}", column.sql));
    }

    fn scalar(&self, column: &Operand<'_>, json: &Json) -> Result<Value, String> {
        let value = match self.dialect {
            Dialect::Sqlite => value::from_json(json),
            Dialect::Postgres => document::number(json, column.column.value_type()),
        };
        value.map_err(str::to_owned)
    }

    fn bind(&mut self, column: &Operand<'t>, value: Value) -> String {
        self.values.push(value);
        self.columns.push(&column.column.name);
        self.dialect.parameter(self.values.len())
    }

    fn push(&mut self, sql: &str) {
        let joint = if self.sql.is_empty() { " WHERE " } else { " AND " };
        self.sql.push_str(joint);
        self.sql.push_str(sql);
    }
}

//! Translation of filters to a `WHERE` clause. Names come from the schema and are quoted; values are always bound.

use serde_json::{Map, Value as Json};

use crate::model::error::Error;
use crate::model::schema::{Dialect, Table};
use crate::model::value::{self, Value};

/// A `WHERE` clause, or nothing, and the values of the statement's parameters so far.
#[derive(Debug)]
pub(super) struct Filter {
    dialect: Dialect,
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

/// Names of the operators, for messages.
const OPERATORS: &str = "eq, ne, gt, gte, lt, lte, in, like, is_null";

impl Filter {
    /// The filter under which all conditions hold. `values` are those of the statement before it.
    pub(super) fn all(
        table: &Table,
        filters: &Map<String, Json>,
        values: Vec<Value>,
    ) -> Result<Self, Error> {
        let dialect = table.dialect;
        let mut filter = Self { dialect, sql: String::new(), values };
        for (name, condition) in filters {
            let column = &table.open_column(name, "filters")?.name;
            filter
                .add(&dialect.column(column), condition)
                .map_err(|reason| Error::BadFilter { column: column.clone(), reason })?;
        }
        Ok(filter)
    }

    fn add(&mut self, column: &str, condition: &Json) -> Result<(), String> {
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

    fn add_operator(&mut self, column: &str, operator: &str, operand: &Json) -> Result<(), String> {
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
    fn add_equality(&mut self, column: &str, operand: &Json, negated: bool) -> Result<(), String> {
        match (scalar(operand)?, negated) {
            (Value::Null, false) => self.push(&format!("{column} IS NULL")),
            (Value::Null, true) => self.push(&format!("{column} IS NOT NULL")),
            (value, false) => self.compare(column, "=", value),
            (value, true) => self.compare(column, "<>", value),
        }
        Ok(())
    }

    fn add_comparison(&mut self, column: &str, sign: &str, operand: &Json) -> Result<(), String> {
        match scalar(operand)? {
            Value::Null => Err("null cannot be compared; use \"is_null\"".to_owned()),
            value => {
                self.compare(column, sign, value);
                Ok(())
            }
        }
    }

    fn add_membership(&mut self, column: &str, operand: &Json) -> Result<(), String> {
        let Json::Array(members) = operand else {
            return Err("\"in\" requires a list".to_owned());
        };
        let members: Vec<Value> = members.iter().map(scalar).collect::<Result<_, _>>()?;
        let count = members.len();
        let values = members.into_iter().filter(|value| *value != Value::Null);
        let parameters: Vec<String> = values.map(|value| self.bind(value)).collect();
        let membership = match parameters.as_slice() {
            // PostgreSQL has no empty list.
            [] => "FALSE".to_owned(),
            parameters => format!("{column} IN ({})", parameters.join(", ")),
        };
        // In SQL, `NULL IN (NULL)` is not true.
        if parameters.len() < count {
            self.push(&format!("({membership} OR {column} IS NULL)"));
        } else {
            self.push(&membership);
        }
        Ok(())
    }

    fn add_likeness(&mut self, column: &str, operand: &Json) -> Result<(), String> {
        let Json::String(pattern) = operand else {
            return Err("\"like\" requires a string".to_owned());
        };
        let parameter = self.bind(Value::Text(pattern.clone()));
        self.push(&self.dialect.like(column, &parameter));
        Ok(())
    }

    fn add_nullness(&mut self, column: &str, operand: &Json) -> Result<(), String> {
        let test = match operand {
            Json::Bool(true) => "IS NULL",
            Json::Bool(false) => "IS NOT NULL",
            _ => return Err("\"is_null\" requires true or false".to_owned()),
        };
        self.push(&format!("{column} {test}"));
        Ok(())
    }

    fn compare(&mut self, column: &str, sign: &str, value: Value) {
        let parameter = self.bind(value);
        self.push(&format!("{column} {sign} {parameter}"));
    }

    fn bind(&mut self, value: Value) -> String {
        self.values.push(value);
        self.dialect.parameter(self.values.len())
    }

    fn push(&mut self, sql: &str) {
        let joint = if self.sql.is_empty() { " WHERE " } else { " AND " };
        self.sql.push_str(joint);
        self.sql.push_str(sql);
    }
}

fn scalar(json: &Json) -> Result<Value, String> {
    value::from_json(json).map_err(str::to_owned)
}

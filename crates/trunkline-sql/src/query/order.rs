use crate::model::error::Error;
use crate::model::read::{OrderBy, OrderTerm};
use crate::model::schema::{Column, Dialect, Table};
use crate::model::value::Value;

/// The order of a request, in terms of columns.
pub(super) struct Order {
    dialect: Dialect,
    terms: Vec<Term>,
    /// Whether no two rows are equal in all terms.
    is_total: bool,
}

struct Term {
    column: String,
    desc: bool,
    /// Whether rows can have NULL here.
    is_nullable: bool,
}

/// The requested order. It ends with the columns that identify a row, so that pages neither overlap nor omit rows, in
/// the direction of the last term, so that an index can be used.
pub(super) fn by(table: &Table, order: Option<&OrderBy>) -> Result<Order, Error> {
    let mut terms = match order {
        None => Vec::new(),
        Some(OrderBy::Text(text)) => parse_text(table, text)?,
        Some(OrderBy::Terms(terms)) => {
            table.dialect.check_names("order_by", terms.len())?;
            let read = |term: &OrderTerm| match term {
                OrderTerm::Text(text) => parse_term(table, text),
                OrderTerm::Column { column, desc } => {
                    Ok(Term::of(order_column(table, column)?, *desc))
                }
            };
            terms.iter().map(read).collect::<Result<_, _>>()?
        }
    };
    let desc = terms.last().is_some_and(|term| term.desc);
    let identity = table.row_identity();
    let is_total = !identity.is_empty();
    let identity = identity.into_iter().map(str::to_owned);
    terms.extend(identity.map(|column| Term { column, desc, is_nullable: false }));
    Ok(Order { dialect: table.dialect, terms, is_total })
}

impl Order {
    /// SQLite bounds the depth of expressions, and a condition nests by two for each term.
    const MAX_KEY_TERMS: usize = 16;

    /// The `ORDER BY` clause, if there is an order.
    pub(super) fn clause(&self) -> String {
        let term = |term: &Term| self.dialect.order(&term.column, term.desc, term.is_nullable);
        let terms: Vec<String> = self.terms.iter().map(term).collect();
        match terms.as_slice() {
            [] => String::new(),
            terms => format!(" ORDER BY {}", terms.join(", ")),
        }
    }

    /// The columns whose values determine the position of a row in this order. Empty if rows can have the same position,
    /// or if there are too many columns.
    pub(super) fn key(&self) -> impl Iterator<Item = &str> {
        let has_key = self.is_total && self.terms.len() <= Self::MAX_KEY_TERMS;
        let terms = if has_key { self.terms.as_slice() } else { &[] };
        terms.iter().map(|term| term.column.as_str())
    }

    /// The condition under which a row comes after the one with this key, whose values are bound from the
    /// parameter `first` on.
    pub(super) fn after(&self, key: &[Value], first: usize) -> String {
        let mut condition = "FALSE".to_owned();
        for (index, (term, value)) in self.terms.iter().zip(key).enumerate().rev() {
            let parameter = self.dialect.parameter(first + index);
            let column = self.dialect.column(&term.column);
            let beyond = term.beyond(&column, value, &parameter);
            let same = self.dialect.is(&column, &parameter);
            condition = format!("({beyond} OR ({same} AND {condition}))");
        }
        // Implied by the condition, and lets the engine find the first row by an index.
        match (self.terms.first(), key.first()) {
            (Some(term), Some(value)) if *value != Value::Null => {
                let column = self.dialect.column(&term.column);
                let parameter = self.dialect.parameter(first);
                match term {
                    Term { desc: false, .. } => format!("{column} >= {parameter} AND {condition}"),
                    Term { is_nullable: false, .. } => {
                        format!("{column} <= {parameter} AND {condition}")
                    }
                    _ => condition,
                }
            }
            _ => condition,
        }
    }
}

impl Term {
    fn of(column: &Column, desc: bool) -> Self {
        Self { column: column.name.clone(), desc, is_nullable: !column.not_null }
    }

    /// The condition under which a row comes after another value of this term alone. NULL is the smallest value.
    fn beyond(&self, column: &str, value: &Value, parameter: &str) -> String {
        match (self.desc, value) {
            (false, Value::Null) => format!("{column} IS NOT NULL"),
            (false, _) => format!("{column} > {parameter}"),
            (true, Value::Null) => "FALSE".to_owned(),
            (true, _) if self.is_nullable => {
                format!("({column} < {parameter} OR {column} IS NULL)")
            }
            (true, _) => format!("{column} < {parameter}"),
        }
    }
}

fn parse_text(table: &Table, text: &str) -> Result<Vec<Term>, Error> {
    // A column's name may hold a comma.
    match parse_term(table, text) {
        Ok(term) => Ok(vec![term]),
        Err(error @ Error::Masked { .. }) => Err(error),
        Err(_) => {
            table.dialect.check_names("order_by", text.split(',').count())?;
            text.split(',').map(|term| parse_term(table, term)).collect()
        }
    }
}

fn parse_term(table: &Table, text: &str) -> Result<Term, Error> {
    let text = text.trim();
    // A column's name may end in " desc".
    if table.column(text).is_ok() {
        return Ok(Term::of(order_column(table, text)?, false));
    }
    let (name, desc) = match text.rsplit_once(char::is_whitespace) {
        Some((name, word)) if word.eq_ignore_ascii_case("desc") => (name.trim_end(), true),
        Some((name, word)) if word.eq_ignore_ascii_case("asc") => (name.trim_end(), false),
        _ => match text.strip_prefix('-') {
            Some(name) => (name, true),
            None => (text, false),
        },
    };
    Ok(Term::of(order_column(table, name)?, desc))
}

fn order_column<'t>(table: &'t Table, name: &str) -> Result<&'t Column, Error> {
    table.open_column(name, "order_by")
}

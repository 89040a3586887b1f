use super::literal::Literal;
use super::tokens::{Token, tokens};
use crate::model::create_table::ColumnSpec;

/// The definition of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Definition {
    column_type: ColumnType,
    pub(super) primary_key: bool,
    pub(super) autoincrement: bool,
    not_null: bool,
    unique: bool,
    default: Option<Literal>,
    collation: Option<&'static str>,
}

const COLLATIONS: [&str; 3] = ["BINARY", "NOCASE", "RTRIM"];

/// One of the known types, with the numbers in its parentheses.
#[derive(Clone, Debug, PartialEq)]
struct ColumnType {
    name: &'static str,
    numbers: Vec<u32>,
}

/// The known types, each with the maximum count of its numbers.
const TYPES: [(&str, usize); 27] = [
    ("INTEGER", 1),
    ("INT", 1),
    ("BIGINT", 1),
    ("MEDIUMINT", 1),
    ("SMALLINT", 1),
    ("TINYINT", 1),
    ("REAL", 0),
    ("DOUBLE", 0),
    ("DOUBLE PRECISION", 0),
    ("FLOAT", 0),
    ("NUMERIC", 2),
    ("DECIMAL", 2),
    ("TEXT", 0),
    ("VARCHAR", 1),
    ("CHAR", 1),
    ("NVARCHAR", 1),
    ("NCHAR", 1),
    ("CLOB", 0),
    ("UUID", 0),
    ("BLOB", 0),
    ("BOOLEAN", 0),
    ("BOOL", 0),
    ("DATE", 0),
    ("TIME", 0),
    ("DATETIME", 0),
    ("TIMESTAMP", 0),
    ("JSON", 0),
];

impl Definition {
    /// # Errors
    ///
    /// The part that cannot be parsed, in a sentence.
    pub(super) fn of(spec: &ColumnSpec) -> Result<Self, String> {
        let options = match spec {
            ColumnSpec::Text(text) => return Parser::new(text)?.definition(),
            ColumnSpec::Options(options) => options,
        };
        let mut definition = Parser::new(&options.column_type)?.definition()?;
        definition.primary_key |= options.primary_key;
        definition.not_null |= options.not_null;
        definition.unique |= options.unique;
        if let Some(default) = &options.default {
            let default = Literal::from_json(default)?;
            if definition.default.replace(default).is_some() {
                return Err("duplicate default".to_owned());
            }
        }
        Ok(definition)
    }

    /// Whether a primary key of this type is the row number.
    pub(super) fn is_integer(&self) -> bool {
        self.column_type.name == "INTEGER" && self.column_type.numbers.is_empty()
    }

    /// The definition that follows the column's name.
    pub(super) fn sql(&self, is_primary_key: bool) -> String {
        let mut sql = self.column_type.name.to_owned();
        if !self.column_type.numbers.is_empty() {
            let numbers: Vec<String> =
                self.column_type.numbers.iter().map(ToString::to_string).collect();
            sql.push_str(&format!("({})", numbers.join(", ")));
        }
        if is_primary_key {
            sql.push_str(" PRIMARY KEY");
        }
        if self.autoincrement {
            sql.push_str(" AUTOINCREMENT");
        }
        if self.not_null {
            sql.push_str(" NOT NULL");
        }
        if self.unique {
            sql.push_str(" UNIQUE");
        }
        if let Some(default) = &self.default {
            sql.push_str(" DEFAULT ");
            sql.push_str(&default.sql());
        }
        if let Some(collation) = self.collation {
            sql.push_str(" COLLATE ");
            sql.push_str(collation);
        }
        sql
    }
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
}

impl Parser {
    fn new(text: &str) -> Result<Self, String> {
        Ok(Self { tokens: tokens(text)?.into_iter().peekable() })
    }

    fn definition(mut self) -> Result<Definition, String> {
        let mut definition = Definition {
            column_type: self.column_type()?,
            primary_key: false,
            autoincrement: false,
            not_null: false,
            unique: false,
            default: None,
            collation: None,
        };
        while let Some(token) = self.tokens.next() {
            let Token::Word(word) = token else {
                return Err(UNKNOWN_CONSTRAINT.to_owned());
            };
            match word.as_str() {
                "PRIMARY" => {
                    self.word("KEY", "PRIMARY")?;
                    definition.primary_key = true;
                }
                "AUTOINCREMENT" => definition.autoincrement = true,
                "NOT" => {
                    self.word("NULL", "NOT")?;
                    definition.not_null = true;
                }
                "NULL" => {}
                "UNIQUE" => definition.unique = true,
                "COLLATE" => definition.collation = Some(self.collation()?),
                "DEFAULT" => {
                    let default = Literal::from_token(self.tokens.next())?;
                    if definition.default.replace(default).is_some() {
                        return Err("duplicate default".to_owned());
                    }
                }
                _ => return Err(format!("unknown constraint {word:?}; {UNKNOWN_CONSTRAINT}")),
            }
        }
        Ok(definition)
    }

    fn column_type(&mut self) -> Result<ColumnType, String> {
        let Some(Token::Word(word)) = self.tokens.next() else {
            return Err(unknown_type("the definition must begin with a type"));
        };
        let precision = Token::Word("PRECISION".to_owned());
        let word = if word == "DOUBLE" && self.tokens.next_if_eq(&precision).is_some() {
            "DOUBLE PRECISION".to_owned()
        } else {
            word
        };
        let known = TYPES.into_iter().find(|(name, _)| *name == word);
        let (name, most) = known.ok_or_else(|| unknown_type(&format!("unknown type {word:?}")))?;
        let mut numbers = Vec::new();
        if self.tokens.next_if_eq(&Token::Open).is_some() {
            loop {
                let number = match self.tokens.next() {
                    Some(Token::Number(text)) => text.parse().ok(),
                    _ => None,
                };
                numbers.push(number.ok_or("a type allows whole numbers only in its parentheses")?);
                match self.tokens.next() {
                    Some(Token::Comma) => {}
                    Some(Token::Close) => break,
                    _ => return Err("missing closing parenthesis".to_owned()),
                }
            }
        }
        if numbers.len() > most {
            return Err(format!("{name} allows at most {most} numbers in parentheses"));
        }
        Ok(ColumnType { name, numbers })
    }

    fn collation(&mut self) -> Result<&'static str, String> {
        let word = match self.tokens.next() {
            Some(Token::Word(word)) => word,
            _ => String::new(),
        };
        let known = COLLATIONS.into_iter().find(|name| *name == word);
        known.ok_or_else(|| format!("COLLATE requires one of {}", COLLATIONS.join(", ")))
    }

    fn word(&mut self, wanted: &str, before: &str) -> Result<(), String> {
        match self.tokens.next() {
            Some(Token::Word(word)) if word == wanted => Ok(()),
            _ => Err(format!("{before} must be followed by {wanted}")),
        }
    }
}

const UNKNOWN_CONSTRAINT: &str = "the constraints are PRIMARY KEY, AUTOINCREMENT, NOT NULL, UNIQUE, \
                                  COLLATE with a name and DEFAULT with a value; use SQL for others";

fn unknown_type(problem: &str) -> String {
    let names = TYPES.map(|(name, _)| name).join(", ");
    format!("{problem}; the types are {names}")
}

#[cfg(test)]
mod tests {
    use super::{ColumnSpec, Definition};

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let definition = Definition::of(&ColumnSpec::Text(text.to_owned()));
        let sql = definition.map(|definition| definition.sql(definition.primary_key)).ok();
        assert_eq!(sql.as_deref(), expected, "{text}");
    }

    #[test]
    fn definitions_are_parsed_and_rendered() {
        for (text, expected) in [
            ("text", "TEXT"),
            ("double precision not null", "DOUBLE PRECISION NOT NULL"),
            ("integer(10)", "INTEGER(10)"),
            ("text collate nocase unique", "TEXT UNIQUE COLLATE NOCASE"),
            (" Decimal ( 10 ,2 ) ", "DECIMAL(10, 2)"),
            ("varchar(20) not null unique", "VARCHAR(20) NOT NULL UNIQUE"),
            ("integer primary key autoincrement", "INTEGER PRIMARY KEY AUTOINCREMENT"),
            ("INT NULL DEFAULT -7", "INT DEFAULT -7"),
            ("REAL DEFAULT +1.5e3", "REAL DEFAULT 1500.0"),
            ("TEXT DEFAULT 'it''s; --'", "TEXT DEFAULT 'it''s; --'"),
            ("TEXT DEFAULT ''", "TEXT DEFAULT ''"),
            ("TEXT DEFAULT null", "TEXT DEFAULT NULL"),
            ("BOOLEAN DEFAULT true", "BOOLEAN DEFAULT 1"),
            ("DATETIME DEFAULT current_timestamp", "DATETIME DEFAULT CURRENT_TIMESTAMP"),
        ] {
            check(text, Some(expected));
        }
    }

    #[test]
    fn invalid_definitions_are_refused() {
        for text in [
            "",
            "STRING",
            "TEXT); DROP TABLE emp;--",
            "TEXT; DROP TABLE emp",
            "TEXT -- x",
            "TEXT /* x */",
            "TEXT, b TEXT",
            "TEXT DEFAULT (1)",
            "TEXT DEFAULT random()",
            "TEXT DEFAULT 'a' || 'b'",
            "TEXT DEFAULT \"a\"",
            "TEXT DEFAULT 'a",
            "TEXT DEFAULT 1 DEFAULT 2",
            "TEXT DEFAULT",
            "TEXT DEFAULT 1e999",
            "TEXT DEFAULT 1-1",
            "TEXT DEFAULT 'a\0b'",
            "TEXT CHECK (1)",
            "TEXT REFERENCES emp",
            "TEXT COLLATE",
            "TEXT COLLATE mine",
            "TEXT GENERATED ALWAYS AS (1)",
            "TEXT NOT",
            "TEXT PRIMARY",
            "VARCHAR(x)",
            "VARCHAR('1')",
            "VARCHAR(-1)",
            "VARCHAR(1",
            "VARCHAR()",
            "VARCHAR(1, 2)",
            "DECIMAL(1, 2, 3)",
            "TEXT(1)",
            "CHAR(99999999999)",
            "ＴＥＸＴ",
            "(1)",
            "'TEXT'",
        ] {
            check(text, None);
        }
    }
}

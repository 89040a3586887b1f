//! `import --create`: a table for the records of a file.

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;

use anyhow::bail;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use trunkline_sql::schema::{ColumnSpec, Columns};
use trunkline_sql::transfer::{InferredType, RejectedRecord};
use trunkline_sql::{CreateTable, Database, Engine};

use super::records::{Item, RecordReader};

/// Maximum number of columns: those of a table in PostgreSQL.
const MAX_COLUMNS: usize = 1_600;

/// A table that does not exist yet, with the types of all values of a file.
pub(super) struct NewTable {
    name: String,
    columns: Vec<(String, InferredType)>,
    pub(super) records: u64,
    /// The number of records that cannot be read.
    pub(super) invalid: u64,
}

impl NewTable {
    /// Reads all records. The columns are in the order of the header, or in that in which the members occur.
    pub(super) fn of<R: BufRead>(
        name: &str,
        reader: &mut RecordReader<R>,
        is_csv: bool,
        report: impl Fn(u64),
    ) -> anyhow::Result<Self> {
        let columns = reader.header().iter().map(|name| (name.clone(), InferredType::default()));
        let mut table =
            Self { name: name.to_owned(), columns: columns.collect(), records: 0, invalid: 0 };
        let indexes = table.columns.iter().enumerate();
        let mut indexes: HashMap<String, usize> =
            indexes.map(|(index, (name, _))| (name.clone(), index)).collect();
        let mut first_invalid = None;
        while let Some(item) = reader.next()? {
            table.records += 1;
            let record = match item {
                Item::Record(record) => record,
                Item::Invalid(rejected) => {
                    table.invalid += 1;
                    first_invalid.get_or_insert(rejected);
                    continue;
                }
            };
            if record.data.keys().any(|name| !indexes.contains_key(name)) {
                let ordered = serde_json::from_slice::<Keys>(reader.text());
                let sorted = || record.data.keys().cloned().collect();
                for name in ordered.map_or_else(|_| sorted(), |keys| keys.0) {
                    if record.data.contains_key(&name) && !indexes.contains_key(&name) {
                        indexes.insert(name.clone(), table.columns.len());
                        table.columns.push((name, InferredType::default()));
                    }
                }
                if table.columns.len() > MAX_COLUMNS {
                    bail!("line {}: the records have more than {MAX_COLUMNS} columns", record.line);
                }
            }
            for (name, value) in &record.data {
                let column = indexes.get(name).and_then(|index| table.columns.get_mut(*index));
                if let Some((_, inferred)) = column {
                    inferred.add(value, is_csv);
                }
            }
            report(reader.position().offset);
        }
        if table.columns.is_empty() {
            if let Some(RejectedRecord { line, reason, .. }) = first_invalid {
                bail!("no record of the file can be read; line {line}: {reason}");
            }
            bail!("the file has no records, so the table would have no columns");
        }
        Ok(table)
    }

    /// The statement that creates the table.
    pub(super) fn sql(&self, database: &Database) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|(name, inferred)| {
                format!("    {} {}", quote(name), database.type_name(*inferred))
            })
            .collect();
        let name = match (database.engine(), self.name.split_once('.')) {
            (Engine::Postgres, Some((schema, name))) => {
                format!("{}.{}", quote(schema), quote(name))
            }
            _ => quote(&self.name),
        };
        format!("CREATE TABLE {name} (\n{}\n);\n", columns.join(",\n"))
    }

    pub(super) fn request(&self, database: &Database) -> CreateTable {
        let column = |(name, inferred): &(String, InferredType)| {
            (name.clone(), ColumnSpec::Text(database.type_name(*inferred).to_owned()))
        };
        CreateTable {
            table_name: self.name.clone(),
            schema: Columns(self.columns.iter().map(column).collect()),
            primary_key: None,
            if_not_exists: false,
        }
    }
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The keys of an object, in its order.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KeysVisitor)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
        let mut keys = Vec::new();
        while let Some((key, _)) = map.next_entry::<String, IgnoredAny>()? {
            keys.push(key);
        }
        Ok(Keys(keys))
    }
}

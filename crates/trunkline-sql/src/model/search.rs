//! Searches of a schema, and the ranking of what they find.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments;
use super::error::Error;
use super::schema::{TableKind, nearest_names};
use super::table_name;

/// Searches the names, types and comments of tables and columns.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchSchema {
    /// One or several keywords. Each must match the table or column, or the table of the column. Case is ignored.
    #[schemars(description = "Keywords of names, types or comments")]
    pub term: String,
    /// Maximum number of matches, 1 to 100. Default 20.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count", description = "Default 20")]
    pub limit: Option<u64>,
}

/// The matches of a search, best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SchemaMatches {
    /// The matches, by score and then by name.
    pub matches: Vec<SchemaMatch>,
    /// Whether there are more matches than `limit`, or the schema has more tables than a search reads.
    pub truncated: bool,
}

/// A table or a column that matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SchemaMatch {
    /// The table, or the table of the column.
    pub table: String,
    /// The kind of the table.
    pub kind: TableKind,
    /// The column. Missing if the table itself matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The declared type of the column.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub declared_type: Option<String>,
    /// The comment, in PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// 1 to 100: the mean over the keywords. A keyword scores 100 for an equal name, 80 for the beginning of a name, 60 for a
    /// whole part within a name, 40 for another part of it, 30 for a comment that contains it, 20 for a type that begins
    /// with it. If nothing matches, similar names score 10.
    pub score: u32,
}

/// Maximum number of tables that a search reads.
pub(crate) const MAX_TABLES: usize = 10_000;

/// Maximum length of a comment in a match, in characters.
const MAX_DESCRIPTION: usize = 300;

const DEFAULT_LIMIT: u64 = 20;
const MAX_LIMIT: u64 = 100;
const SIMILAR: u32 = 10;

/// A table or a column that can match.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) table: String,
    pub(crate) kind: TableKind,
    pub(crate) column: Option<String>,
    pub(crate) declared_type: Option<String>,
    pub(crate) description: Option<String>,
}

/// The candidates that match a request, in their order.
///
/// # Errors
///
/// [`Error::BadArgument`] for an empty term or a limit out of range.
pub(crate) fn rank(
    request: &SearchSchema,
    candidates: Vec<Candidate>,
    is_complete: bool,
) -> Result<SchemaMatches, Error> {
    let keywords: Vec<String> = request.term.split_whitespace().map(str::to_lowercase).collect();
    if keywords.is_empty() {
        return Err(Error::argument("term", "it is empty; send keywords of a name or a comment"));
    }
    let limit = request.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Error::argument("limit", format!("it must be from 1 to {MAX_LIMIT}")));
    }
    let mut scored: Vec<(u32, Candidate)> = candidates
        .iter()
        .filter_map(|candidate| Some((score(candidate, &keywords)?, candidate.clone())))
        .collect();
    if scored.is_empty() {
        scored = similar(&request.term, candidates);
    }
    scored.sort_by(|(one, a), (other, b)| {
        (Reverse(one), &a.table, &a.column).cmp(&(Reverse(other), &b.table, &b.column))
    });
    let truncated = scored.len() as u64 > limit || !is_complete;
    let matches = scored.into_iter().take(limit as usize).map(|(score, found)| found.scored(score));
    Ok(SchemaMatches { matches: matches.collect(), truncated })
}

impl Candidate {
    fn name(&self) -> &str {
        self.column.as_ref().unwrap_or(&self.table)
    }

    fn scored(self, score: u32) -> SchemaMatch {
        let Self { table, kind, column, declared_type, description } = self;
        let cut = |text: String| match text.char_indices().nth(MAX_DESCRIPTION) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        let description = description.map(cut);
        SchemaMatch { table, kind, column, declared_type, description, score }
    }
}

/// The mean score of the keywords, or none if one of them does not match, or all match only the table of a column.
fn score(candidate: &Candidate, keywords: &[String]) -> Option<u32> {
    let mut sum = 0;
    for keyword in keywords {
        let own = keyword_score(candidate, keyword);
        let is_of_table =
            own == 0 && candidate.column.is_some() && name_score(&candidate.table, keyword) > 0;
        if own == 0 && !is_of_table {
            return None;
        }
        sum += own;
    }
    Some(sum / keywords.len() as u32).filter(|score| *score > 0)
}

fn keyword_score(candidate: &Candidate, word: &str) -> u32 {
    let by_name = name_score(candidate.name(), word);
    if by_name > 0 {
        return by_name;
    }
    let contains = |text: &String| text.to_lowercase().contains(word);
    let begins = |text: &String| text.to_lowercase().starts_with(word);
    match candidate {
        Candidate { description: Some(text), .. } if contains(text) => 30,
        Candidate { declared_type: Some(text), .. } if begins(text) => 20,
        _ => 0,
    }
}

fn name_score(name: &str, word: &str) -> u32 {
    let folded = name.to_lowercase();
    // A name with its schema equals the word without it, too.
    let bare = table_name::bare(&folded);
    if folded == *word || bare == word {
        100
    } else if bare.starts_with(word) {
        80
    } else if parts(name).any(|part| part == word) {
        60
    } else if folded.contains(word) {
        40
    } else {
        0
    }
}

/// The parts of a name: `orderDate` and `order_date` have two.
fn parts(name: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for character in name.chars() {
        let begins = character.is_uppercase() && was_lower;
        if !character.is_alphanumeric() || begins {
            parts.push(String::new());
        }
        if character.is_alphanumeric() {
            parts.last_mut().expect("there is at least one").extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase();
    }
    parts.into_iter().filter(|part| !part.is_empty())
}

/// Tables and columns whose names are similar to the term.
fn similar(term: &str, candidates: Vec<Candidate>) -> Vec<(u32, Candidate)> {
    let names: Vec<String> = candidates.iter().map(|one| one.name().to_owned()).collect();
    let nearest = nearest_names(term.trim(), names.iter());
    let is_near = |candidate: &Candidate| nearest.iter().any(|name| name == candidate.name());
    candidates.into_iter().filter(is_near).map(|candidate| (SIMILAR, candidate)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Candidate, SearchSchema, TableKind, rank};

    fn candidates() -> Vec<Candidate> {
        let one =
            |table: &str, column: Option<(&str, &str)>, description: Option<&str>| Candidate {
                table: table.to_owned(),
                kind: TableKind::Table,
                column: column.map(|(name, _)| name.to_owned()),
                declared_type: column.map(|(_, kind)| kind.to_owned()),
                description: description.map(str::to_owned),
            };
        vec![
            one("customer", None, Some("People who buy")),
            one("customer", Some(("id", "INTEGER")), None),
            one("customer", Some(("email", "TEXT")), None),
            one("customer_order", None, None),
            one("customer_order", Some(("orderDate", "TIMESTAMP")), None),
            one("reorder", None, None),
            one("sales.order", None, None),
        ]
    }

    #[track_caller]
    fn check(term: &str, expected: &[(&str, u32)]) {
        let request = SearchSchema { term: term.to_owned(), limit: None };
        let found = rank(&request, candidates(), true).unwrap().matches;
        let found: Vec<(String, u32)> = found
            .into_iter()
            .map(|one| match one.column {
                Some(column) => (format!("{}.{column}", one.table), one.score),
                None => (one.table, one.score),
            })
            .collect();
        let expected: Vec<(String, u32)> =
            expected.iter().map(|(name, score)| ((*name).to_owned(), *score)).collect();
        assert_eq!(found, expected, "{term}");
    }

    #[test]
    fn ranking() {
        check(
            "Order",
            &[
                ("sales.order", 100),
                ("customer_order.orderDate", 80),
                ("customer_order", 60),
                ("reorder", 40),
            ],
        );
        check("customer", &[("customer", 100), ("customer_order", 80)]);
        check("customer email", &[("customer.email", 50)]);
        check("date", &[("customer_order.orderDate", 60)]);
        check("buy", &[("customer", 30)]);
        check("timestamp", &[("customer_order.orderDate", 20)]);
        check("custmer", &[("customer", 10)]);
        check("nothing at all", &[]);
    }

    #[test]
    fn bad_requests() {
        for (term, limit) in [("", None), (" \t", None), ("a", Some(0)), ("a", Some(101))] {
            let request = SearchSchema { term: term.to_owned(), limit };
            assert!(rank(&request, candidates(), true).is_err(), "{term:?} {limit:?}");
        }
        let request = SearchSchema { term: "customer".to_owned(), limit: Some(1) };
        let found = rank(&request, candidates(), true).unwrap();
        assert!(found.truncated && found.matches.len() == 1);
    }
}

//! Arrays whose places have meanings: params, pairs, rows.

use std::mem;

use super::super::names::is_plural;
use super::{Copy, SecretName, Stop};
use crate::envelope::Scanner;

/// The columns of rows, up to the last one that holds secrets.
#[derive(Debug, Default)]
pub(super) struct Columns {
    names: Vec<Option<SecretName>>,
    count: usize,
}

impl Columns {
    fn push(&mut self, name: Option<SecretName>) {
        if name.is_some() {
            // Those before it hold none.
            self.names.resize(self.count, None);
            self.names.push(name);
        }
        self.count += 1;
    }

    pub(super) fn have_secrets(&self) -> bool {
        !self.names.is_empty()
    }
}

impl Copy<'_> {
    /// Copies params that came by position.
    pub(super) fn params(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        let Some(names) = self.params else {
            return self.unknown_params(scanner);
        };
        let mut names = names.iter();
        self.put("[")?;
        let mut is_first = true;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            match names.next().filter(|name| (self.is_secret)(name)) {
                Some(name) => self.secret(scanner, is_plural(name)),
                None => self.value(scanner),
            }
        })?;
        self.put("]")
    }

    /// Copies params that came by position, and of which nobody knows what they are.
    fn unknown_params(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        self.put("[")?;
        let mut is_first = true;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            match scanner.peek() {
                Some(b'"') => self.secret(scanner, false),
                Some(b'[') => self.unknown_params(scanner),
                _ => self.value(scanner),
            }
        })?;
        self.put("]")
    }

    pub(super) fn array(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        self.put("[")?;
        let mut is_first = true;
        // Whether the argument of an option is next: `["--password","…"]`.
        let mut is_argument = false;
        // Whether the second of two is next: `["X-Api-Key","…"]`.
        let mut is_of_pair = false;
        scanner.array(|scanner| {
            let is_before_pair = is_first;
            self.separate(&mut is_first)?;
            let (was_argument, was_of_pair) =
                (mem::take(&mut is_argument), mem::take(&mut is_of_pair));
            match scanner.peek() {
                Some(b'"') if was_argument => return self.secret(scanner, false),
                Some(b'"') if was_of_pair => return self.second(scanner),
                _ => {}
            }
            let start = self.out.len();
            self.value(scanner)?;
            is_argument = self.has_put_name(start, "\"-").is_some();
            is_of_pair = is_before_pair && self.has_put_name(start, "\"").is_some();
            Ok(())
        })?;
        self.put("]")
    }

    /// Copies the string behind a secret's name, which is the secret if nothing else is in the array.
    fn second(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        match scanner.string() {
            Ok(text) if scanner.peek() != Some(b']') => self.string(text),
            Ok(text) => {
                self.learned.learn_json(&self.text[text.span.range()]);
                self.put_redacted()
            }
            Err(error) => {
                self.put_redacted()?;
                Err(error.into())
            }
        }
    }

    /// Copies the columns of rows, which are names, or objects that have one.
    pub(super) fn columns(&mut self, scanner: &mut Scanner<'_>) -> Result<Columns, Stop> {
        let mut columns = Columns::default();
        self.put("[")?;
        let mut is_first = true;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            let (start, is_name) = (self.out.len(), scanner.peek() == Some(b'"'));
            self.named = None;
            self.value(scanner)?;
            let named = if is_name { self.has_put_name(start, "\"") } else { self.named };
            columns.push(named);
            Ok::<_, Stop>(())
        })?;
        self.put("]")?;
        Ok(columns)
    }

    /// Copies rows, without what stands in the columns of secrets.
    pub(super) fn rows(
        &mut self,
        scanner: &mut Scanner<'_>,
        columns: &Columns,
    ) -> Result<(), Stop> {
        self.put("[")?;
        let mut is_first = true;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            match scanner.peek() {
                Some(b'[') => self.row(scanner, columns),
                _ => self.value(scanner),
            }
        })?;
        self.put("]")
    }

    fn row(&mut self, scanner: &mut Scanner<'_>, columns: &Columns) -> Result<(), Stop> {
        let mut names = columns.names.iter();
        self.put("[")?;
        let mut is_first = true;
        scanner.array(|scanner| {
            self.separate(&mut is_first)?;
            match names.next() {
                Some(Some(name)) => self.secret(scanner, name.is_plural),
                _ => self.value(scanner),
            }
        })?;
        self.put("]")
    }
}

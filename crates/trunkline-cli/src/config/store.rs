//! `--store`, and `store.url` in the file.

use std::ffi::OsStr;
use std::fmt;

use anyhow::Context;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use trunkline_sql::postgres::PostgresUrl;
use trunkline_storage::Location;

/// The database of the state that nodes share. `Display` and `Debug` omit the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreUrl(Box<PostgresUrl>);

impl StoreUrl {
    /// The error does not contain the text, which may have a password.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if !PostgresUrl::has_scheme(text) {
            return Err("expected postgres://USER@HOST/DATABASE; the directory of a store in files is --data-dir".to_owned());
        }
        text.parse()
            .map(|url| Self(Box::new(url)))
            .map_err(|error: trunkline_storage::ConnectError| error.to_string())
    }

    /// Completes the URL by the variables and the password file of PostgreSQL.
    pub(crate) fn location(&self) -> anyhow::Result<Location> {
        Location::of_url(&self.0).with_context(|| format!("invalid --store {self}"))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reads `--store`. Errors do not contain the value, which may have a password.
#[derive(Clone, Copy)]
pub(crate) struct StoreParser;

impl TypedValueParser for StoreParser {
    type Value = StoreUrl;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<StoreUrl, clap::Error> {
        StoreUrl::parse(&value.to_string_lossy()).map_err(|problem| {
            let argument = argument.map(ToString::to_string).unwrap_or_default();
            let message = format!("invalid value for '{argument}': {problem}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

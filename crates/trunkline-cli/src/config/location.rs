//! The places of databases: paths, `file:` and `sqlite:` URLs, and PostgreSQL.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use trunkline_sql::DatabaseName;
#[cfg(feature = "postgres")]
use trunkline_sql::postgres::PostgresUrl;

use super::folder::Folder;
use super::secret::SecretFile;
use crate::terminal::{Sensitive, names_password};

/// The place of a database. `Display` is for the operator, without passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// A file of SQLite.
    File(PathBuf),
    /// A database of PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresUrl>),
}

/// A database of the command line: a place, or `NAME=` and a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseArg {
    pub(crate) name: Option<DatabaseName>,
    pub(crate) place: Place,
}

/// A place with the access that its URL allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) location: Location,
    /// Whether the URL has `mode=ro`, so that no flag makes the database writable.
    pub(crate) is_read_only: bool,
}

/// Reads `--db`, which may be a URL with a password.
pub(crate) const DATABASE: Sensitive<DatabaseArg> = Sensitive(|value| match value.to_str() {
    Some(text) => parse(text),
    None => Ok(DatabaseArg { name: None, place: Location::File(value.into()).into() }),
});

/// The forms of databases in error messages.
const FORMS: &str = match cfg!(feature = "postgres") {
    true => "a path, sqlite:PATH or postgres://USER@HOST/DATABASE",
    false => "a path or sqlite:PATH (this build has no support for other databases)",
};

const IN_MEMORY: &str = "a database in memory cannot be served; give the path of a file";

/// Reads a value of `--db`.
fn parse(text: &str) -> Result<DatabaseArg, String> {
    if !is_postgres(text)
        && let Some((name, place)) = text.split_once('=')
        && let Ok(name) = name.parse()
        && !Path::new(text).exists()
    {
        return Ok(DatabaseArg { name: Some(name), place: Place::parse(place)? });
    }
    Ok(DatabaseArg { name: None, place: Place::parse(text)? })
}

fn is_postgres(text: &str) -> bool {
    #[cfg(feature = "postgres")]
    return PostgresUrl::is_meant(text);
    #[cfg(not(feature = "postgres"))]
    return text.is_empty();
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        Self { location, is_read_only: false }
    }
}

impl Place {
    /// Reads a path, a URL, or a list of keywords of PostgreSQL. The error does not contain the text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        #[cfg(feature = "postgres")]
        if PostgresUrl::is_meant(text) {
            let url = text.parse::<PostgresUrl>().map_err(|error| error.to_string())?;
            return Ok(Location::Postgres(Box::new(url)).into());
        }
        match text.split_once(':') {
            Some((scheme, rest)) if is_sqlite(scheme) => return Self::of_sqlite(rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
                return Self::of_file_url(rest);
            }
            _ => {}
        }
        if let Some((scheme, _)) = text.split_once("://")
            && let Some(scheme) = shown_scheme(scheme)
        {
            return Err(format!("unknown scheme `{scheme}`; use {FORMS}"));
        }
        Ok(Location::File(path(text)?).into())
    }

    /// Reads the part of a URL after `sqlite:`, which is a path without percent-encoding.
    fn of_sqlite(rest: &str) -> Result<Self, String> {
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        match rest.rsplit_once('?') {
            Some((name, parameters)) if parameters.contains('=') && !Path::new(rest).exists() => {
                let is_read_only = is_read_only(parameters)?;
                Ok(Self { location: Location::File(path(name)?), is_read_only })
            }
            _ => Ok(Location::File(path(rest)?).into()),
        }
    }

    /// Reads the part of a URL after `file:`, as SQLite does: the path is percent-encoded.
    fn of_file_url(rest: &str) -> Result<Self, String> {
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (name, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let name = match name
            .strip_prefix("//")
            .map(|rest| rest.split_at(rest.find('/').unwrap_or(rest.len())))
        {
            None => name,
            Some(("" | "localhost", absolute)) => absolute,
            Some(_) => {
                return Err("a `file:` URL has no host; write file:PATH or file:///PATH".to_owned());
            }
        };
        let is_read_only = is_read_only(parameters)?;
        let decoded: Vec<u8> = percent_decode_str(name).collect();
        let path = match String::from_utf8(decoded) {
            Ok(text) => path(&text)?,
            Err(error) => OsString::from_vec(error.into_bytes()).into(),
        };
        Ok(Self { location: Location::File(path), is_read_only })
    }

    /// Reads the password of a PostgreSQL database from this file again for new connections.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "files of SQLite have no passwords")
    )]
    pub(super) fn read_from(self, file: SecretFile) -> Self {
        let location = match self.location {
            Location::File(_) => self.location,
            #[cfg(feature = "postgres")]
            Location::Postgres(url) => {
                Location::Postgres(Box::new(url.with_source(move || file.read())))
            }
        };
        Self { location, ..self }
    }

    pub(super) fn relative_to(self, folder: &Folder) -> Self {
        let location = match self.location {
            Location::File(path) => Location::File(folder.path(&path)),
            #[cfg(feature = "postgres")]
            Location::Postgres(_) => self.location,
        };
        Self { location, ..self }
    }
}

/// Whether a scheme is that of SQLite, which may have a driver, as in SQLAlchemy.
fn is_sqlite(scheme: &str) -> bool {
    let (engine, driver) = scheme.split_once('+').unwrap_or((scheme, ""));
    let is_driver = driver.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    matches!(engine, "sqlite" | "sqlite3") && is_driver
}

/// A text before `://`, if it is a scheme, or two with `jdbc:`.
fn shown_scheme(scheme: &str) -> Option<&str> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let bare = scheme.strip_prefix("jdbc:").unwrap_or(scheme);
    (bare.len() <= 32 && bare.bytes().all(is_part)).then_some(scheme)
}

/// Whether a text may contain a password: it names one, or has a user and a host. It must not be printed as a path.
fn may_have_password(text: &str) -> bool {
    let has_user = text.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    names_password(text) || (has_user || text.contains("://")) && !text.starts_with(['/', '.', '~'])
}

/// A path, in which `~` is the home directory. Shells do not expand it in `--db=~/FILE`, variables and files.
fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("the path is empty".to_owned());
    }
    if text == ":memory:" {
        return Err(IN_MEMORY.to_owned());
    }
    if may_have_password(text) && !Path::new(text).exists() {
        return Err(format!(
            "it looks like a connection string of an unknown form; use {FORMS}, or ./PATH"
        ));
    }
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = env::var_os("HOME").filter(|home| !home.is_empty());
            let home = home.ok_or("`~` is the home directory, but HOME is not set")?;
            Ok(Path::new(&home).join(rest.trim_start_matches('/')))
        }
        Some(_) if !Path::new(text).exists() => Err(
            "the home directory of another user is not known; write its path, or ./~ for a file"
                .to_owned(),
        ),
        _ => Ok(text.into()),
    }
}

/// Whether the parameters of a URL have `mode=ro`. The others that SQLite knows would weaken its locks.
fn is_read_only(parameters: &str) -> Result<bool, String> {
    let mut is_read_only = false;
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=').unwrap_or((parameter, "")) {
            ("mode", "ro") => is_read_only = true,
            // The flag --writable decides.
            ("mode", "rw" | "rwc") | ("cache", "private") => {}
            ("mode", "memory") => return Err(IN_MEMORY.to_owned()),
            ("mode", _) => {
                return Err("parameter `mode` of the URL: expected ro, rw or rwc".to_owned());
            }
            (name, _) => {
                let name = name.escape_debug();
                return Err(format!("parameter `{name}` of the URL is not supported; remove it"));
            }
        }
    }
    Ok(is_read_only)
}

impl Location {
    /// A name for a database without one: that of the file or the database.
    pub(crate) fn default_name(&self) -> Option<DatabaseName> {
        match self {
            Self::File(path) => path.file_stem()?.to_str()?.parse().ok(),
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => url.database()?.parse().ok(),
        }
    }

    /// The name for clients, without directories and addresses.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::File(path) => path.file_name().unwrap_or_default().display().to_string(),
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => url.database().unwrap_or("PostgreSQL").to_owned(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => write!(f, "{url}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::{Location, parse};

    /// The location, its name and its access, or a part of the error.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let home = env::var("HOME").unwrap_or_default();
        let found = match parse(text) {
            Ok(arg) => {
                let name = arg.name.map(|name| format!("{name} = ")).unwrap_or_default();
                let access = if arg.place.is_read_only { " ro" } else { "" };
                let kind = match &arg.place.location {
                    Location::File(_) => "file ",
                    #[cfg(feature = "postgres")]
                    Location::Postgres(_) => "",
                };
                format!("{name}{kind}{}{access}", arg.place.location)
            }
            Err(error) => {
                assert!(!error.contains("s3cret"), "{text}: {error}");
                error
            }
        };
        let expected = expected.replace("HOME", &home);
        let is_error = expected.starts_with("… ");
        let part = expected.trim_start_matches("… ");
        assert!(if is_error { found.contains(part) } else { found == expected }, "{text}: {found}");
    }

    #[test]
    fn files() {
        for (text, expected) in [
            ("shop.db", "file shop.db"),
            ("/srv/a b.db", "file /srv/a b.db"),
            ("main=shop.db", "main = file shop.db"),
            ("user=users.db", "user = file users.db"),
            ("host=~/h.db", "host = file HOME/h.db"),
            ("~/x.db", "file HOME/x.db"),
            ("sqlite:~/x.db", "file HOME/x.db"),
            ("file:~/x.db", "file HOME/x.db"),
            ("./~/x.db", "file ./~/x.db"),
            ("~nobody/x.db", "… home directory of another user"),
            ("sqlite:shop.db", "file shop.db"),
            ("sqlite://shop.db", "file shop.db"),
            ("sqlite:///srv/shop.db", "file /srv/shop.db"),
            ("sqlite:////srv/shop.db", "file //srv/shop.db"),
            ("sqlite3:shop.db", "file shop.db"),
            ("sqlite+aiosqlite:///srv/shop.db", "file /srv/shop.db"),
            ("sqlite:shop.db?mode=ro", "file shop.db ro"),
            ("sqlite:a%20b.db", "file a%20b.db"),
            ("sqlite:why?.db", "file why?.db"),
            ("file:shop.db", "file shop.db"),
            ("file:/srv/a%20b.db", "file /srv/a b.db"),
            ("file:///srv/shop.db?mode=ro", "file /srv/shop.db ro"),
            ("file://localhost/srv/shop.db?mode=rw", "file /srv/shop.db"),
            ("shop=file:///srv/x.db?mode=ro&cache=private#a", "shop = file /srv/x.db ro"),
            ("file://server/srv/x.db", "… has no host"),
            ("file:x.db?immutable=1", "… `immutable` of the URL is not supported"),
            ("file:x.db?vfs=unix-none", "… `vfs` of the URL is not supported"),
            ("file:x.db?key=s3cret", "… `key` of the URL is not supported"),
            ("file:x.db?mode=x", "… expected ro, rw or rwc"),
            ("file:x.db?mode=memory", "… in memory"),
            ("file::memory:?cache=private", "… in memory"),
            (":memory:", "… in memory"),
            ("sqlite::memory:", "… in memory"),
            ("", "… the path is empty"),
            ("sqlite:", "… the path is empty"),
            ("file:", "… the path is empty"),
            // Not passwords.
            ("/srv/a:b@c.db", "file /srv/a:b@c.db"),
            ("./a:b@c.db", "file ./a:b@c.db"),
            ("a@b.db", "file a@b.db"),
            ("a:b.db", "file a:b.db"),
        ] {
            check(text, expected);
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn postgres() {
        for (text, expected) in [
            ("postgres://app:s3cret@db/shop", "postgres://app@db:5432/shop"),
            ("shop=postgres://app:s3cret@db/shop", "shop = postgres://app@db:5432/shop"),
            ("host=db user=app password=s3cret dbname=shop", "postgres://app@db/shop"),
            ("shop=host=db password='s3cret a' dbname=x", "shop = postgres://db/x"),
            ("dbname=shop", "postgres:///shop"),
            ("postgresql+psycopg2://app:s3cret@db/shop", "postgres://app@db:5432/shop"),
            ("postgres://app:p@s3cret@127.0.0.1/shop", "… write `@`"),
            ("shop=postgres://app:p@s3cret@127.0.0.1/shop", "… write `@`"),
            ("host=db password=a s3cret dbname=shop", "… single quotes"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn other_connection_strings_are_not_paths() {
        for (text, expected) in [
            ("mysql://me:s3cret@h/a", "… unknown scheme `mysql`"),
            ("jdbc:mysql://h/a?password=s3cret", "… unknown scheme `jdbc:mysql`"),
            ("pgsql://app:s3cret@h/a", "… unknown scheme `pgsql`"),
            ("mongodb+srv://app:s3cret@h/a", "… unknown scheme `mongodb+srv`"),
            ("app:s3cret@127.0.0.1/shop", "… connection string of an unknown form"),
            ("Server=h;Database=shop;User Id=sa;Password=s3cret;", "… connection string"),
            ("DRIVER={x};UID=sa;PWD=s3cret", "… connection string"),
            ("app:s3cret://h/a", "… connection string"),
            ("app:s3cret p@h/a", "… connection string"),
            ("sqlite://app:s3cret@h/a.db", "… connection string"),
            ("shop=sqlite:app:s3cret@h/a.db?mode=ro", "… connection string"),
            ("file:app:s3cret@h/a.db", "… connection string"),
            ("file:app:s3cret%40h/a.db", "… connection string"),
            ("sqlite:a.db;Password=s3cret", "… connection string"),
            ("postgres:/app:s3cret@h/a", "… connection string"),
            (" postgres://app:s3cret@h/a", "… connection string"),
            ("\"postgres://app:s3cret@h/a\"", "… connection string"),
        ] {
            check(text, expected);
        }
    }
}

//! The password file of PostgreSQL, `~/.pgpass`.

use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::error::ConnectError;

/// The path of the file. It may not exist.
pub(crate) fn path(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let path = variable("PGPASSFILE").map(PathBuf::from);
    path.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".pgpass")))
}

/// The password for a host, if the file exists and has one. Blocks.
pub(crate) fn find(
    path: &Path,
    config: &Config,
    (host, port): &(Host, u16),
) -> Result<Option<String>, ConnectError> {
    if !path.is_file() {
        return Ok(None);
    }
    let error = |reason: String| ConnectError::File { path: path.to_owned(), reason };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let is_private = path.metadata().is_ok_and(|metadata| metadata.mode() & 0o077 == 0);
        if !is_private {
            return Err(error("others can read it; change its permissions to 0600".to_owned()));
        }
    }
    let text = std::fs::read_to_string(path).map_err(|source| error(source.to_string()))?;
    let host = match host {
        Host::Tcp(name) => name.clone(),
        // As PostgreSQL's own clients do for sockets.
        #[cfg(unix)]
        Host::Unix(_) => "localhost".to_owned(),
    };
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    Ok(lookup(&text, [&host, &port.to_string(), database, user]))
}

/// The password of the first line whose fields are `*` or equal to these.
fn lookup(text: &str, wanted: [&str; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let [key @ .., password] = fields.as_slice() else { return None };
        let is_match = key.len() == wanted.len()
            && key.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        is_match.then(|| password.clone())
    })
}

/// The fields of a line, between colons. A backslash escapes the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, fields.last_mut()) {
            (':', _) => fields.push(String::new()),
            ('\\', Some(field)) => field.extend(characters.next()),
            (other, Some(field)) => field.push(other),
            (_, None) => {}
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::lookup;

    #[test]
    fn passwords_are_found() {
        let text = "# x\ndb:5432:shop:ann:first\n*:*:*:ann:a\\:b\\\\c\ndb:5432:shop:bob:1:2\n";
        for (wanted, expected) in [
            (["db", "5432", "shop", "ann"], Some("first")),
            (["other", "1", "x", "ann"], Some("a:b\\c")),
            (["db", "5432", "shop", "bob"], None),
            (["db", "5432", "shop", "eve"], None),
        ] {
            assert_eq!(lookup(text, wanted).as_deref(), expected, "{wanted:?}");
        }
    }
}

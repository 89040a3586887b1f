//! Lists of keywords, as libpq and its users write them: `host=db user=app password='a b' dbname=shop`.

/// The keywords of libpq, and those of this crate.
const KEYWORDS: &[&str] = &[
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "gssencmode",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "krbsrvname",
    "load_balance_hosts",
    "options",
    "passfile",
    "password",
    "pgbouncer",
    "port",
    "require_auth",
    "service",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslpassword",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
    "transaction_pooling",
    "user",
];

/// The keywords that alone make a list. A single other one may be the name of a database: `user=users.db`.
const SUFFICIENT: [&str; 5] = ["dbname", "hostaddr", "passfile", "password", "service"];

/// Whether a word is a keyword.
pub(crate) fn is_known(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// The remedy for the error of the driver about an unknown parameter of a URL: those of other libraries.
pub(crate) fn remedy_for_unknown(message: &str) -> &'static str {
    let Some(name) = message.strip_prefix("unknown option `") else { return "" };
    match name.trim_end_matches('`') {
        "ssl" | "tls" | "encrypt" | "sslaccept" => {
            "; use `sslmode=require` or `sslmode=verify-full`"
        }
        "schema" | "currentSchema" | "search_path" => {
            "; remove it: names are searched in the search path of the role (ALTER ROLE … SET search_path = …)"
        }
        "connection_limit" | "pool_size" | "max_connections" | "pool_timeout" => {
            "; remove it: `connections` of the configuration file is the limit of connections"
        }
        "prepareThreshold" | "statement_cache_size" | "prepared_statements" => {
            "; use `pgbouncer=true` for a connection pooler in transaction mode"
        }
        "sslcert" | "sslkey" | "sslpassword" => {
            "; remove it: client certificates are not supported"
        }
        "service" => "; write the settings of the service in the URL",
        _ => "; remove it",
    }
}

/// Whether a text is meant as a list of keywords. It may be invalid.
pub(crate) fn are_meant(text: &str) -> bool {
    let is_word = |character: char| character.is_ascii_lowercase() || character == '_';
    let Some((words, _)) = text.rsplit_once('=') else { return false };
    let mut found = 0;
    for (index, before) in words.split('=').map(str::trim_end).enumerate() {
        let rest = before.trim_end_matches(is_word);
        let word = &before[rest.len()..];
        let is_first = index == 0;
        let is_separate = rest.ends_with(char::is_whitespace) || is_first && rest.is_empty();
        let is_keyword = is_known(word) && is_separate;
        if is_first && !(is_keyword && rest.trim_start().is_empty()) {
            return false;
        }
        found += match is_keyword {
            true if SUFFICIENT.contains(&word) => 2,
            true => 1,
            false => 0,
        };
    }
    found >= 2
}

/// The keywords and values, or none if the list is invalid. Another word may be a part of a password.
pub(crate) fn parse(text: &str) -> Option<Vec<(&'static str, String)>> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, after) = rest.split_once('=')?;
        let word = *KEYWORDS.iter().find(|keyword| **keyword == word.trim_end())?;
        let (value, after) = value(after.trim_start())?;
        pairs.push((word, value));
        rest = after.trim_start();
    }
    Some(pairs)
}

/// The value at the beginning of a text, and the rest. Backslashes escape characters.
fn value(text: &str) -> Option<(String, &str)> {
    let quoted = text.strip_prefix('\'');
    let mut value = String::new();
    let mut characters = quoted.unwrap_or(text).chars();
    loop {
        let rest = characters.as_str();
        match characters.next() {
            Some('\\') => value.push(characters.next()?),
            Some('\'') if quoted.is_some() => {
                let rest = characters.as_str();
                return rest
                    .chars()
                    .next()
                    .is_none_or(char::is_whitespace)
                    .then_some((value, rest));
            }
            Some(character) if quoted.is_none() && character.is_whitespace() => {
                return Some((value, rest));
            }
            Some(character) => value.push(character),
            None => return quoted.is_none().then_some((value, "")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{are_meant, parse};

    #[track_caller]
    fn check(text: &str, expected: Option<&[(&str, &str)]>) {
        assert!(are_meant(text), "{text}");
        let parsed = parse(text);
        let found = parsed.as_ref().map(|pairs| {
            pairs.iter().map(|(word, value)| (*word, value.as_str())).collect::<Vec<_>>()
        });
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn lists() {
        check("host=a user=b", Some(&[("host", "a"), ("user", "b")]));
        check(" host = a\tuser='b c' ", Some(&[("host", "a"), ("user", "b c")]));
        check(r"host=a password='it\'s \\'", Some(&[("host", "a"), ("password", r"it's \")]));
        check(r"host=a password=b\ c", Some(&[("host", "a"), ("password", "b c")]));
        check("host= user=b", Some(&[("host", "user=b")]));
        check("host='' user=b", Some(&[("host", ""), ("user", "b")]));
        check("password=a=b", Some(&[("password", "a=b")]));
        check("host=a user=b c", None);
        check("host=a user='b", None);
        check("host=a user='b'c", None);
        check("host=a user=b\\", None);
        check("host=a user=b other=c", None);
    }

    #[test]
    fn names_of_databases_are_no_keywords() {
        for text in [
            "",
            "=",
            "a.db",
            "user=users.db",
            "host=a",
            "main=host",
            "shop=host=a user=b",
            "a host=b user=c",
        ] {
            assert!(!are_meant(text), "{text}");
        }
    }
}

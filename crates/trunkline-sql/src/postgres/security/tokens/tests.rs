use std::collections::HashMap;
use std::ops::Range;

use futures_util::future::join_all;
use tokio::net::TcpStream;
use tokio_postgres::config::Host;
use tokio_postgres::error::{ErrorPosition, SqlState};
use tokio_postgres::{Client, Config, NoTls};
use trunkline_test_postgres as server;

use super::{Token, spans, tokens};
use crate::random::Random;

/// Renders quoted identifiers in brackets, and values as `?`.
#[track_caller]
fn check(sql: &str, expected: Option<&str>) {
    let show = |token: &Token| match token {
        Token::Word(word) => word.clone(),
        Token::Quoted(name) => format!("[{name}]"),
        Token::Value => "?".to_owned(),
        Token::Sign(sign) => sign.to_string(),
    };
    let shown =
        tokens(sql).ok().map(|tokens| tokens.iter().map(show).collect::<Vec<_>>().join(" "));
    assert_eq!(shown.as_deref(), expected, "{sql}");
}

#[test]
fn texts_are_split() {
    for (sql, expected) in [
        ("SELECT a.\"B\"\"c\" -- x\n, 1.5e3", "select a . [B\"c] , ?"),
        ("a /* b /* c */ d */ e", "a e"),
        ("'it''s; --' x", "? x"),
        (r"'\' x '\'", "? x ?"),
        (r"E'\' x \'' y", "? y"),
        ("U&'\\0061' y", "? y"),
        ("B'01' x'0F' N'a'", "? ? ?"),
        ("$$a'b$$ c", "? c"),
        ("$t$ $$ $x$ $t$ c", "? c"),
        ("$1 + $23", "? + ?"),
        ("a$b$c", "a$b$c"),
        ("pg_Read_File (", "pg_read_file ("),
        ("été('x')", "été ( ? )"),
        ("1..2", "? . ?"),
        ("1_000 0x1F 0b01 1.e5+.5 1e-3", "? ? ? ? + ? ?"),
        ("'a'\n'b\\' c", "? ? c"),
        ("'a' -- c\n 'b'", "? ?"),
        ("a+--b\n1", "a + ?"),
        ("a*/*b*/1", "a * ?"),
        ("$ä$'$ä$ b", "? b"),
        ("$1$$'$$", "? ?"),
        ("a\x0cb '\x0b' \"\x0b\" --\x0b", "a b ? [\x0b]"),
        ("U&'a' UESCAPE '\\' b", "? uescape ? b"),
        ("e 'x'", "e ?"),
    ] {
        check(sql, Some(expected));
    }
}

#[test]
fn parameters_of_other_engines() {
    for (sql, expected) in [
        ("SELECT * FROM t WHERE a = ?", true),
        ("SELECT :a", true),
        ("SELECT a::text, $1, '?' -- :a", false),
        ("SELECT a[1:2]", false),
    ] {
        assert_eq!(super::has_foreign_parameters(sql), expected, "{sql}");
    }
}

#[test]
fn unclear_texts_are_refused() {
    for sql in [
        "'a",
        "\"a",
        "/* a",
        "/* /* */",
        "$$a",
        "$a$ $$",
        "E'\\'",
        "U&\"\\0061\"",
        "u&\"a\"",
        "E'a'\n'b\\''",
        "e'a' -- c\n\t'b'",
        "N'a'\r'b'",
        "B'1'\n'0'",
        "x'1'\n\n'0'",
        "b'0''1'",
        "U&'a'\n'b'",
        "1e5e'\\''",
        "1a",
        "1e'\\''",
        "1e+x",
        "0x'1'",
        "0x1Fg",
        "1_000é",
        "dblİnk",
        "pg_read_file\x0b('x')",
    ] {
        check(sql, None);
    }
    for length in [63, 64] {
        let name = "é".repeat(31) + &"a".repeat(length - 62);
        for sql in [name.clone(), format!("\"{name}\"")] {
            assert_eq!(tokens(&sql).is_ok(), length == 63, "{sql}");
        }
    }
}

/// Compares tokens with those of the server, for texts with these parts and characters of all of Unicode.
#[test]
#[ignore = "needs PostgreSQL"]
fn texts_are_split_as_the_server_splits_them() {
    compare_with_server(5_000);
}

#[test]
#[ignore = "takes long: `cargo xtask soak` runs it"]
fn a_million_texts_are_split_as_the_server_splits_them() {
    compare_with_server(1_000_000);
}

const PARTS: &[&str] = &[
    " ",
    " ",
    " ",
    "\t",
    "\n",
    "\x0b",
    "\x0c",
    "\r",
    "\u{feff}",
    "\u{a0}",
    "\u{2028}",
    "\u{85}",
    "--",
    "/*",
    "*/",
    "/**/",
    "/",
    "*",
    "'",
    "'a'",
    "'it''s'",
    "\\'",
    "'\\'",
    "e'",
    "E'\\''",
    "e",
    "b'0'",
    "X'0f'",
    "n'a'",
    "u&",
    "U&'a'",
    "U&\"a\"",
    "\"",
    "\"B\"",
    "\"b\"\"c\"",
    "$",
    "$$",
    "$a$",
    "$é$",
    "$1",
    "$1a",
    "(",
    ")",
    "[",
    "]",
    ".",
    "..",
    ":",
    "::",
    ":=",
    "?",
    "@",
    "#",
    "0x",
    "0xF ",
    "0b1 ",
    "_",
    "1 ",
    "12",
    "1_0",
    ".5 ",
    "E+",
    "1e-1 ",
    "a",
    "B",
    "é",
    "É",
    "a$",
    "select",
    "From",
    "not",
    "WITH",
    "nulls",
    "->",
    "->>",
    ">",
    "<",
    "=",
    "=>",
    "!=",
    "|",
    "||",
    "&",
    "~",
    "+",
    "-",
    ",",
    ";",
    "%",
    "^",
    "\\",
    "`",
];

fn text(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(12) {
        match random.below(32) {
            // Each character but NUL and those of UTF-16.
            0 | 1 => text.extend(char::from_u32(random.below(0x10_FFFF) as u32 + 1)),
            2 => text.extend(char::from_u32(random.below(0x7F) as u32 + 1)),
            _ => text.push_str(random.one_of(PARTS)),
        }
    }
    text
}

/// The first token of a text for the server.
#[derive(Debug, PartialEq, Eq)]
enum First {
    None,
    Token(Range<usize>),
    /// The server refuses the text.
    Refused,
}

async fn first_token(client: &Client, text: &str) -> First {
    // Only `LEVEL` is valid after it.
    const BEFORE: &str = "BEGIN ISOLATION ";
    let sql = format!("{BEFORE}{text}");
    let error = client.prepare(&sql).await.unwrap_err();
    let error = error.as_db_error().unwrap_or_else(|| panic!("{sql:?}: {error}"));
    if error.message() == "syntax error at end of input" {
        return First::None;
    }
    let token = error.message().strip_prefix("syntax error at or near \"");
    let Some(token) = token.and_then(|rest| rest.strip_suffix('"')) else { return First::Refused };
    assert_eq!(*error.code(), SqlState::SYNTAX_ERROR, "{sql:?}: {error}");
    let Some(ErrorPosition::Original(place)) = error.position() else { panic!("{sql:?}: {error}") };
    let skipped = sql.chars().take(*place as usize - 1).map(char::len_utf8).sum::<usize>();
    let start = skipped - BEFORE.len();
    First::Token(start..start + token.len())
}

/// The name that the server reads from a token.
async fn name_of(client: &Client, token: &str) -> String {
    let sql = format!("SELECT 1 AS {token}");
    let prepared = client.prepare(&sql).await.unwrap_or_else(|error| panic!("{sql:?}: {error}"));
    prepared.columns()[0].name().to_owned()
}

#[track_caller]
fn compare_with_server(count: usize) {
    let mut random = Random::new();
    let seed = random.seed();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let compared = runtime.block_on(async {
        let url = format!("{}/postgres", server::url());
        let config: Config = url.parse().unwrap();
        let (Host::Tcp(host), port) = (&config.get_hosts()[0], config.get_ports()[0]) else {
            panic!("{url} has no address")
        };
        let stream = TcpStream::connect((&**host, port)).await.unwrap();
        let (client, connection) = config.connect_raw(stream, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("SET lc_messages = 'C'").await.unwrap();
        let mut names = HashMap::new();
        let mut compared = 0;
        for _ in 0..count {
            let text = text(&mut random);
            // A text that is refused is not sent to a server.
            let Ok(spans) = spans(&text) else { continue };
            let is_whole = compare(&client, &text, &spans, &mut names).await;
            compared += usize::from(is_whole.unwrap_or_else(|found| {
                panic!("{text:?}, SEED={seed}: {spans:?}, but the server: {found}")
            }));
        }
        compared
    });
    assert!(compared > count / 4, "only {compared} of {count} texts are valid for both");
}

/// Whether the server splits the whole text. An error describes the first difference.
async fn compare(
    client: &Client,
    text: &str,
    spans: &[(Token, Range<usize>)],
    names: &mut HashMap<String, String>,
) -> Result<bool, String> {
    let end = spans.last().map_or(0, |(_, range)| range.end);
    let starts = spans.iter().map(|(_, range)| range.start).chain([end]);
    let firsts = starts.map(|start| first_token(client, &text[start..]));
    let firsts = join_all(firsts).await;
    let mut index = 0;
    while let Some((token, range)) = spans.get(index) {
        let mut length = match &firsts[index] {
            First::Refused => return Ok(false),
            First::Token(found) if found.start == 0 => found.end,
            other => return Err(format!("{other:?} at {}", range.start)),
        };
        // For the server, `n` of `n'a'` is a separate token.
        if *token == Token::Value && length == 1 && text[range.clone()].starts_with(['n', 'N']) {
            match first_token(client, &text[range.start + 1..]).await {
                First::Token(found) if found.start == 0 => length += found.end,
                other => return Err(format!("{other:?} at {}", range.start + 1)),
            }
        }
        let found = range.start..range.start + length;
        // The server has tokens of several signs, and continues strings after a line break.
        let parts = spans[index..].iter().take_while(|(_, part)| part.end <= found.end);
        let parts: Vec<_> = parts.collect();
        let is_one = matches!(&*parts, [_]);
        let are_signs = parts.iter().all(|(part, _)| matches!(part, Token::Sign(_)));
        let are_strings = parts.iter().all(|(part, part_range)| {
            *part == Token::Value && text[part_range.clone()].ends_with('\'')
        });
        let ends_together = parts.last().is_some_and(|(_, last)| last.end == found.end);
        if !ends_together || !(is_one || are_signs || are_strings) {
            return Err(format!("{:?} at {}", &text[found.clone()], range.start));
        }
        if let Some(name) = token.name() {
            let token = &text[found];
            if !names.contains_key(token) {
                names.insert(token.to_owned(), name_of(client, token).await);
            }
            if names[token] != name {
                return Err(format!("the name {:?}", names[token]));
            }
        }
        index += parts.len();
    }
    match &firsts[spans.len()] {
        First::None => Ok(true),
        First::Refused => Ok(false),
        First::Token(found) => Err(format!("{found:?} after {end}")),
    }
}

//! Which code may know what: the protocol no runtime and no HTTP, a domain no JSON-RPC.

use std::path::Path;

use super::{Finding, in_crate_source, is_test_file};
use crate::tidy::source::{Source, is_identifier};

/// The rooms of `crates/trunkline/src` that move bytes or measure time, and parts of others.
/// Every other one is protocol, a new one too until it is named here. (`extensions` hands on the type map that HTTP
/// middleware has filled, and nothing else of HTTP.)
const ROOMS_WITH_A_RUNTIME: &[&str] = &[
    "access/jwt/keys",
    "blocking",
    "client",
    "extensions",
    "history",
    "http",
    "layers",
    "lib",
    "memory",
    "openrpc/door",
    "server",
    "stdio",
    "stream",
    "unix",
];

/// What protocol code may not mention. The `CancellationToken` of tokio-util is not among it: a
/// flag with a waker is no runtime.
const RUNTIME: &[&str] = &["tokio::", "hyper", "hyper_util", "http::", "use http"];

/// Domain crates, each with the modules of its `src` that register it with the protocol. (`model/arguments` rejects
/// duplicate keys, which concerns JSON alone.)
const DOMAINS: &[(&str, &[&str])] = &[
    ("trunkline-sql", &["model/arguments", "operations"]),
    ("trunkline-resources", &["adapter", "operations", "routes"]),
];

/// Paths that a domain may not mention outside those modules.
const PROTOCOL: &[&str] = &["trunkline::", "use trunkline"];

pub(super) fn check(path: &Path, source: &Source) -> Vec<Finding> {
    let Some((name, inside)) = in_crate_source(path) else {
        return Vec::new();
    };
    if is_test_file(inside) {
        return Vec::new();
    }
    let file = inside.with_extension("");
    let has_runtime = ROOMS_WITH_A_RUNTIME.iter().any(|named| file.starts_with(named));
    if name == "trunkline" && !has_runtime {
        return mentions(path, source, RUNTIME, "protocol code knows no runtime and no HTTP");
    }
    let domain = DOMAINS.iter().find(|(domain, _)| *domain == name);
    if domain.is_some_and(|(_, allowed)| !allowed.iter().any(|named| file.starts_with(named))) {
        return mentions(path, source, PROTOCOL, "the domain knows no JSON-RPC");
    }
    Vec::new()
}

fn mentions(path: &Path, source: &Source, words: &[&str], rule: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in source.code_before_tests() {
        if let Some(word) = words.iter().find(|word| mentions_word(line, word)) {
            findings.push(Finding::in_file(path, number, format!("`{word}` here, but {rule}")));
        }
    }
    findings
}

/// Whether the word stands there whole: `http::` is in `crate::http::Body`, not in `tower_http::`.
fn mentions_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open_end = word.ends_with(is_identifier) && after.is_some_and(is_identifier);
        !before.is_some_and(is_identifier) && !open_end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `lines` are the ones with a finding.
    #[track_caller]
    fn check_file(file: &str, text: &str, lines: &[usize]) {
        let found = check(Path::new(file), &Source::parse(text));
        let places: Vec<String> = found.into_iter().map(|finding| finding.place).collect();
        let expected: Vec<String> = lines.iter().map(|line| format!("{file}:{line}")).collect();
        assert_eq!(places, expected, "{text:?}");
    }

    #[test]
    fn protocol_code_knows_no_runtime_and_no_http() {
        const ID: &str = "crates/trunkline/src/id.rs";
        check_file(ID, "use tokio::sync::Mutex;", &[1]);
        check_file(ID, "\nuse hyper::Request;", &[2]);
        check_file(ID, "use hyper_util::rt::TokioIo;", &[1]);
        check_file(ID, "use http::{Request, Response};", &[1]);
        check_file(ID, "use http;", &[1]);
        check_file(ID, "fn a(b: crate::http::Body) {}", &[1]);
        check_file(ID, "use tokio_util::sync::CancellationToken;", &[]);
        check_file(ID, "// tokio::spawn\nlet a = \"http::\";", &[]);
        check_file(ID, "#[cfg(test)]\nmod tests {\n#[tokio::test]\n}", &[]);

        let spawns = "tokio::spawn(a);";
        check_file("crates/trunkline/src/router/method.rs", spawns, &[1]);
        check_file("crates/trunkline/src/anything/new.rs", spawns, &[1]);
        check_file("crates/trunkline/src/router/tests.rs", spawns, &[]);
        check_file("crates/trunkline/src/http/body.rs", spawns, &[]);
        check_file("crates/trunkline/src/server.rs", spawns, &[]);
        check_file("crates/trunkline/src/openrpc/door.rs", spawns, &[]);
        check_file("crates/trunkline/src/openrpc/method.rs", spawns, &[1]);
        check_file("crates/trunkline/src/access/jwt/keys/cache.rs", spawns, &[]);
        check_file("crates/trunkline/src/access/jwt/claims.rs", spawns, &[1]);
        check_file("crates/trunkline/tests/http.rs", spawns, &[]);
        check_file("crates/trunkline-mcp/src/session.rs", spawns, &[]);
    }

    #[test]
    fn a_domain_knows_no_json_rpc() {
        let speaks = "use std::io;\nuse trunkline::Router;";
        check_file("crates/trunkline-sql/src/sqlite/pool.rs", speaks, &[2]);
        check_file("crates/trunkline-sql/src/model/value.rs", speaks, &[2]);
        check_file("crates/trunkline-sql/src/lib.rs", speaks, &[2]);
        check_file("crates/trunkline-sql/src/pool.rs", "fn a() -> trunkline::Error {}", &[1]);
        check_file("crates/trunkline-sql/src/pool.rs", "use trunkline as rpc;", &[1]);
        check_file("crates/trunkline-sql/src/pool.rs", "use trunkline_sql::a;", &[]);
        check_file("crates/trunkline-sql/src/model/arguments.rs", speaks, &[]);
        check_file("crates/trunkline-sql/src/operations.rs", speaks, &[]);
        check_file("crates/trunkline-sql/src/operations/query.rs", speaks, &[]);
        check_file("crates/trunkline-resources/src/resources/mod.rs", speaks, &[2]);
        check_file("crates/trunkline-resources/src/adapter/native.rs", speaks, &[]);
    }
}

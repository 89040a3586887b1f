use std::collections::HashMap;

use anyhow::Context;

use super::*;

/// `files` are the files of a crate with `src/lib.rs`; `expected` are parts of the findings, in order.
#[track_caller]
fn check(order: &[&str], recursive: &[&str], files: &[(&str, &str)], expected: &[&str]) {
    let files: HashMap<&Path, &str> =
        files.iter().map(|(path, text)| (Path::new(*path), *text)).collect();
    let read = |path: &Path| {
        let name = path.strip_prefix("src").context("outside of src")?;
        files.get(name).map(|text| (*text).to_owned()).context("file not found")
    };
    let tree = tree::read(Path::new("src/lib.rs"), &read).unwrap();
    let declared = Declaration {
        order: order.iter().map(|name| (*name).to_owned()).collect(),
        only: [("tokio".to_owned(), vec!["io".to_owned()])].into(),
        recursive: recursive.iter().map(|name| ((*name).to_owned(), String::new())).collect(),
    };
    let findings = check_tree(&tree, &declared, Path::new("src"));
    assert_eq!(findings.len(), expected.len(), "{files:?}: {findings:?}");
    for (finding, part) in findings.iter().zip(expected) {
        assert!(finding.contains(part), "{finding:?} has no {part:?}");
    }
}

#[test]
fn rejects_upward_uses() {
    let above = "`crate::b::B` is in b, which is above this module";
    let rows: &[(&str, &[&str])] = &[
        ("use crate::b::B;", &[above]),
        ("use super::b::B;", &["src/a.rs:1: `super::b::B` is in b"]),
        ("fn f(_: crate::b::B) {}", &[above]),
        ("fn f() { g(vec![crate::b::B]) }", &[above]),
        ("use crate::b;\nfn f(_: b::B) {}", &["src/a.rs:2: `b::B` is in b"]),
        ("use crate::B;", &["`crate::B` is in b"]),
        ("use crate::Root;", &["`crate::Root` is in the root of the crate"]),
        ("use crate::b as other;\ntype T = other::B;", &["`other::B` is in b"]),
        ("use crate::all::*;\ntype T = B;", &["`B` is in b"]),
        ("pub use crate::b::B;\nfn f(_: B) {}", &["src/a.rs:2: `B` is in b"]),
        // Re-exports, tests and other crates do not count as uses.
        ("pub use crate::b::B;", &[]),
        ("#[cfg(test)]\nmod tests { use crate::b::B; }", &[]),
        ("#[cfg(test)]\nuse crate::b::B;", &[]),
        ("use serde::B;\nfn f(_: B) {}", &[]),
    ];
    for (a, expected) in rows {
        let files = [
            ("lib.rs", "mod a; mod b; mod all; pub use b::B; struct Root;"),
            ("a.rs", a),
            ("all.rs", "pub use crate::b::*;"),
            ("b/mod.rs", "pub struct B; use crate::a;"),
        ];
        check(&["a", "b", "all"], &[], &files, expected);
    }
}

#[test]
fn rejects_cycles_in_a_folder() {
    let cycle = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod b;\nuse b::B;\npub struct A;"),
        ("a/b.rs", "use super::A;\npub struct B;"),
    ];
    let expected =
        ["src/a/mod.rs:2: `b::B`, in a::b, is a use in", "src/a/b.rs:1: `super::A`, in a"];
    check(&["a"], &[], &cycle, &expected);
    check(&["a"], &["a"], &cycle, &[]);
    let reexports = [("a/mod.rs", "mod b;\npub use b::B;\npub struct A;"), cycle[0], cycle[2]];
    check(&["a"], &[], &reexports, &[]);
}

#[test]
fn rejects_stale_declarations() {
    let files = [("lib.rs", "mod a;"), ("a.rs", "")];
    check(&["a"], &[], &files, &[]);
    check(&[], &[], &files, &["`a` is missing in the order of modules"]);
    check(&["a", "b"], &[], &files, &["`b` in the order of modules does not exist"]);
    check(&["a"], &["a"], &files, &["`a` is declared recursive, but has no cycle"]);
}

#[test]
fn rejects_uses_of_restricted_crates() {
    let rows: &[(&str, &[&str])] = &[
        ("use tokio::spawn;", &["src/a.rs:1: `tokio` here, but only io may use it"]),
        ("fn f() { tokio::spawn(g) }", &["`tokio` here"]),
        ("fn f() { tokio::select! {} }", &["`tokio` here"]),
        ("use serde::Serialize;\nfn f(tokio: u8) -> u8 { tokio }", &[]),
    ];
    for (a, expected) in rows {
        let files = [
            ("lib.rs", "use tokio as t; mod a; mod io;"),
            ("a.rs", a),
            ("io.rs", "use tokio::io;"),
        ];
        check(&["a", "io"], &[], &files, expected);
    }
}

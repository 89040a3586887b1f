use super::{RESERVED, TemplatePart, UriTemplate, uri_value};

/// `expected` has the values in the order of the match, separated by `|`; `None` if nothing matches.
#[track_caller]
fn check(template: &str, uri: &str, expected: Option<&str>) {
    let parsed = UriTemplate::parse(template).unwrap();
    let found = parsed.matches(uri).map(|values| {
        let values: Vec<String> =
            values.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        values.join("|")
    });
    assert_eq!(found.as_deref(), expected, "{template} {uri}");
}

#[test]
fn uris_match_templates() {
    check("docs://{name}", "docs://readme", Some("name=readme"));
    check("docs://{name}", "docs://", None);
    check("docs://{name}", "docs://a/b", None);
    check("docs://{name}", "docs://a?b", None);
    check("docs://{name}", "docs://a#b", None);
    check("docs://{name}", "other://a", None);
    check("docs://{name}", "docs://a%20b", Some("name=a b"));
    check("docs://{name}", "docs://%C3%BC", Some("name=ü"));
    check("docs://{name}", "docs://ü", Some("name=ü"));
    check("docs://{name}/data", "docs://7/data", Some("name=7"));
    check("docs://{name}/data", "docs://7/data/", None);
    check("docs://{name}/data", "docs://7", None);
    check("docs://{a}/{b}", "docs://x/y", Some("a=x|b=y"));
    check("docs://{a}.{b}", "docs://x.y.z", Some("a=x|b=y.z"));
    check("docs://{a}.json", "docs://a.json.json", Some("a=a.json"));
    check("docs://{+path}", "docs://a/b/c", Some("path=a/b/c"));
    check("docs://{+path}/end/{last}", "docs://a/end/b/end/c", Some("path=a/end/b|last=c"));
    check("docs://x{/a}{.b}", "docs://x/one.two", Some("a=one|b=two"));
    check("docs://x{#a}", "docs://x#one/two", Some("a=one/two"));
    check("docs://aa{a}aab", "docs://aaaaaab", Some("a=aa"));
    check("docs://static", "docs://static", Some(""));
    check("docs://static", "docs://static/", None);
}

#[test]
fn queries_match_in_any_order() {
    check("docs://x{?a,b}", "docs://x", Some(""));
    check("docs://x{?a,b}", "docs://x?b=2&a=1", Some("b=2|a=1"));
    check("docs://x{?a,b}", "docs://x?a=", Some("a="));
    check("docs://x{?a,b}", "docs://x?a=1&a=2", None);
    check("docs://x{?a,b}", "docs://x?c=1", None);
    check("docs://x{?a,b}", "docs://x?a", None);
    check("docs://x{?a,b}", "docs://x?", None);
    check("docs://{name}{?a}", "docs://n?a=x%26y", Some("name=n|a=x&y"));
}

#[test]
fn values_do_not_leave_their_place() {
    for uri in [
        "f:///..",
        "f:///.",
        "f:///%2e%2e",
        "f:///%2E%2e%2Fsecret",
        "f:///a/../b",
        "f:///a/%2e%2e/b",
        "f:///a\\..\\b",
        "f:///a%5c..%5cb",
        "f:////etc/passwd",
        "f:///%2Fetc%2Fpasswd",
        "f:///%5Cetc",
        "f:///a%00b",
        "f:///a%0ab",
        "f:///a\nb",
        "f:///a%",
        "f:///a%2",
        "f:///a%zz",
        "f:///a%+1",
        "f:///%ff",
        "f:///%c3",
    ] {
        check("f:///{+path}", uri, None);
        check("f:///{name}", uri, None);
    }
    check("f:///{name}", "f:///a%2Fb", Some("name=a/b"));
    check("f:///{name}", "f:///...", Some("name=..."));
    check("f:///{name}", "f:///%252e%252e", Some("name=%2e%2e"));
    check("f:///x{?a}", "f:///x?a=..%2fb", None);
}

#[test]
fn encoded_values_match() {
    let template = UriTemplate::parse("f:///{name}/x").unwrap();
    for text in ["a", "a b", "ü", "a/b", "a?b#c&d=e%", "{}", "...", "a..b", "\"'", "\\a"] {
        match uri_value(text) {
            Some(encoded) => {
                let found = template.matches(&format!("f:///{encoded}/x")).unwrap();
                assert_eq!(found, [("name", text.to_owned())]);
            }
            None => assert!(text.starts_with('\\'), "{text}"),
        }
    }
    for text in ["", ".", "..", "../a", "a/..", "a\\..", "/a", "a\0"] {
        assert_eq!(uri_value(text), None, "{text}");
    }
}

#[track_caller]
fn refused(template: &str, expected: &str) {
    let found = UriTemplate::parse(template).unwrap_err();
    assert!(found.contains(expected), "{template}: {found}");
}

#[test]
fn invalid_templates_are_refused() {
    refused("{name}", "scheme");
    refused("docs", "scheme");
    refused("1a://{name}", "scheme");
    refused("docs://{name", "without `}`");
    refused("docs://name}", "without `{`");
    refused("docs://{}", "must be a name");
    refused("docs://{a b}", "must be a name");
    refused("docs://{{a}}", "operator");
    refused("docs://{a,b}", "several");
    refused("docs://{a}{b}", "adjacent");
    refused("docs://{a}{+b}", "adjacent");
    refused("docs://{a*}", "modifiers");
    refused("docs://{a:3}", "modifiers");
    refused("docs://{;a}", "operator");
    refused("docs://{=a}", "operator");
    refused("docs://{&a}", "operator");
    refused("docs://{?a}{?b}", "operator");
    refused("docs://x?y=1{?a}", "two queries");
    refused("docs://{?a}/b", "at the end");
    refused("docs://{?a}{#b}", "at the end");
    refused("docs://{a}/{a}", "same name");
    refused("docs://a b/{a}", "character");
    refused(&format!("docs://{}", "x".repeat(3_000)), "longer");
    let many: String = (0..20).map(|n| format!("{{/v{n}}}")).collect();
    refused(&format!("docs://{many}"), "more than 16");
}

/// All paths of up to seven characters, compared with a search that tries all values, the shortest first.
#[test]
fn each_variable_has_its_shortest_value() {
    fn expected(parts: &[TemplatePart], path: &str) -> Option<Vec<usize>> {
        match parts {
            [] => path.is_empty().then(Vec::new),
            [TemplatePart::Literal(literal), rest @ ..] => {
                let ends = expected(rest, path.strip_prefix(&**literal)?)?;
                Some(after(literal.len(), ends))
            }
            [TemplatePart::Variable(variable), rest @ ..] => (1..=path.len())
                .take_while(|end| variable.is_reserved || !path[..*end].contains(RESERVED))
                .find_map(|end| Some(after(end, expected(rest, &path[end..])?))),
        }
    }
    fn after(end: usize, ends: Vec<usize>) -> Vec<usize> {
        [end].into_iter().chain(ends.into_iter().map(|one| end + one)).collect()
    }
    let templates = [
        "x:{a}",
        "x:{+a}",
        "x:{a}a",
        "x:a{a}aa{b}a",
        "x:{a}/{b}",
        "x:{a}a/a{b}",
        "x:{+a}/{b}",
        "x:{+a}a{b}",
        "x:{+a}a{b}a",
        "x:{+a}a{b}/{c}",
        "x:{+a}a{+b}",
        "x:{+a}a{b}a{+c}",
        "x:{a}a{+b}a{c}b",
        "x:{+a}a/{b}a{+c}/{d}",
    ];
    let mut count = 0;
    for template in templates {
        let parsed = UriTemplate::parse(template).unwrap();
        for length in 0..=7 {
            for number in 0..3_usize.pow(length) {
                let digits = (0..length).map(|at| number / 3_usize.pow(at) % 3);
                let text: String = digits.map(|digit| ["a", "b", "/"][digit]).collect();
                let path = format!("x:{text}");
                let found = parsed.ends(&path);
                assert_eq!(found, expected(&parsed.parts, &path), "{template} {path}");
                count += usize::from(found.is_some());
            }
        }
    }
    assert!(count > 5_000, "{count}");
}

#[test]
fn a_hostile_uri_takes_linear_time() {
    let started = std::time::Instant::now();
    for operator in ["", "+"] {
        let variables: String = (0..16).map(|n| format!("a{{{operator}v{n}}}")).collect();
        let template = UriTemplate::parse(&format!("x:{variables}b")).unwrap();
        assert_eq!(template.matches(&format!("x:{}", "a".repeat(16_000))), None);
        assert!(template.matches(&format!("x:{}b", "a".repeat(16_000))).is_some());
    }
    // The last variable fails for each value of the first one.
    let template = UriTemplate::parse("x:{+a}a{b}/{c}b{d}").unwrap();
    let uri = format!("x:{}/{}/b", "a".repeat(100_000), "x".repeat(100_000));
    assert_eq!(template.matches(&uri), None);
    // Backtracking would take years.
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
}

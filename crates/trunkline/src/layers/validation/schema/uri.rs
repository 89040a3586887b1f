//! The resolution of URI references (RFC 3986, section 5.2) without fragments.

/// The components of a reference, without a fragment.
struct Parts<'r> {
    scheme: Option<&'r str>,
    authority: Option<&'r str>,
    path: &'r str,
    query: Option<&'r str>,
}

/// The URI that a reference means, relative to a base. Without a base, it is the reference.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    let (base, reference) = (parts(base), parts(reference));
    if reference.scheme.is_some() {
        return written(
            reference.scheme,
            reference.authority,
            &normal(reference.path),
            reference.query,
        );
    }
    let scheme = base.scheme;
    if reference.authority.is_some() {
        return written(scheme, reference.authority, &normal(reference.path), reference.query);
    }
    if reference.path.is_empty() {
        let query = reference.query.or(base.query);
        return written(scheme, base.authority, base.path, query);
    }
    let path = match base.path.rsplit_once('/') {
        _ if reference.path.starts_with('/') => reference.path.to_owned(),
        Some((folder, _)) => format!("{folder}/{}", reference.path),
        None if base.authority.is_some() => format!("/{}", reference.path),
        None => reference.path.to_owned(),
    };
    written(scheme, base.authority, &normal(&path), reference.query)
}

fn parts(reference: &str) -> Parts<'_> {
    let (rest, query) = match reference.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (reference, None),
    };
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, rest),
    };
    match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            Parts { scheme, authority: Some(authority), path, query }
        }
        None => Parts { scheme, authority: None, path: rest, query },
    }
}

/// A path without `.` and `..`.
fn normal(path: &str) -> String {
    if !path.split('/').any(|segment| matches!(segment, "." | "..")) {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." if kept.len() > 1 || kept.first().is_some_and(|first| !first.is_empty()) => {
                kept.pop();
            }
            ".." => {}
            segment => kept.push(segment),
        }
        if is_last && matches!(segment, "." | "..") {
            kept.push("");
        }
    }
    kept.join("/")
}

fn written(
    scheme: Option<&str>,
    authority: Option<&str>,
    path: &str,
    query: Option<&str>,
) -> String {
    let mut uri = String::new();
    if let Some(scheme) = scheme {
        uri += scheme;
        uri.push(':');
    }
    if let Some(authority) = authority {
        uri += "//";
        uri += authority;
    }
    uri += path;
    if let Some(query) = query {
        uri.push('?');
        uri += query;
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[track_caller]
    fn check(reference: &str, expected: &str) {
        assert_eq!(resolve("http://a/b/c/d?q", reference), expected, "{reference}");
    }

    #[test]
    fn references_are_resolved_against_a_base() {
        check("g:h", "g:h");
        check("g", "http://a/b/c/g");
        check("./g", "http://a/b/c/g");
        check("g/", "http://a/b/c/g/");
        check("/g", "http://a/g");
        check("//g", "http://g");
        check("?y", "http://a/b/c/d?y");
        check("g?y", "http://a/b/c/g?y");
        check("", "http://a/b/c/d?q");
        check(".", "http://a/b/c/");
        check("..", "http://a/b/");
        check("../g", "http://a/b/g");
        check("../../../g", "http://a/g");
        check("g/./h", "http://a/b/c/g/h");
        check("g/../h", "http://a/b/c/h");
        for (base, reference, expected) in [
            ("", "a/b.json", "a/b.json"),
            ("http://a", "g", "http://a/g"),
            ("urn:a:b", "", "urn:a:b"),
            ("a/b", "c", "a/c"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{base} {reference}");
        }
    }
}

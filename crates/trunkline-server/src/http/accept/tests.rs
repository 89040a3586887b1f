use http::HeaderValue;

use super::*;

/// What a request in JSON, and one in EDN, is answered in.
#[track_caller]
fn check(accepts: &[&str], to_json: Format, to_edn: Format) {
    let accepts = accepts.iter().map(|accept| (ACCEPT, HeaderValue::from_str(accept).unwrap()));
    let headers: HeaderMap = accepts.collect();
    let found = [Format::Json, Format::Edn]
        .map(|request| preferred(&Fields::of(&headers), request, Format::ALL));
    assert_eq!(found, [to_json, to_edn], "{headers:?}");
}

#[track_caller]
fn check_same(accepts: &[&str]) {
    check(accepts, Format::Json, Format::Edn);
}

#[track_caller]
fn check_json(accepts: &[&str]) {
    check(accepts, Format::Json, Format::Json);
}

#[track_caller]
fn check_edn(accepts: &[&str]) {
    check(accepts, Format::Edn, Format::Edn);
}

#[test]
fn without_a_preference_the_reply_is_as_the_request() {
    check_same(&[]);
    check_same(&[""]);
    check_same(&["*/*"]);
    check_same(&["application/*"]);
    check_same(&["application/json, application/edn"]);
    check_same(&["application/edn;q=0.5, application/json;q=0.500"]);
    check_same(&["application/json;q=0.7", "application/edn;q=0.7"]);
    check_same(&["text/html, */*;q=0.1"]);
    check_same(&[", ,*/* ,"]);
}

#[test]
fn the_preferred_format_is_chosen() {
    check_json(&["application/json"]);
    check_json(&["Application/JSON"]);
    check_json(&["application/json-rpc"]);
    check_json(&["application/json, text/event-stream"]);
    check_json(&["application/json, text/plain, */*;q=0.9"]);
    check_json(&["application/json;q=0.001"]);
    check_json(&["application/edn;q=0.8,application/json;q=0.801"]);
    check_edn(&["application/edn"]);
    check_edn(&["APPLICATION/EDN"]);
    check_edn(&["application/edn, application/json;q=0.5"]);
    check_edn(&["application/edn; q=1.0 , application/json ; q=0.999"]);
    check_edn(&["text/plain", "application/edn"]);
    check_edn(&["application/json;q=0.2", "application/edn;q=0.3"]);
}

#[test]
fn the_more_exact_range_goes_before_the_others() {
    check_edn(&["*/*;q=0.5, application/edn"]);
    check_json(&["*/*, application/edn;q=0.5"]);
    check_json(&["application/*, application/edn;q=0.5"]);
    check_edn(&["application/edn;q=0.6, application/*;q=0.5"]);
    check_json(&["application/edn;q=0.4, application/*;q=0.5, */*"]);
    check_edn(&["application/edn;q=0.1, application/edn;charset=utf-8, application/json;q=0.5"]);
    check_json(&[
        "application/edn;charset=\"UTF-8\";q=0.1, application/edn, application/json;q=0.5",
    ]);
}

#[test]
fn a_weight_of_nothing_refuses_a_format() {
    check_json(&["application/edn;q=0, */*"]);
    check_json(&["application/edn;q=0.000, application/*;q=0.001"]);
    check_edn(&["application/json;q=0, */*;q=0.1"]);
    check_json(&["application/json, application/edn;q=0"]);
    // Neither is wanted: the header is disregarded.
    check_same(&["application/json;q=0"]);
    check_same(&["*/*;q=0"]);
    check_same(&["application/json;q=0, application/edn;q=0"]);
    check_same(&["text/html"]);
    check_same(&["text/*, image/png"]);
}

#[test]
fn parameters_name_another_type() {
    check_same(&["application/edn;charset=iso-8859-1"]);
    check_json(&["application/edn;version=2, application/json;q=0.1"]);
    check_edn(&["application/edn;charset=utf-8"]);
    check_edn(&["application/edn;q=1;level=\"a,b;c\", application/json;q=0.9"]);
    check_json(&["application/edn;x=\"application/json, \\\" ;q=1\", application/json;q=0.1"]);
    check_edn(&["application/edn;;q=0.5;, application/json;q=0.4"]);
}

#[test]
fn what_is_malformed_says_nothing() {
    check_same(&["edn"]);
    check_same(&["*"]);
    check_same(&["*, application/edn"]);
    check_same(&["text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"]);
    check_same(&["application/edn;q=2"]);
    check_same(&["application/edn;q=1.001"]);
    check_same(&["application/edn;q=0.1234"]);
    check_same(&["application/edn;q=-1"]);
    check_same(&["application/edn;q="]);
    check_same(&["application/edn;q"]);
    check_same(&["application/edn;q=\"1\""]);
    check_same(&["application/json;q=0.5, application/edn;Q=\"0.8\""]);
    check_same(&["application/edn application/json"]);
    check_same(&["application / edn"]);
    check_same(&["application/edn;a=\"b"]);
    check_same(&["application/edn", "é"]);
}

#[track_caller]
fn check_named(accept: &str, expected: bool) {
    let accept = (ACCEPT, HeaderValue::from_str(accept).unwrap());
    let headers: HeaderMap = [accept].into_iter().collect();
    assert_eq!(accepts_by_name(&headers, "text/event-stream"), expected, "{headers:?}");
}

#[test]
fn a_type_is_accepted_by_its_name_and_not_by_a_wildcard() {
    for accept in
        ["text/event-stream", "application/json, Text/Event-Stream; charset=utf-8; q=0.001"]
    {
        check_named(accept, true);
    }
    for accept in
        ["", "*/*", "text/*", "application/json", "text/event-stream;q=0.0", "text/event-stream x"]
    {
        check_named(accept, false);
    }
}

use http::HeaderValue;

use trunkline::edn;

use super::*;

const FORMATS: [Format; 2] = [Format::Json, edn::FORMAT];

/// Checks the formats of the replies to requests in JSON and EDN.
#[track_caller]
fn check(accepts: &[&str], to_json: Format, to_edn: Format) {
    let accepts = accepts.iter().map(|accept| (ACCEPT, HeaderValue::from_str(accept).unwrap()));
    let headers: HeaderMap = accepts.collect();
    let found = FORMATS.map(|request| preferred(&Fields::of(&headers), request, &FORMATS));
    assert_eq!(found, [to_json, to_edn], "{headers:?}");
}

#[track_caller]
fn check_same(accepts: &[&str]) {
    check(accepts, Format::Json, edn::FORMAT);
}

#[track_caller]
fn check_json(accepts: &[&str]) {
    check(accepts, Format::Json, Format::Json);
}

#[track_caller]
fn check_edn(accepts: &[&str]) {
    check(accepts, edn::FORMAT, edn::FORMAT);
}

#[test]
fn uses_the_format_of_the_request_without_a_preference() {
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
fn chooses_the_preferred_format() {
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
fn prefers_the_most_specific_range() {
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
fn treats_a_weight_of_zero_as_refused() {
    check_json(&["application/edn;q=0, */*"]);
    check_json(&["application/edn;q=0.000, application/*;q=0.001"]);
    check_edn(&["application/json;q=0, */*;q=0.1"]);
    check_json(&["application/json, application/edn;q=0"]);
    // Neither format is acceptable: the header is ignored.
    check_same(&["application/json;q=0"]);
    check_same(&["*/*;q=0"]);
    check_same(&["application/json;q=0, application/edn;q=0"]);
    check_same(&["text/html"]);
    check_same(&["text/*, image/png"]);
}

#[test]
fn distinguishes_parameters() {
    check_same(&["application/edn;charset=iso-8859-1"]);
    check_json(&["application/edn;version=2, application/json;q=0.1"]);
    check_edn(&["application/edn;charset=utf-8"]);
    check_edn(&["application/edn;q=1;level=\"a,b;c\", application/json;q=0.9"]);
    check_json(&["application/edn;x=\"application/json, \\\" ;q=1\", application/json;q=0.1"]);
    check_edn(&["application/edn;;q=0.5;, application/json;q=0.4"]);
}

#[test]
fn ignores_malformed_headers() {
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
fn matches_types_by_name_only() {
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

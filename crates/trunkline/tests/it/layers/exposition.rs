//! `GET /metrics` in the text format of Prometheus.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use trunkline::layers::metrics;
use trunkline::{ErrorObject, Extensions, Router, Rpc};

use super::{body, paused};

/// Names that must be escaped in a label.
const QUOTED: &str = r#"a "quoted" 
ame/"#;
const BROKEN: &str = "two\nlines";

fn service() -> Rpc {
    Router::new()
        .method("ok", || 1)
        .method("refused", || Err::<(), _>(ErrorObject::new(7, "no")))
        .method(QUOTED, || 1)
        .method(BROKEN, || 1)
        .build()
        .unwrap()
}

fn get(rpc: &Rpc, path: &str, method: &str) -> (StatusCode, HeaderMap, String) {
    let service = rpc.http().merge(metrics::routes(rpc));
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = request.body(Full::new(Bytes::new())).unwrap();
    paused().block_on(async {
        let (head, body) = service.handle(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
    })
}

/// Calls each of these methods.
fn call(rpc: &Rpc, methods: &[&str]) {
    for method in methods {
        paused().block_on(rpc.handle(body(method, 1).into(), Extensions::new()));
    }
}

/// One line of the format: a name, labels in order, and a value.
#[derive(Debug)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Sample {
    fn label(&self, name: &str) -> &str {
        let found = self.labels.iter().find(|(label, _)| label == name);
        &found.unwrap_or_else(|| panic!("{self:?} has no {name}")).1
    }
}

/// The metric families of an exposition, with their types. Parsing panics on invalid text.
#[derive(Debug)]
struct Exposition(BTreeMap<String, (String, Vec<Sample>)>);

impl Exposition {
    fn parse(text: &str) -> Self {
        let mut families = BTreeMap::<String, (String, Vec<Sample>)>::new();
        let (mut current, mut helped) = (String::new(), None);
        assert!(text.ends_with('\n'), "the last line must end with a line break");
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, text) = help.split_once(' ').expect("a name and a text");
                assert!(is_name(name) && !text.is_empty(), "{line}");
                helped = Some(name.to_owned());
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a name and a type");
                assert_eq!(helped.take().as_deref(), Some(name), "{line}");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                current = name.to_owned();
                let first = families.insert(current.clone(), (kind.to_owned(), Vec::new()));
                assert!(first.is_none(), "duplicate family: {line}");
            } else {
                let sample = sample(line);
                let (kind, samples) = families.get_mut(&current).expect("a type comes first");
                let suffixes: &[&str] =
                    if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                let own = |suffix: &&str| sample.name == format!("{current}{suffix}");
                assert!(suffixes.iter().any(own), "{line} does not belong to {current}");
                assert!(sample.value >= 0.0, "{line}");
                samples.push(sample);
            }
        }
        let parsed = Self(families);
        parsed.check_unique();
        parsed.check_histograms();
        parsed
    }

    fn check_unique(&self) {
        let mut seen = HashSet::new();
        for sample in self.0.values().flat_map(|(_, samples)| samples) {
            assert!(seen.insert((&sample.name, &sample.labels)), "duplicate sample: {sample:?}");
        }
    }

    /// Checks that buckets increase in bound and count, and that the last one has no bound and counts all calls.
    fn check_histograms(&self) {
        for (family, (_, samples)) in self.0.iter().filter(|(_, (kind, _))| kind == "histogram") {
            let mut methods = BTreeMap::<&str, Vec<&Sample>>::new();
            for sample in samples {
                methods.entry(sample.label("method")).or_default().push(sample);
            }
            for (method, samples) in methods {
                let (buckets, rest) = samples.split_at(samples.len() - 2);
                let bound = |sample: &&Sample| number(sample.label("le"));
                assert!(buckets.is_sorted_by(|a, b| bound(a) < bound(b)), "{method}");
                assert!(buckets.is_sorted_by(|a, b| a.value <= b.value), "{method}");
                assert_eq!(buckets.last().unwrap().label("le"), "+Inf", "{method}");
                assert_eq!(rest[0].name, format!("{family}_sum"), "{method}");
                assert_eq!(rest[1].name, format!("{family}_count"), "{method}");
                assert_eq!(rest[1].value, buckets.last().unwrap().value, "{method}");
            }
        }
    }

    /// The value of the sample with this name and these labels.
    #[track_caller]
    fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels: Vec<_> =
            labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let all = self.0.values().flat_map(|(_, samples)| samples);
        let found = all.into_iter().find(|sample| sample.name == name && sample.labels == labels);
        found.unwrap_or_else(|| panic!("no {name} {labels:?}")).value
    }
}

/// `name{label="value",…} value`
fn sample(line: &str) -> Sample {
    let (name, mut rest) = line.split_once('{').expect("labels");
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    loop {
        let (label, value) = rest.split_once("=\"").expect("a label");
        assert!(is_name(label) && !label.contains(':'), "{line}");
        let (value, after) = quoted(value);
        labels.push((label.to_owned(), value));
        match after.split_at(1) {
            (",", more) => rest = more,
            ("}", end) => {
                let value = end.strip_prefix(' ').expect("one blank, then the value");
                return Sample { name: name.to_owned(), labels, value: number(value) };
            }
            _ => panic!("{line}"),
        }
    }
}

/// The unescaped value of a label, and the text after its quotation mark.
fn quoted(text: &str) -> (String, &str) {
    let (mut value, mut chars) = (String::new(), text.chars());
    loop {
        value.push(match chars.next().expect("a quotation mark") {
            '"' => return (value, chars.as_str()),
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some(plain @ ('\\' | '"')) => plain,
                other => panic!("invalid escape: {other:?}"),
            },
            other => other,
        });
    }
}

fn number(text: &str) -> f64 {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    assert!(is_plain || text == "+Inf", "{text}");
    text.trim_start_matches('+').parse().expect("a number")
}

fn is_name(text: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    let mut chars = text.chars();
    chars.next().is_some_and(is_first) && chars.all(|c| is_first(c) || c.is_ascii_digit())
}

#[test]
fn writes_the_format_of_prometheus() {
    let rpc = service();
    call(&rpc, &["ok", "ok", "refused", QUOTED, BROKEN, "nothing", "unknown\"{}"]);
    let (status, headers, text) = get(&rpc, "/metrics", "GET");
    assert_eq!(status, 200);
    assert_eq!(headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let parsed = Exposition::parse(&text);
    let kinds: Vec<_> = parsed.0.iter().map(|(name, (kind, _))| (&**name, &**kind)).collect();
    assert_eq!(
        kinds,
        [
            ("trunkline_call_duration_seconds", "histogram"),
            ("trunkline_calls_running", "gauge"),
            ("trunkline_calls_total", "counter"),
        ]
    );
    for (method, result, refused) in [
        ("ok", 2.0, 0.0),
        ("refused", 0.0, 1.0),
        (QUOTED, 1.0, 0.0),
        (BROKEN, 1.0, 0.0),
        ("rpc.discover", 0.0, 0.0),
        ("unknown", 0.0, 2.0),
    ] {
        let ended = |outcome: &str| {
            parsed.value("trunkline_calls_total", &[("method", method), ("outcome", outcome)])
        };
        assert_eq!((ended("result"), ended("refused")), (result, refused), "{method}");
        assert_eq!((ended("failed"), ended("cancelled")), (0.0, 0.0), "{method}");
        let method = [("method", method)];
        assert_eq!(parsed.value("trunkline_calls_running", &method), 0.0);
        let count = parsed.value("trunkline_call_duration_seconds_count", &method);
        assert_eq!(count, result + refused);
        assert!(parsed.value("trunkline_call_duration_seconds_sum", &method) < 10.0);
    }
}

#[test]
fn unknown_methods_create_no_labels() {
    let rpc = service();
    let lines = || get(&rpc, "/metrics", "GET").2.lines().count();
    let before = lines();
    let unknown: Vec<String> = (0..100).map(|index| format!("method{index}")).collect();
    call(&rpc, &unknown.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(lines(), before);
}

#[test]
fn counts_running_calls() {
    let rpc = Router::new().method("never", std::future::pending::<()>).build().unwrap();
    let runtime = paused();
    let _entered = runtime.enter();
    let never = super::start(&rpc, "never");
    let running = || {
        let text = metrics::text(&rpc.metrics());
        Exposition::parse(&text).value("trunkline_calls_running", &[("method", "never")])
    };
    assert_eq!(running(), 1.0);
    drop(never);
    assert_eq!(running(), 0.0);
}

#[test]
fn bounds_are_in_seconds() {
    let (.., text) = get(&service(), "/metrics", "GET");
    let bounds: Vec<_> = Exposition::parse(&text).0["trunkline_call_duration_seconds"]
        .1
        .iter()
        .filter(|sample| sample.name.ends_with("_bucket") && sample.label("method") == "ok")
        .map(|sample| sample.label("le").to_owned())
        .collect();
    let expected = "0.0001 0.00025 0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 \
                    10 +Inf";
    assert_eq!(bounds.join(" "), expected);
}

#[test]
fn allows_get_only() {
    for (path, method, expected) in
        [("/metrics", "POST", 405), ("/metrics", "DELETE", 405), ("/metrics?x", "GET", 200)]
    {
        assert_eq!(get(&service(), path, method).0, expected, "{method} {path}");
    }
}

//! Deeply nested text, and text that could take quadratic time.

use std::thread;
use std::time::{Duration, Instant};

use trunkline_edn::{Error, Limits, Reason, json, read, read_with};

const DEEP: usize = 1_000_000;
const DEFAULT_DEPTH: usize = 1_024;
/// The default stack of threads in Rust.
const THREAD_STACK: usize = 2 * 1_024 * 1_024;
/// Much longer than linear time, and much shorter than quadratic time.
const TIME: Duration = Duration::from_secs(60);

/// Runs on a thread with this stack. A stack overflow ends the process.
#[track_caller]
fn on_a_stack(size: usize, run: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(size).spawn(run).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The beginning of each level, the innermost value, and the end of each level.
const NESTED: &[(&str, &str, &str)] = &[
    ("[", "", "]"),
    ("(", "", ")"),
    ("#{", "", "}"),
    ("{:a ", "1", "}"),
    ("{", "1", " :a}"),
    ("#:a{:b ", "1", "}"),
    ("#a ", "1", ""),
    ("#a [", "", "]"),
    ("[1 [", "", "] 2]"),
    ("#{1 ", "2", "}"),
    ("#{[] ", "2", "}"),
    ("{1 2, ", "3", " 4}"),
    ("{[] 2, [", "1", "] 4}"),
    ("#{{1 ", "2", "} 3}"),
];

#[test]
fn text_over_the_limit_is_rejected() {
    on_a_stack(THREAD_STACK, || {
        for (open, middle, close) in NESTED {
            check_too_deep(&format!("{}{middle}{}", open.repeat(DEEP), close.repeat(DEEP)));
            check_too_deep(&open.repeat(DEEP));
        }
        for open in ["#_", "#_ #_ ", "^", "^:a ", "^{:a ", "#^", "##", "#_[", "[#_", "#:a{#_"] {
            check_too_deep(&open.repeat(DEEP));
        }
    });
}

fn check_too_deep(text: &str) {
    let error = read(text).expect_err("it is too deep");
    assert_eq!(error.reason(), &Reason::TooDeep { limit: DEFAULT_DEPTH });
    assert!(error.to_string().len() < 100_000);
}

/// Values recurse: the default limit must fit the stack of a thread, even in a debug build.
#[test]
fn values_of_the_default_depth_fit_the_stack_of_a_thread() {
    for (open, middle, close) in NESTED {
        on_a_stack(THREAD_STACK, move || {
            // Some forms take two levels, or one for the innermost value.
            let depths = [DEFAULT_DEPTH, DEFAULT_DEPTH / 2, DEFAULT_DEPTH / 2 - 1];
            let texts = depths
                .map(|depth| format!("{}{middle}{}", open.repeat(depth), close.repeat(depth)));
            let value =
                texts.iter().find_map(|text| read(text).ok()).expect("it is within the limit");
            let (line, page) = (value.to_string(), format!("{value:#}"));
            assert!(page.len() < line.len() + 4 * DEFAULT_DEPTH * 80, "{open}");
            for written in [&line, &page] {
                let again = read(written).expect("it was written");
                assert!(again == value.clone() && again.to_string() == line, "{open}");
            }
            match json::to_string(&value) {
                Ok(json) => assert!(json::from_str(&json).is_ok()),
                Err(error) => assert!(matches!(
                    error.reason(),
                    Reason::NoJsonKey { .. } | Reason::UnknownTag { .. }
                )),
            }
        });
    }
}

#[test]
fn deep_duplicates() {
    for (open, middle, close) in NESTED {
        on_a_stack(THREAD_STACK, move || {
            let depth = DEFAULT_DEPTH / 2 - 2;
            let form = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            let error = read(&format!("#{{{form} {form}}}")).expect_err("duplicate");
            assert!(matches!(error.reason(), Reason::DuplicateKey { .. }), "{open}");
        });
    }
}

#[test]
fn limits_the_depth_of_written_json() {
    on_a_stack(4 * THREAD_STACK, || {
        let text = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
        let value = read_with(&text, &deep()).expect("a form");
        let error = json::to_string(&value).expect_err("too deep");
        assert_eq!(error.reason(), &Reason::TooDeep { limit: DEFAULT_DEPTH });
        assert_eq!(error.path().steps().len(), DEFAULT_DEPTH);
    });
}

fn deep() -> Limits {
    Limits { depth: 4 * DEEP, ..Limits::default() }
}

/// Checks the time to read a text of about one mebibyte.
#[track_caller]
fn check_time(name: &str, text: &str) {
    let begun = Instant::now();
    let read = read(text);
    if let Ok(value) = &read {
        let _ = (value.to_string(), format!("{value:#}"), json::to_string(value));
    }
    drop(read.map_err(|error| error.to_string()));
    assert!(begun.elapsed() < TIME, "{name} takes {:?}", begun.elapsed());
}

const SIZE: usize = 1_024 * 1_024;

/// Repeats a form in a vector up to the size.
fn repeated(form: &str) -> String {
    format!("[{}]", form.repeat(SIZE / form.len()))
}

#[test]
fn nested_keys_take_linear_time() {
    for (open, middle, close) in NESTED {
        let form = format!("{}{middle}{}", open.repeat(500), close.repeat(500));
        let form = format!("#{{{form} [{form}]}}");
        check_time(open, &repeated(&form));
    }
}

#[test]
fn many_keys_take_linear_time() {
    let count = SIZE / 8;
    let keys = |key: &dyn Fn(usize) -> String| (0..count).map(key).collect::<Vec<_>>().join(" ");
    check_time("integers", &format!("#{{{}}}", keys(&|at| at.to_string())));
    check_time("powers", &format!("#{{{}}}", keys(&|at| format!("{}N", at as u64 * (1 << 40)))));
    check_time("floats", &format!("#{{{}}}", keys(&|at| format!("{at}e99"))));
    check_time("decimals", &format!("#{{{}}}", keys(&|at| format!("{at}.0M"))));
    check_time("texts", &format!("{{{}}}", keys(&|at| format!("\"{at}\" :{at}"))));
    check_time("vectors", &format!("#{{{}}}", keys(&|at| format!("[{at} {}]", at / 2))));
    check_time("sets", &format!("#{{{}}}", keys(&|at| format!("#{{{at} a}}"))));
    check_time("maps", &format!("{{{}}}", keys(&|at| format!("{{:a {at}}} {at}"))));
    check_time("sets of sets", &repeated("#{#{} #{#{}} #{#{#{}}} #{#{} #{#{}}}} "));
}

#[test]
fn long_texts_take_linear_time() {
    let digits = "9".repeat(SIZE);
    let zeros = "0".repeat(SIZE);
    check_time("an integer", &digits);
    check_time("a big integer", &format!("-{digits}N"));
    check_time("a float", &format!("{digits}.{digits}e-9"));
    check_time("a decimal", &format!("{digits}.{digits}M"));
    check_time("a small decimal", &format!("0.{zeros}1M"));
    check_time("a hexadecimal", &format!("0x{digits}"));
    check_time("an octal", &format!("0{}", "7".repeat(SIZE)));
    check_time("a ratio", &format!("{digits}/{digits}"));
    check_time("many ratios", &repeated(&format!("{0}/1{0} ", "9".repeat(1_023))));
    check_time("many hexadecimals", &repeated(&format!("0x{} ", "f".repeat(1_024))));
    check_time("zeros", &zeros);
    check_time("a symbol", &"a".repeat(SIZE));
    check_time("slashes", &"a/".repeat(SIZE / 2));
    check_time("a keyword", &format!(":{}", "é".repeat(SIZE / 2)));
    check_time("a string", &format!("\"{}\"", "\\u00e9".repeat(SIZE / 6)));
    check_time("a string without an end", &format!("\"{}", "\\n".repeat(SIZE / 2)));
    check_time("a comment", &";".repeat(SIZE));
    check_time("comments", &";\n".repeat(SIZE / 2));
    check_time("white space", &"\u{2003}".repeat(SIZE / 3));
    check_time("discarded forms", &repeated("#_1 "));
    check_time("half a map", &format!("{{{}", "1 ".repeat(SIZE / 2)));
    check_time("a namespace", &format!("#:{}{{{}}}", "a".repeat(SIZE / 2), ":b 1 ".repeat(1_000)));
    check_time(
        "equal decimals",
        &repeated(&format!("#{{{}}}", {
            (0..16).map(|at| format!("{at}.{}M ", &zeros[..4_000])).collect::<String>()
        })),
    );
    check_time("a key in the way", &format!("{{\"{}\" {}", "a".repeat(SIZE), "{1 [".repeat(400)));
}

/// Locates an error in a text again, after long keys and discarded forms.
#[test]
fn locating_an_error_takes_linear_time() {
    let discarded = "#_1 ".repeat(SIZE / 8);
    for begin in [
        format!("#:{}{{:a ", "n".repeat(SIZE / 2)),
        format!("{{\"{}\" ", "n".repeat(SIZE / 2)),
        format!("{{[{}] ", "1 ".repeat(SIZE / 4)),
    ] {
        let text = format!("{begin}{discarded}##Inf}}");
        // The same path, without the indices of forms.
        let error = read(&text.replace("##Inf", "08")).expect_err("no number");
        let error = Error::from(Reason::NoForm).within(error.path().steps()[0].clone());
        check_found(error, &text, begin.len() + discarded.len());
    }
    let keys: String = (0..SIZE / 8).map(|at| format!("{at} 1 ")).collect();
    let text = format!("{{{keys}:a ##Inf}}");
    let error = json::to_string(&read(&text).expect("a form")).expect_err("it is infinite");
    check_found(error, &text, text.len() - "##Inf}".len());
}

#[track_caller]
fn check_found(error: Error, text: &str, offset: usize) {
    let begun = Instant::now();
    let error = error.located_in(text);
    assert_eq!(error.position().expect("a position").offset, offset);
    assert!(begun.elapsed() < TIME / 10, "it takes {:?}", begun.elapsed());
}

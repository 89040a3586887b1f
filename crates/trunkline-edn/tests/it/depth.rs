//! Texts that are nested deeper than any stack, and texts that could take for ever.

use std::thread;
use std::time::{Duration, Instant};

use trunkline_edn::{Error, Limits, Reason, json, read, read_with};

const DEEP: usize = 1_000_000;
/// Less than the smallest stack that threads have anywhere.
const STACK: usize = 256 * 1_024;
/// Far more than any text takes here, and far less than one that is read in quadratic time.
const TIME: Duration = Duration::from_secs(60);

/// Runs on a small stack. Overflowing it ends the process.
#[track_caller]
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// What a text begins with, has in the middle, and ends with.
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
fn what_is_too_deep_is_refused() {
    on_a_small_stack(|| {
        for (open, middle, close) in NESTED {
            check_refused(&format!("{}{middle}{}", open.repeat(DEEP), close.repeat(DEEP)));
            check_refused(&open.repeat(DEEP));
        }
        for open in ["#_", "#_ #_ ", "^", "^:a ", "^{:a ", "#^", "##", "#_[", "[#_", "#:a{#_"] {
            check_refused(&open.repeat(DEEP));
        }
    });
}

fn check_refused(text: &str) {
    let error = read(text).expect_err("it is too deep");
    assert_eq!(error.reason(), &Reason::TooDeep { limit: 1_024 });
    assert!(error.to_string().len() < 100_000);
}

#[test]
fn what_is_deep_is_read_and_written_and_cloned_and_dropped() {
    for (open, middle, close) in NESTED {
        on_a_small_stack(move || {
            let begun = Instant::now();
            let text = format!("{}{middle}{}", open.repeat(DEEP), close.repeat(DEEP));
            let value = read_with(&text, &deep()).expect("it is no deeper than the limit");
            let written = value.to_string();
            assert!(written.len() >= DEEP);
            let clone = value.clone();
            drop(value);
            assert!(clone.to_string() == written, "{open}");
            drop(clone);
            assert!(begun.elapsed() < TIME, "{open} takes {:?}", begun.elapsed());
        });
    }
}

/// What has no value of its own.
#[test]
fn what_is_deep_is_passed() {
    on_a_small_stack(|| {
        let discarded = format!("{}{}:a", "#_".repeat(DEEP), "1 ".repeat(DEEP));
        check_deep(&discarded, ":a");
        check_deep(&format!("#_{}{}:a", "[".repeat(DEEP), "]".repeat(DEEP)), ":a");
        check_deep(&format!("{}[]", "^:a ".repeat(DEEP)), "[]");
        check_deep(&format!("{}1{}", "^{:a ".repeat(DEEP), "} x".repeat(DEEP)), "x");
        check_deep(&format!("##{}Inf", "#_1 ".repeat(DEEP)), "##Inf");
    });
}

fn check_deep(text: &str, expected: &str) {
    assert_eq!(read_with(text, &deep()).expect("a form").to_string(), expected);
}

fn deep() -> Limits {
    Limits { depth: 4 * DEEP, ..Limits::default() }
}

/// Equality and hashes need no stack, too: they tell duplicates.
#[test]
fn deep_duplicates() {
    for (open, middle, close) in NESTED {
        on_a_small_stack(move || {
            let begun = Instant::now();
            let depth = DEEP / 50;
            let form = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            let error = read_with(&format!("#{{{form} {form}}}"), &deep()).expect_err("twice");
            assert!(matches!(error.reason(), Reason::DuplicateKey { .. }), "{open}");
            let one = read_with(&form, &deep()).expect("a form");
            let other = read_with(&form, &deep()).expect("a form");
            assert!(one == other, "{open}");
            assert!(begun.elapsed() < TIME, "{open} takes {:?}", begun.elapsed());
        });
    }
}

/// Reads a text of about a mebibyte, of which it should not matter what it is.
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

/// As often as it fits, in a vector.
fn repeated(form: &str) -> String {
    format!("[{}]", form.repeat(SIZE / form.len()))
}

#[test]
fn nested_keys_take_no_longer() {
    for (open, middle, close) in NESTED {
        let form = format!("{}{middle}{}", open.repeat(500), close.repeat(500));
        let form = format!("#{{{form} [{form}]}}");
        check_time(open, &repeated(&form));
    }
}

#[test]
fn many_keys_take_no_longer() {
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
fn long_texts_take_no_longer() {
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

/// What is looked up in a text once more, for each key of which the text is long.
#[test]
fn places_take_no_longer_to_find() {
    let discarded = "#_1 ".repeat(SIZE / 8);
    for begin in [
        format!("#:{}{{:a ", "n".repeat(SIZE / 2)),
        format!("{{\"{}\" ", "n".repeat(SIZE / 2)),
        format!("{{[{}] ", "1 ".repeat(SIZE / 4)),
    ] {
        let text = format!("{begin}{discarded}##Inf}}");
        // The same path again, of which no more is known than its text.
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

/// The same in every notation. A page is no longer than the text and a line's width for each part.
#[test]
fn what_is_deep_is_written_in_every_notation() {
    for (open, middle, close) in NESTED {
        on_a_small_stack(move || {
            let depth = DEEP / 50;
            let text = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            let value = read_with(&text, &deep()).expect("a form");
            let (line, page) = (value.to_string(), format!("{value:#}"));
            assert!(page.len() < text.len() + 4 * depth * 80, "{open}");
            for written in [&line, &page] {
                let again = read_with(written, &deep()).expect("it was written");
                assert!(again.to_string() == line, "{open}");
            }
            match json::to_string(&value) {
                Ok(json) => assert!(json.len() >= depth),
                Err(error) => assert!(matches!(
                    error.reason(),
                    Reason::NoJsonKey { .. } | Reason::UnknownTag { .. }
                )),
            }
        });
    }
}

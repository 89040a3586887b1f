use std::io::BufReader;

use super::arguments::{Arguments, Format};
use super::{Conversion, Stream};

/// Checks that a text is converted to these lines, and an error if one is expected, however it is split into pieces.
#[track_caller]
fn check(from: Format, text: &str, expected: &str) {
    let options = Arguments {
        from,
        to: Format::Edn,
        pretty: false,
        keys: None,
        unwrap_tags: false,
        max_bytes: text.len(),
    };
    for length in 1..=text.len() {
        let pieces = BufReader::with_capacity(length, text.as_bytes());
        let conversion = Conversion::new(&options).unwrap();
        let mut out = Vec::new();
        let converted =
            Stream::new(pieces, conversion, options.max_bytes).convert(&mut out, || true);
        let mut found = String::from_utf8(out).unwrap();
        if let Err(failure) = converted {
            found += &failure.text();
        }
        assert_eq!(found, expected, "{text:?} in pieces of {length} bytes");
    }
}

#[test]
fn documents_arrive_in_pieces() {
    check(
        Format::Edn,
        "#_ \\[ ^{:a \"é\\\"]\"} [\\; #:b{:c ##-Inf}] ; d ]\n#e/f #_g \"h\" :i\t(\\é)#{} ; j\n 1#{2} 3",
        "[\\; {:b/c ##-Inf}]\n#e/f \"h\"\n:i\n(\\é)\n#{}\n1\n#{2}\n3\n",
    );
    check(
        Format::Json,
        "{\"é \\\"}\": [1.50, {}]}\r\n\"[\" -12 null[true]",
        "{\"é \\\"}\" [1.5 {}]}\n\"[\"\n-12\nnil\n[true]\n",
    );
}

#[test]
fn errors_arrive_in_pieces() {
    let error = "error: document 2, line 4, column 3, in /1: `08` is not a number\n";
    check(Format::Edn, ":é ; c\n\n[\"é\n\" 08] 1", &format!(":é\n{error}"));
    let error = "error: document 2, line 2, column 7, in /1: the text ends within an array\n";
    check(Format::Json, " 1 \n [ 2, ", &format!("1\n{error}"));
}

//! The macro `edn!`.

use trunkline_edn::{Decimal, Keyword, Map, Value, edn};

use crate::compile_errors;

#[track_caller]
fn check(value: Value, expected: &str) {
    assert_eq!(value.to_string(), expected);
}

#[test]
fn atoms() {
    check(edn!(nil), "nil");
    check(edn!([true false]), "[true false]");
    check(edn!([0 -1 9223372036854775808, -9223372036854775809]), {
        "[0 -1 9223372036854775808N -9223372036854775809N]"
    });
    check(edn!([1.5 -2.5e-7 1e3 0.5 0x1F 0 0.5]), "[1.5 -2.5e-7 1000.0 0.5 31 0 0.5]");
    check(edn!(["a\"\u{e9}" r"\" 'a' '\n']), "[\"a\\\"é\" \"\\\\\" \\a \\newline]");
    check(edn!(#inst "2024"), "#inst \"2024-01-01T00:00:00Z\"");
    check(edn!(#uuid "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"), {
        "#uuid \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\""
    });
}

#[test]
fn names() {
    check(edn!([:a :a/b :a-b-c :a.b/c-d :a->b :a? :a-b! :ns/a? :type :nil :is-true]), {
        "[:a :a/b :a-b-c :a.b/c-d :a->b :a? :a-b! :ns/a? :type :nil :is-true]"
    });
    check(edn!([:"a*b" :"1a" :"a:b"]), "[:a*b :1a :a:b]");
    check(edn!(['a 'a/b 'a-b? ('f 'x)]), "[a a/b a-b? (f x)]");
    check(edn!([:a, -1 :b? -1 :"c" -1 'd, -1 nil -1]), "[:a -1 :b? -1 :c -1 d -1 nil -1]");
}

#[test]
fn collections() {
    check(edn!([]), "[]");
    check(edn!(()), "()");
    check(edn!({}), "{}");
    check(edn!(#{}), "#{}");
    check(edn!((1 [2, (3)] #{4} {5 6,,})), "(1 [2 (3)] #{4} {5 6})");
    check(edn!({:a 1 "b" [2], [3] :c, 'd {}}), "{:a 1, \"b\" [2], [3] :c, d {}}");
    check(edn!(#my/tag [1]), "#my/tag [1]");
    check(edn!([#a #b-c? :d, #e, -1]), "[#a #b-c? :d #e -1]");
}

#[test]
fn values() {
    let (text, none, key) = (String::from("a"), None::<i32>, Keyword::new("k").unwrap());
    let rest: Map = [("x", 1)].into_iter().collect();
    let price: Decimal = "1.50".parse().unwrap();
    check(edn!({~key ~text, :n ~none, :m ~rest, :p #usd ~price, :s ~(1 + 1) :b ~("b")}), {
        "{:k \"a\", :n nil, :m {\"x\" 1}, :p #usd 1.50M, :s 2, :b \"b\"}"
    });
    let nested = edn!([~(edn!(:a)) ~(vec![1, 2])]);
    check(nested, "[:a [1 2]]");
}

#[test]
fn large() {
    let map = edn!({
        :key-a0 0, :key-b1 1, :key-c2 2, :key-d3 3, :key-e4 4,
        :key-f5 5, :key-g6 6, :key-h7 7, :key-i8 8, :key-j9 9,
        :key-a10 10, :key-b11 11, :key-c12 12, :key-d13 13, :key-e14 14,
        :key-f15 15, :key-g16 16, :key-h17 17, :key-i18 18, :key-j19 19,
        :key-a20 20, :key-b21 21, :key-c22 22, :key-d23 23, :key-e24 24,
        :key-f25 25, :key-g26 26, :key-h27 27, :key-i28 28, :key-j29 29,
    });
    assert_eq!(map.get("key-j29").and_then(Value::as_i64), Some(29));
}

#[track_caller]
fn check_panic(made: fn() -> Value, message: &str) {
    let panic = std::panic::catch_unwind(made).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), message);
}

#[test]
fn panics() {
    check_panic(|| edn!(:"a b"), "edn!: `:a b` is not a keyword");
    check_panic(|| edn!(#inst "2024-13"), "edn!: \"2024-13\" is not an instant");
    check_panic(|| edn!(#uuid "1"), "edn!: \"1\" is not a UUID");
    check_panic(|| edn!({:a 1, :a 2}), "edn!: duplicate key: :a");
    check_panic(|| edn!(#{1 ~(1)}), "edn!: duplicate key: 1");
}

#[test]
fn compile_errors() {
    compile_errors::check("tests/ui", "trunkline_edn");
}

//! Round trips of all types of serde's data model.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize, Serializer};
use trunkline_edn::{
    Decimal, Inst, Integer, Keyword, List, Map, Ratio, Set, Symbol, Tagged, Uuid, Value, Vector,
    from_ref, from_str, from_value, to_string, to_string_pretty, to_value,
};

/// Checks that a value is written as `edn`, and read back from text and from a value.
#[track_caller]
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T, edn: &str) {
    assert_eq!(to_string(&value).unwrap(), edn);
    check_read(edn, &value);
}

/// Checks that `edn` is read as the expected value.
#[track_caller]
fn check_read<T: DeserializeOwned + PartialEq + Debug>(edn: &str, expected: &T) {
    assert_eq!(&from_str::<T>(edn).unwrap(), expected, "{edn}");
    assert_eq!(&from_value::<T>(edn.parse().unwrap()).unwrap(), expected, "{edn}");
}

/// Checks that a value is written as expected.
#[track_caller]
fn check_written(value: &(impl Serialize + ?Sized), expected: Result<&str, &str>) {
    let found = to_string(value).map_err(|error| error.to_string());
    assert_eq!(found.as_deref().map_err(String::as_str), expected);
}

/// Checks the error of reading `edn`.
#[track_caller]
fn check_error<T: DeserializeOwned + Debug>(edn: &str, expected: &str) {
    assert_eq!(from_str::<T>(edn).unwrap_err().to_string(), expected, "{edn}");
}

fn edn(text: &str) -> Value {
    text.parse().unwrap()
}

fn keyword(text: &str) -> Keyword {
    text.parse().unwrap()
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Config {
    is_open: bool,
    #[serde(rename = "ns/name")]
    qualified: u8,
    #[serde(rename = "no keyword")]
    text: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Id(String);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pair(u8, char);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Shape {
    Point,
    #[serde(rename = "in two parts")]
    TwoParts,
    Circle(u8),
    Line(u8, u8),
    Rect {
        width: u8,
        height: u8,
    },
    Nothing(()),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Internal {
    A { at: Inst },
    B(Config),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "of")]
enum Adjacent {
    A(Keyword),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
    Many(Vec<Keyword>),
    Config(Config),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Own {
    features: Vec<Keyword>,
    since: Inst,
    id: Option<Uuid>,
    symbols: BTreeMap<Symbol, (Decimal, Ratio, Integer)>,
    list: List,
    vector: Vector,
    set: Set,
    map: Map,
    tagged: Tagged,
    extra: Value,
    values: HashMap<String, Vec<Option<Value>>>,
}

const OWN: &str = "{:features [:a :b/c], :since #inst \"2024-01-01T00:00:00Z\", \
    :id #uuid \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\", \
    :symbols {a/b [1.50M 1/3 12345678901234567890123456789012345678901234567890N]}, \
    :list (1 \"1\"), :vector [a :a], :set #{\"a\" :a}, :map {\"a\" 1, :a 2, [nil] \\a}, \
    :tagged #my/tag #other {:a (1)}, :extra {:a #{(1 [2.5M]) ##Inf}, \"b\" #t/u \\c}, \
    :values {:x [:y nil #inst \"2024-01-01T00:00:00Z\" (a)]}}";

#[test]
fn numbers() {
    check(i8::MIN, "-128");
    check(i16::MIN, "-32768");
    check(i32::MIN, "-2147483648");
    check(i64::MIN, "-9223372036854775808");
    check(i128::MIN, "-170141183460469231731687303715884105728N");
    check(u8::MAX, "255");
    check(u16::MAX, "65535");
    check(u32::MAX, "4294967295");
    check(u64::MAX, "18446744073709551615N");
    check(u128::MAX, "340282366920938463463374607431768211455N");
    check(0.1_f32, "0.1");
    check(f32::MAX, "3.4028235e+38");
    check(0.1_f64, "0.1");
    check(-0.0_f64, "-0.0");
    check(f64::INFINITY, "##Inf");
    check(f32::NEG_INFINITY, "##-Inf");
    assert_eq!(to_string(&[f64::NAN]).unwrap(), "[##NaN]");
    assert!(from_str::<f32>("##NaN").unwrap().is_nan());
    check_read("[1 1.5 2.5M 1/2 10000000000000000000000]", &vec![1.0, 1.5, 2.5, 0.5, 1e22]);
}

#[test]
fn texts() {
    check("a\"b".to_owned(), "\"a\\\"b\"");
    check('a', "\\a");
    check('😀', "\"😀\"");
    check_read("\"a\"", &'a');
    check_read(
        "[\"a\" :a/b a/b \\a #inst \"2024\" #uuid \"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6\"]",
        &["a", "a/b", "a/b", "a", "2024-01-01T00:00:00Z", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]
            .map(str::to_owned)
            .to_vec(),
    );
    let value = edn("[\"a\" :b c/d]");
    assert_eq!(from_ref::<Vec<&str>>(&value).unwrap(), ["a", "b", "c/d"]);
}

#[test]
fn units_and_options() {
    check(true, "true");
    check((), "nil");
    check(Unit, "nil");
    check(None::<u8>, "nil");
    check(Some(Id("a".into())), "\"a\"");
    check_read(":a", &Id("a".into()));
    assert!(from_str::<IgnoredAny>("#my/tag [nil]").is_ok());
}

#[test]
fn sequences() {
    check(vec![1_u8, 2], "[1 2]");
    check((1_u8, 'a', "b".to_owned()), "[1 \\a \"b\"]");
    check(Pair(1, 'a'), "[1 \\a]");
    check(BTreeSet::from([1, 2]), "[1 2]");
    check_read("(1 2)", &vec![1, 2]);
    check_read("#{1 2}", &(1, 2));
    check_written(&Bytes(b"ab"), Ok("[97 98]"));
    check_error::<Pair>("[1]", {
        "line 1, column 1: invalid length 1, expected tuple struct Pair with 2 elements"
    });
    check_error::<Pair>("[1 \\a 3]", "line 1, column 1: invalid length 3, expected 2 elements");
}

struct Bytes(&'static [u8]);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

#[test]
fn maps() {
    check(BTreeMap::from([("a".to_owned(), 1), ("b c".to_owned(), 2)]), "{:a 1, \"b c\" 2}");
    check(BTreeMap::from([(Id("a/b".into()), 1)]), "{:a/b 1}");
    check(BTreeMap::from([(1, 'a'), (2, 'b')]), "{1 \\a, 2 \\b}");
    check(BTreeMap::from([((true, 'a'), ())]), "{[true \\a] nil}");
    check(BTreeMap::from([(Shape::Circle(1), ())]), "{{:Circle 1} nil}");
    check_read("{\"1\" 1, :2 2}", &BTreeMap::from([(1, 1), (2, 2)]));
    check_read("{\"true\" 1}", &BTreeMap::from([(true, 1)]));
    let texts = [("1", 1), ("true", 2), ("c", 3)].map(|(key, value)| (key.to_owned(), value));
    check_read("{1 1, true 2, \\c 3}", &BTreeMap::from(texts));
    check_error::<BTreeMap<u8, u8>>("{:a 1}", {
        "line 1, column 2, in /a: expected u8, found keyword `:a`"
    });
    check_written(&Twice, Err("duplicate key: :a"));
}

/// A map with a duplicate key.
struct Twice;

impl Serialize for Twice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("a", 1), ("a", 2)])
    }
}

#[test]
fn structs() {
    let config = Config { is_open: true, qualified: 1, text: Some("x".into()) };
    check_read("{\"is-open\" true, ns/name 1, :more [1], [nil] #t 1, \"no keyword\" :x}", &config);
    check_read("(true 1 \"x\")", &config);
    check(config, "{:is-open true, :ns/name 1, \"no keyword\" \"x\"}");
    check_read("{:is-open false, :ns/name 0}", &Config::default());
    check_error::<Config>("{:is-open true}", "line 1, column 1: missing field `ns/name`");
    check_error::<Config>("{:is-open 1}", {
        "line 1, column 11, in /is-open: expected a boolean, found integer `1`"
    });
    check_error::<Config>("{:ns/name 1, \"ns/name\" 2}", {
        "line 1, column 1: duplicate field `ns/name`"
    });
    check_error::<Config>(":a", "line 1, column 1: expected struct Config, found keyword `:a`");
}

#[test]
fn enums() {
    check(Shape::Point, ":Point");
    check(Shape::TwoParts, "\"in two parts\"");
    check(Shape::Circle(1), "{:Circle 1}");
    check(Shape::Line(1, 2), "{:Line [1 2]}");
    check(Shape::Rect { width: 1, height: 2 }, "{:Rect {:width 1, :height 2}}");
    check(Shape::Nothing(()), "{:Nothing nil}");
    check_read("[Point \"Point\" {:Point nil}]", &[const { Shape::Point }; 3]);
    check_read("{\"Rect\" (1 2)}", &Shape::Rect { width: 1, height: 2 });
    check_error::<Shape>(":Square", {
        "line 1, column 1: unknown variant `Square`, expected one of `Point`, `in two parts`, \
        `Circle`, `Line`, `Rect`, `Nothing`"
    });
    let long = "x".repeat(1_000);
    let error = from_str::<Shape>(&format!("{{#_1 :{long} 1}}")).unwrap_err().to_string();
    let cut = format!("line 1, column 6: unknown variant `{}…`, expected one of", &long[..64]);
    assert!(error.starts_with(&cut) && error.ends_with("`Nothing`"), "{error}");
    check_error::<HashMap<u8, i32>>("{1 1,\n :a\n 2}", {
        "line 2, column 2, in /a: expected u8, found keyword `:a`"
    });
    check_error::<HashMap<String, i32>>("{:a 1\n \"a\" \"x\"}", {
        "line 2, column 6, in /a: expected i32, found string \"x\""
    });
    check_error::<HashMap<(u8, u8), i32>>("{[1 2] 1\n [1 :b] 2}", {
        "line 2, column 5, in /[1 :b]/1: expected u8, found keyword `:b`"
    });
    check_error::<Shape>(":Circle", {
        "line 1, column 1: expected a variant with a value, found unit variant"
    });
    check_error::<Shape>("{:Circle :a}", {
        "line 1, column 10, in /Circle: expected u8, found keyword `:a`"
    });
    check_error::<Shape>("{:Rect {:width 1, :height [2]}}", {
        "line 1, column 27, in /Rect/height: expected u8, found vector"
    });
    check_error::<Shape>("{}", {
        "line 1, column 1: expected enum Shape, found map with other than one entry"
    });
    check_error::<Shape>("1", "line 1, column 1: expected enum Shape, found integer `1`");
}

#[test]
fn buffered_by_serde() {
    let at = "2024-01-01T00:00:00Z".parse().unwrap();
    check(Internal::A { at }, "{:kind \"A\", :at #inst \"2024-01-01T00:00:00Z\"}");
    check_read("{:kind :B, :is-open true, :ns/name 1}", {
        &Internal::B(Config { is_open: true, qualified: 1, text: None })
    });
    check(Adjacent::A(keyword("a")), "{:kind :A, :of :a}");
    check(Untagged::Number(1), "1");
    check(Untagged::Text("a".into()), "\"a\"");
    check(Untagged::Many(vec![keyword("a")]), "[:a]");
    check_read(":a", &Untagged::Text("a".into()));
    check_read("{:is-open false, :ns/name 0}", &Untagged::Config(Config::default()));
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Outer {
    name: Keyword,
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    rest: Map,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Inner {
    tags: Vec<Keyword>,
    at: Inst,
    price: Decimal,
}

const INNER: &str = "{:tags [:a], :at #inst \"2024-01-01T00:00:00Z\", :price 1.5M}";

#[test]
fn flattened() {
    let text = "{:name :n, :tags [:a], :at #inst \"2024-01-01T00:00:00Z\", :price 1.5M, \
        :more 1, \"in two parts\" {:a [nil 2.5]}}";
    let outer = Outer {
        name: keyword("n"),
        inner: Inner {
            tags: vec![keyword("a")],
            at: "2024".parse().unwrap(),
            price: "1.5".parse().unwrap(),
        },
        rest: from_str("{:more 1, \"in two parts\" {:a [nil 2.5]}}").unwrap(),
    };
    check(outer, text);
    // Writing keeps all types. Buffered values have text for keywords.
    let text = "{:name :n, :tags [], :at #inst \"2024-01-01T00:00:00Z\", :price 1.5M, \"k\" :v}";
    let outer: Outer = from_str(text).unwrap();
    assert_eq!(outer.rest, from_str::<Map>("{:k \"v\"}").unwrap());
    let outer = Outer { rest: from_str("{\"k\" :v}").unwrap(), ..outer };
    check_written(&outer, Ok(text));
    let outer = Outer { rest: from_str("{:at :v}").unwrap(), ..outer };
    check_written(&outer, Err("duplicate key: :at"));
}

#[test]
fn values_keep_their_types() {
    let own: Own = from_str(OWN).unwrap();
    assert_eq!(to_string(&own).unwrap(), OWN);
    check(own, OWN);
    for text in [
        "nil",
        "true",
        "1",
        "1N",
        "1.5",
        "1.50M",
        "1/3",
        "\\a",
        "\"a\"",
        "a/b",
        ":a/b",
        "()",
        "[]",
        "#{}",
        "{}",
        "#t nil",
        "#inst \"2024-02-29T23:59:00.001Z\"",
        OWN,
    ] {
        let value = edn(text);
        // Compares the text as well, since a list equals a vector.
        assert_eq!(to_value(&value).unwrap().to_string(), value.to_string());
        assert_eq!(from_ref::<Value>(&value).unwrap().to_string(), value.to_string());
        assert_eq!(from_str::<Option<Value>>(text).unwrap().unwrap_or_default(), value);
    }
    assert_eq!(to_value(&Value::Char('😀')).unwrap(), Value::Char('😀'));
    assert_eq!(to_string_pretty(&own_small()).unwrap(), format!("{:#}", edn("{:a [1 2]}")));
}

fn own_small() -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([("a".to_owned(), vec![1, 2])])
}

#[test]
fn reads_values_from_equivalent_forms() {
    check_read("[\"a\" b :c \\d]", &["a", "b", "c", "d"].map(keyword).to_vec());
    check_read("[\"2024\"]", &vec!["2024".parse::<Inst>().unwrap()]);
    check_read(
        "[1 1.5 \"1.5\" 1.50M]",
        &["1", "1.5", "1.5", "1.5"].map(|d| d.parse::<Decimal>().unwrap()).to_vec(),
    );
    check_read("[1 \"12\"]", &vec![Integer::from(1), Integer::from(12)]);
    check_read("{:1 1}", &HashMap::from([(Integer::from(1), 1)]));
    check_error::<Keyword>("\"a b\"", "line 1, column 1: `:a b` is not a keyword");
    check_error::<Keyword>("1", "line 1, column 1: expected a keyword, found integer `1`");
    check_error::<HashMap<Keyword, u8>>("{1 1}", {
        "line 1, column 2, in /1: expected a keyword, found integer `1`"
    });
    check_error::<Inst>("\"2024-13\"", "line 1, column 1: \"2024-13\" is not an instant");
    check_error::<Decimal>("##NaN", {
        "line 1, column 1: expected a decimal, found floating point `NaN`"
    });
    check_error::<Ratio>("1", "line 1, column 1: expected a ratio, found integer `1`");
    check_error::<Set>("[1 1]", "line 1, column 1: duplicate key: 1");
    check_error::<Tagged>("[1]", "line 1, column 1: expected a tagged value, found vector");
}

#[test]
fn errors() {
    check_error::<u8>("256", "line 1, column 1: the integer is out of range of u8");
    check_error::<i64>("1.0", "line 1, column 1: expected i64, found float `1.0`");
    check_error::<Vec<u8>>("[1\n \"2\"]", {
        "line 2, column 2, in /1: expected u8, found string \"2\""
    });
    check_error::<Vec<String>>("[#my/tag \"a\"]", {
        "line 1, column 2, in /0: expected a string, found a value tagged #my/tag"
    });
    check_error::<BTreeMap<String, Vec<bool>>>("{:a/b [true nil]}", {
        "line 1, column 13, in /a~1b/1: expected a boolean, found nil"
    });
    check_error::<char>("\"ab\"", "line 1, column 1: expected a character, found string \"ab\"");
    check_error::<()>("[1 2", "line 1, column 5, in /2: the text ends within a vector");
    let error = from_value::<Vec<u8>>(edn("[:a]")).unwrap_err();
    assert_eq!(error.to_string(), "in /0: expected u8, found keyword `:a`");
}

#[test]
fn other_formats() {
    let value =
        edn("{:a [:b/c d \\e \"f\"], \"g\" (1 2.5 1.50M 1/3), h #{#inst \"2024\"}, 1 nil, \
        #uuid \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\" \
        12345678901234567890123456789012345678901234567890N}");
    let json = r#"{"a":["b/c","d","e","f"],"g":[1,2.5,"1.50","1/3"],"h":["2024-01-01T00:00:00Z"],"1":null,"f81d4fae-7dec-11d0-a765-00a0c91e6bf6":"12345678901234567890123456789012345678901234567890"}"#;
    assert_eq!(serde_json::to_string(&value).unwrap(), json);
    let error = serde_json::to_string(&edn("[#my/tag 1]")).unwrap_err();
    assert_eq!(error.to_string(), "a value tagged #my/tag can only be serialized as EDN");

    let value: Value =
        serde_json::from_str(r#"{"a":["b",1,18446744073709551615,1.5,null],"c d":{}}"#).unwrap();
    assert_eq!(value.to_string(), "{:a [\"b\" 1 18446744073709551615N 1.5 nil], \"c d\" {}}");
    let inner = serde_json::json!({ "tags": ["a"], "at": "2024", "price": 1.5 });
    let inner: Inner = serde_json::from_value(inner).unwrap();
    assert_eq!(to_string(&inner).unwrap(), INNER);
    let error = serde_json::from_str::<Tagged>("[1]").unwrap_err();
    assert_eq!(error.to_string(), "expected a tagged value, found vector");
    let json: serde_json::Value = from_str("{:a [b 1 2.5M nil], \"c\" #{\\d}}").unwrap();
    assert_eq!(json, serde_json::json!({"a": ["b", 1, 2.5, null], "c": ["d"]}));
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Tree {
    children: Vec<Tree>,
    other: Option<Box<Tree>>,
    map: BTreeMap<String, Tree>,
    name: String,
}

#[test]
fn depth() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    // A value has the depth that the reader accepts.
    let text = deep(1_024);
    let value: Value = from_str(&text).unwrap();
    assert_eq!(to_value(&value).unwrap().to_string(), text);
    check(HashMap::from([("a".to_owned(), edn(&deep(1_023)))]), &format!("{{:a {}}}", deep(1_023)));

    // Other types have a limit in both directions.
    let tree = |depth: usize| {
        let begin = "{:children [] :map {} :name \"a\" :other ".repeat(depth);
        format!("{begin}nil{}", "}".repeat(depth))
    };
    let found = from_str::<Tree>(&tree(127)).unwrap();
    let text = to_string(&found).unwrap();
    assert_eq!(from_str::<Tree>(&text).unwrap(), found);
    let error = from_str::<Tree>(&tree(128)).unwrap_err();
    assert!(error.to_string().ends_with(": nested deeper than 128 forms"), "{error}");
    let deeper = Tree { other: Some(Box::new(found)), ..Tree::default() };
    let error = to_string(&deeper).unwrap_err();
    assert!(error.to_string().ends_with(": nested deeper than 128 forms"), "{error}");
    assert!(from_str::<serde_json::Value>(&deep(128)).is_ok());
    let json = |depth: usize| (0..depth).fold(serde_json::json!(1), |json, _| [json].into());
    assert_eq!(serde_json::from_value::<Value>(json(128)).unwrap().to_string().len(), 257);
    let error = serde_json::from_value::<Value>(json(129)).unwrap_err();
    assert_eq!(error.to_string(), "nested deeper than 128 forms");
    assert_eq!(serde_json::to_string(&edn(&deep(128))).unwrap(), deep(128));
    let error = serde_json::to_string(&edn(&deep(1_000))).unwrap_err();
    assert_eq!(error.to_string(), "nested deeper than 128 forms");
    let error = from_str::<serde_json::Value>(&deep(1_000)).unwrap_err();
    assert!(error.to_string().ends_with(": nested deeper than 128 forms"), "{error}");
}

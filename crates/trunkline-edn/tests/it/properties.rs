//! Property tests of values and texts.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use proptest::collection::vec;
use proptest::prelude::*;
use trunkline_edn::{
    Decimal, Inst, Integer, Keyword, List, Map, Ratio, Set, Symbol, Tagged, Uuid, Value, Vector,
    read,
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn values_round_trip(value in values()) {
        check_written(&value)?;
    }

    #[test]
    fn texts_round_trip(text in texts()) {
        if let Ok(value) = read(&text) {
            check_written(&value)?;
        }
    }

    /// Random values are rarely equal, so each is compared with an equal variant of itself.
    #[test]
    fn equal_values_have_equal_hashes(value in values()) {
        let twin = twin(&value);
        prop_assert_eq!(&twin, &value);
        prop_assert_eq!(&value, &twin);
        prop_assert_eq!(hash(&twin), hash(&value));
        let both = Set::from_iter([value.clone(), twin.clone()]);
        prop_assert_eq!(both.len(), 1);
        prop_assert!(Map::from_iter([(value, 1)]).contains_key(&twin));
    }

    #[test]
    fn distinct_values_are_not_duplicates(values in vec(few_values(), 0..40)) {
        let distinct = Set::from_iter(values.clone());
        let searched: Vec<&Value> = values.iter().fold(Vec::new(), |mut found, value| {
            if !found.contains(&value) {
                found.push(value);
            }
            found
        });
        prop_assert_eq!(distinct.iter().collect::<Vec<_>>(), searched);
        prop_assert_eq!(Set::of_values(values.clone()).is_ok(), distinct.len() == values.len());
    }
}

fn check_written(value: &Value) -> Result<(), TestCaseError> {
    let compact = value.to_string();
    prop_assert!(!compact.contains('\n'));
    for written in [&compact, &format!("{value:#}")] {
        let again = read(written).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&again, value);
        // Values of different types can be equal.
        prop_assert_eq!(again.to_string(), compact.as_str());
    }
    Ok(())
}

fn hash(value: &Value) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

/// An equal value with another representation: lists for vectors, another order, more zeros.
fn twin(value: &Value) -> Value {
    match value {
        Value::List(list) => Value::Vector(list.iter().map(twin).collect()),
        Value::Vector(vector) => Value::List(vector.iter().map(twin).collect()),
        Value::Set(set) => {
            let values: Vec<Value> = set.iter().rev().map(twin).collect();
            Value::Set(Set::of_values(values).expect("they were distinct"))
        }
        Value::Map(map) => {
            let entries = map.iter().rev().map(|(key, value)| (twin(key), twin(value)));
            Value::Map(Map::of_entries(entries.collect()).expect("they were distinct"))
        }
        Value::Tagged(tagged) => Tagged::new(tagged.tag().clone(), twin(tagged.value())).into(),
        Value::Decimal(decimal) => {
            let text = decimal.to_string();
            let more = if text.contains('.') && !text.contains('E') { "0" } else { "" };
            Value::Decimal(format!("{text}{more}").parse().expect("a decimal"))
        }
        Value::Float(float) if *float == 0.0 => Value::Float(-float),
        other => other.clone(),
    }
}

fn values() -> impl Strategy<Value = Value> {
    atoms().prop_recursive(5, 48, 6, |part| {
        let tagged = |(tag, value): (&str, Value)| {
            Tagged::new(Symbol::new(tag).expect("a symbol"), value).into()
        };
        prop_oneof![
            vec(part.clone(), 0..6).prop_map(|parts| Value::List(List::from(parts))),
            vec(part.clone(), 0..6).prop_map(|parts| Value::Vector(Vector::from(parts))),
            vec(part.clone(), 0..6).prop_map(|parts| Value::Set(Set::from_iter(parts))),
            vec((part.clone(), part.clone()), 0..6)
                .prop_map(|entries| Value::Map(Map::from_iter(entries))),
            // Large maps use an index.
            vec((any::<i16>(), part.clone()), 20..24)
                .prop_map(|entries| Value::Map(Map::from_iter(entries))),
            (prop::sample::select(&["a", "a/b", "é", "inst.x", "uuid/v"]), part).prop_map(tagged),
        ]
    })
}

/// Few values, so that many are equal.
fn few_values() -> impl Strategy<Value = Value> {
    let atoms = prop_oneof![
        (0..3).prop_map(Value::from),
        prop::sample::select(&[0.0, -0.0, 1.0]).prop_map(Value::from),
        prop::sample::select(&["1M", "1.0M", "1/2", "nil", ":a", "a"])
            .prop_map(|text| read(text).expect("a form")),
    ];
    atoms.prop_recursive(2, 4, 2, |part| {
        prop_oneof![
            vec(part.clone(), 0..3).prop_map(|parts| Value::List(List::from(parts))),
            vec(part.clone(), 0..3).prop_map(|parts| Value::Vector(Vector::from(parts))),
            vec(part.clone(), 0..3).prop_map(|parts| Value::Set(Set::from_iter(parts))),
            vec((part.clone(), part), 0..3).prop_map(|entries| Value::Map(Map::from_iter(entries))),
        ]
    })
}

fn atoms() -> impl Strategy<Value = Value> {
    let digits = "-?[1-9][0-9]{0,30}";
    let integer = |text: String| text.parse::<Integer>().expect("digits");
    prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-9..9_i64).prop_map(Value::from),
        digits.prop_map(move |text| integer(text).into()),
        any::<f64>().prop_map(Value::from),
        prop_oneof![Just(0.0), Just(-0.0), Just(f64::NAN), Just(f64::INFINITY)]
            .prop_map(Value::from),
        "-?[0-9]{1,20}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{1,9})?"
            .prop_map(|text| Value::Decimal(text.parse::<Decimal>().expect("a decimal"))),
        (digits, "[1-9][0-9]{0,30}").prop_map(move |(upper, lower)| {
            Ratio::of(&integer(upper), &integer(lower)).expect("no zero")
        }),
        // Characters that EDN supports.
        any::<u16>()
            .prop_map(|unit| { char::from_u32(unit.into()).map_or(Value::Nil, Value::Char) }),
        any::<String>().prop_map(Value::from),
        "[\\\\\"\n\t\r\u{8}\u{c}u0-9]{0,8}".prop_map(Value::from),
        names().prop_filter_map("a symbol", |name| Symbol::new(&name).ok().map(Value::from)),
        names().prop_filter_map("a keyword", |name| Keyword::new(&name).ok().map(Value::from)),
        (-62_167_219_200..253_402_300_800_i64, 0..1_000_000_000_u32).prop_map(
            |(seconds, nanos)| { Value::Inst(Inst::new(seconds, nanos).expect("in range")) }
        ),
        any::<[u8; 16]>().prop_map(|bytes| Value::Uuid(Uuid::from_bytes(bytes))),
    ]
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9.*+!?$%&=<>_-]{0,9}",
        "[a-z.]{1,5}/[a-z0-9]{1,5}",
        "[a-z/:.#'|+0-9-]{1,4}",
        "\\PC{1,4}",
    ]
}

/// Random sequences of tokens, some of which are valid.
fn texts() -> impl Strategy<Value = String> {
    let tokens = prop_oneof![
        6 => prop::sample::select(TOKENS).prop_map(str::to_owned),
        2 => "[ ,\n]",
        1 => names(),
        1 => "[0-9.eEMNr/x+-]{1,6}",
        1 => "[\\[\\](){}\"\\\\#;^:@~`'a1 ]",
    ];
    prop_oneof![
        4 => vec(tokens.clone(), 0..12).prop_map(|tokens| tokens.concat()),
        // Closes most brackets.
        4 => (vec(tokens, 0..8), prop::sample::select(BRACKETS)).prop_map(|(tokens, (open, close))| {
            format!("{open}{}{close}", tokens.join(" "))
        }),
        1 => any::<String>(),
    ]
}

const BRACKETS: &[(&str, &str)] = &[
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("#{", "}"),
    ("#:a{", "}"),
    ("^:a [", "]"),
    ("#a (", ")"),
    ("#_[", "] 1"),
    ("\"", "\""),
];

const TOKENS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "#{",
    "#_",
    "#^",
    "^",
    "##",
    "#:a{",
    "#a ",
    "#a/b ",
    ";",
    "\n",
    ",",
    " ",
    "nil",
    "true",
    "false",
    "a",
    ":a",
    ":a/b",
    "a/b",
    "/",
    "\"",
    "\"a\"",
    "\"\\n\"",
    "\"\\ud83d\\ude00\"",
    "\\",
    "\\a",
    "\\newline",
    "\\u03a9",
    "\\o101",
    "0",
    "-1",
    "7N",
    "0x1F",
    "017",
    "36rZ",
    "9223372036854775808",
    "1/2",
    "-6/4",
    "1.0",
    "-0.0",
    "1e400",
    "1.50M",
    "1e-9M",
    "##Inf",
    "##NaN",
    "#inst \"2024-02-29T23:59:59.123Z\"",
    "#inst ",
    "#uuid \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\"",
    "é",
    "😀",
    "\u{2003}",
];

//! Values in Rust: conversions, accessors and changes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proptest::collection::vec;
use proptest::prelude::*;
use trunkline_edn::{Inst, Keyword, List, Map, Set, Tagged, Value, Vector, edn, read};

#[track_caller]
fn check(value: impl Into<Value>, expected: &str) {
    assert_eq!(value.into().to_string(), expected);
}

#[test]
fn converts_to_values() {
    let text = String::from("a");
    check(&text, "\"a\"");
    check(text, "\"a\"");
    check(Cow::Borrowed("a"), "\"a\"");
    check(Cow::<str>::Owned("a".to_owned()), "\"a\"");
    check([1, 2], "[1 2]");
    check([["a"], ["b"]], "[[\"a\"] [\"b\"]]");
    check([(); 0], "[]");
    check(List::from([1, 2]), "(1 2)");
    check(BTreeMap::from([("b", 1), ("a", 2)]), "{\"a\" 2, \"b\" 1}");
    check(HashMap::from([("a", 1)]), "{\"a\" 1}");
    check(BTreeSet::from([2, 1]), "#{1 2}");
    check(HashSet::from([1]), "#{1}");
}

/// Each accessor returns the values of one type only.
#[test]
fn accessors() {
    let forms = "true -7 1.5 2.50M 1/4 \"a\" :a/b a/b (1) [1] {:a 1} #{1} nil \\a #a 1";
    let forms = read(&format!("[{forms}]")).unwrap();
    let forms = forms.as_sequence().unwrap();
    let check = |name: &str, found: &dyn Fn(&Value) -> Option<String>, expected: &[&str]| {
        assert_eq!(forms.iter().filter_map(found).collect::<Vec<_>>(), expected, "{name}");
    };
    check("bool", &|value| Some(value.as_bool()?.to_string()), &["true"]);
    check("i64", &|value| Some(value.as_i64()?.to_string()), &["-7"]);
    check("f64", &|value| Some(value.as_f64()?.to_string()), &["-7", "1.5", "2.5", "0.25"]);
    check("str", &|value| Some(value.as_str()?.to_owned()), &["a"]);
    check("keyword", &|value| Some(value.as_keyword()?.to_string()), &[":a/b"]);
    check("symbol", &|value| Some(value.as_symbol()?.to_string()), &["a/b"]);
    check("sequence", &|value| Some(format!("{:?}", value.as_sequence()?)), &["[1]", "[1]"]);
    check("map", &|value| Some(value.as_map()?.to_string()), &["{:a 1}"]);
    check("set", &|value| Some(value.as_set()?.to_string()), &["#{1}"]);
}

#[test]
fn changes_a_value_in_a_map() {
    let mut value = edn!({:a 1, "a" 2, "b" 3, "c d" {:e 4}});
    for (name, new) in [("a", 10), ("b", 30)] {
        *value.get_mut(name).unwrap() = new.into();
    }
    *value.get_mut("c d").and_then(|inner| inner.get_mut("e")).unwrap() = 40.into();
    assert_eq!(value.get_mut("c"), None);
    assert_eq!(edn!([1]).get_mut("a"), None);
    check(value, "{:a 10, \"a\" 2, \"b\" 30, \"c d\" {:e 40}}");
}

/// Changes all entries, in a small map and in a large one, which has an index.
#[test]
fn changes_entries() {
    for count in [3, 100] {
        let map = Map::from_iter((0..count).map(|at| (at, at)));
        let with = |of: fn(i64) -> i64| Map::from_iter((0..count).map(|at| (at, of(at))));
        let number = |value: &Value| value.as_i64().unwrap();
        // The hash is cached before the change.
        assert!(Set::from_iter([map.clone()]).contains(&map.clone().into()));

        let mut doubled = map.clone();
        doubled.values_mut().for_each(|value| *value = (number(value) * 2).into());
        check_same(&doubled, &with(|at| at * 2));

        let mut squared = map.clone();
        squared.iter_mut().for_each(|(key, value)| *value = (number(key) * number(value)).into());
        check_same(&squared, &with(|at| at * at));

        let mut odd = map.clone();
        odd.retain(|key, value| {
            *value = (number(value) + 1).into();
            number(key) % 2 == 1
        });
        check_same(&odd, &Map::from_iter((1..count).step_by(2).map(|at| (at, at + 1))));

        let keys: Vec<i64> = (&map).into_iter().map(|(key, _)| number(key)).collect();
        assert_eq!(keys, (0..count).collect::<Vec<_>>());
        let mut set = Set::from_iter(keys);
        set.retain(|value| number(value) >= 2);
        assert_eq!(set, Set::from_iter(2..count));
        assert!(!set.contains(&0.into()) && set.contains(&2.into()));
    }
}

/// Checks that two maps are equal, and equal as keys.
#[track_caller]
fn check_same(map: &Map, expected: &Map) {
    assert_eq!(map, expected);
    assert_eq!(map.to_string(), expected.to_string());
    assert!(
        Set::from_iter([Value::from(map.clone()), Value::Nil]).contains(&expected.clone().into())
    );
    for (key, value) in expected {
        assert_eq!(map.get(key), Some(value));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Compares random changes of a map with those of a list of entries.
    #[test]
    fn maps_behave_like_lists_of_entries(steps in vec((0..3_u8, 0..60_i64, any::<i64>()), 0..200)) {
        let (mut map, mut entries) = (Map::new(), Vec::<(i64, i64)>::new());
        for (step, key, value) in steps {
            let found = entries.iter().position(|(known, _)| *known == key);
            if step == 0 {
                let removed = found.map(|at| Value::from(entries.remove(at).1));
                prop_assert_eq!(map.remove(&key.into()), removed);
                continue;
            }
            match found {
                Some(at) => entries[at].1 = value,
                None => entries.push((key, value)),
            }
            map.insert(key, value);
        }
        let expected = Map::from_iter(entries.iter().copied());
        prop_assert_eq!(map.to_string(), expected.to_string());
        for key in 0..60 {
            prop_assert_eq!(map.get(&key.into()), expected.get(&key.into()));
        }
    }
}

/// Removing the last entry takes constant time.
#[test]
fn removing_all_entries_takes_linear_time() {
    let begun = Instant::now();
    let count = 100_000;
    let mut map = Map::from_iter((0..count).map(|at| (at, at)));
    for at in (0..count).rev() {
        assert_eq!(map.remove(&at.into()), Some(at.into()));
    }
    assert!(map.is_empty());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn converts_system_times() {
    for seconds in [-1, 0, 1, 1_700_000_000] {
        let inst = Inst::new(seconds, 500).unwrap();
        assert_eq!(Inst::try_from(SystemTime::try_from(inst).unwrap()), Ok(inst));
    }
    let before = SystemTime::try_from(Inst::new(-1, 999_999_000).unwrap());
    assert_eq!(before, Ok(UNIX_EPOCH - Duration::from_micros(1)));
}

/// `Debug` and `Display` of a collection are EDN.
#[test]
fn formats_collections_as_edn() {
    let long = "x".repeat(70);
    for text in ["(:a 1)", "[:a 1]", "{:a 1, :b 2}", "#{:a 1}", "#my/tag [1]"] {
        for text in [text.to_owned(), text.replace('1', &format!("[{long} {long}]"))] {
            let value = read(&text).unwrap();
            let line = [format!("{value}"), format!("{value:?}")];
            let page = [format!("{value:#}"), format!("{value:#?}")];
            assert_eq!(line, [text.clone(), text.clone()]);
            let shown = match &value {
                Value::List(list) => show(list),
                Value::Vector(vector) => show(vector),
                Value::Map(map) => show(map),
                Value::Set(set) => show(set),
                Value::Tagged(tagged) => show(tagged),
                _ => unreachable!("{text} is a collection"),
            };
            assert_eq!(shown[..], [line, page].concat());
        }
    }
}

fn show(shown: &(impl std::fmt::Display + std::fmt::Debug)) -> [String; 4] {
    [format!("{shown}"), format!("{shown:?}"), format!("{shown:#}"), format!("{shown:#?}")]
}

#[test]
fn formats_with_a_width() {
    let vector = Vector::from([1, 2]);
    let tagged = Tagged::new("t".parse().unwrap(), 1);
    let keyword = Value::from(Keyword::new("a").unwrap());
    assert_eq!(
        format!("{vector:7}|{vector:>7}|{vector:-^7}|{vector:3}"),
        "[1 2]  |  [1 2]|-[1 2]-|[1 2]"
    );
    assert_eq!(format!("{tagged:6}|{keyword:>4}|{keyword:4?}|"), "#t 1  |  :a|:a  |");
    assert_eq!(format!("{:*<8}|{:>#7}", Value::from("é"), edn!({:a 1})), "\"é\"*****| {:a 1}");
}

/// Comparing nested keys one by one would take exponential time.
#[test]
fn inserts_nested_keys() {
    let nested = |key_first: bool| {
        (0..200).fold(Value::Nil, |inner, at| {
            let mut set = Set::new();
            if key_first {
                set.insert(at);
            }
            set.insert(inner);
            set.insert(at);
            Value::from(set)
        })
    };
    let begun = Instant::now();
    assert!(nested(true) == nested(false));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

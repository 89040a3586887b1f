//! Round trips of the standard library types that serde supports, as values and as keys of maps. Differences are
//! documented at `to_value`.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{CString, OsString};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::{NonZeroI128, NonZeroU8, Saturating, Wrapping};
use std::ops::Bound;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trunkline_edn::{Inst, Keyword, Symbol, Uuid, from_str, from_value, to_string, to_value};

/// Checks that a value is written as `edn`, and read back from text and from a value.
#[track_caller]
fn check_same<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, edn: &str) {
    assert_eq!(to_string(value).unwrap(), edn, "{value:?}");
    assert_eq!(&from_str::<T>(edn).unwrap(), value, "{edn}");
    assert_eq!(&from_value::<T>(to_value(value).unwrap()).unwrap(), value, "{edn}");
}

/// Checks a value by itself, in collections, and as a key: alone, in a tuple, and in a nested map.
#[track_caller]
fn check<T>(value: T, edn: &str, key: &str)
where
    T: Serialize + DeserializeOwned + Ord + Clone + Debug,
{
    check_same(&value, edn);
    check_same(&vec![value.clone(), value.clone()], &format!("[{edn} {edn}]"));
    check_same(&(1, value.clone()), &format!("[1 {edn}]"));
    check_same(&BTreeMap::from([("a", value.clone())].map(owned)), &format!("{{:a {edn}}}"));
    check_same(&BTreeMap::from([(value.clone(), 1)]), &format!("{{{key} 1}}"));
    check_same(&BTreeMap::from([((value.clone(), true), 1)]), &format!("{{[{edn} true] 1}}"));
    let outer = BTreeMap::from([("a", BTreeMap::from([(value, 1)]))].map(owned));
    check_same(&outer, &format!("{{:a {{{key} 1}}}}"));
}

/// Checks a type with the same text as a value and as a key.
#[track_caller]
fn check_atom<T>(value: T, edn: &str)
where
    T: Serialize + DeserializeOwned + Ord + Clone + Debug,
{
    check(value, edn, edn);
}

fn owned<T>((key, value): (&str, T)) -> (String, T) {
    (key.to_owned(), value)
}

#[test]
fn addresses() {
    let (v4, v6) = (Ipv4Addr::new(127, 0, 0, 1), Ipv6Addr::LOCALHOST);
    check(v4, "\"127.0.0.1\"", "\"127.0.0.1\"");
    check(v6, "\"::1\"", "\"::1\"");
    check(IpAddr::V4(v4), "\"127.0.0.1\"", "\"127.0.0.1\"");
    check(IpAddr::V6(v6), "\"::1\"", "\"::1\"");
    check(SocketAddrV4::new(v4, 80), "\"127.0.0.1:80\"", "\"127.0.0.1:80\"");
    check(SocketAddrV6::new(v6, 80, 0, 7), "\"[::1%7]:80\"", "\"[::1%7]:80\"");
    check(SocketAddr::from((v4, 80)), "\"127.0.0.1:80\"", "\"127.0.0.1:80\"");
    check(SocketAddr::from((v6, 80)), "\"[::1]:80\"", "\"[::1]:80\"");
}

#[test]
fn numbers_and_atoms() {
    check_atom(i8::MIN, "-128");
    check_atom(u64::MAX, "18446744073709551615N");
    check_atom(i128::MIN, "-170141183460469231731687303715884105728N");
    check_atom(u128::MAX, "340282366920938463463374607431768211455N");
    check_atom(isize::MAX, "9223372036854775807");
    check_atom(NonZeroU8::MAX, "255");
    check_atom(NonZeroI128::MIN, "-170141183460469231731687303715884105728N");
    check_atom(Wrapping(7_i32), "7");
    check_atom(Saturating(7_i32), "7");
    check_atom(Reverse(7), "7");
    check_atom(true, "true");
    check_atom('a', "\\a");
    check_atom(':', "\\:");
    check_atom('é', "\\é");
    check_atom('\n', "\\newline");
    check_atom((), "nil");
    check_atom(PhantomData::<u8>, "nil");
    check(String::from("a"), "\"a\"", ":a");
    check_atom(String::from("a b"), "\"a b\"");
    check_atom(String::new(), "\"\"");
    check_atom(String::from("1"), "\"1\"");
    check(String::from("nil"), "\"nil\"", ":nil");
    check(Box::<str>::from("a"), "\"a\"", ":a");
    check(Cow::<str>::Owned("a".to_owned()), "\"a\"", ":a");
    check(PathBuf::from("a/b c"), "\"a/b c\"", "\"a/b c\"");
    check_atom(CString::new("a").unwrap(), "[97]");
    check_same(&f64::INFINITY, "##Inf");
    check_same(&f32::NEG_INFINITY, "##-Inf");
    assert!(from_str::<f64>(&to_string(&f64::NAN).unwrap()).unwrap().is_nan());
    check_same(&-0.0_f64, "-0.0");
}

#[cfg(unix)]
#[test]
fn system_strings() {
    check_atom(OsString::from("a"), "{:Unix [97]}");
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Choice {
    One,
    #[serde(rename = "in two parts")]
    Two,
    Address(IpAddr),
    Pair(char, Option<SocketAddr>),
    Fields {
        id: Id,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Id(u64);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Unit;

#[test]
fn compound_types() {
    let address = IpAddr::from([10, 0, 0, 1]);
    check_atom(None::<u8>, "nil");
    check_atom(Some(1), "1");
    check_atom(Some('a'), "\\a");
    check_atom(Some(address), "\"10.0.0.1\"");
    check(Some("a".to_owned()), "\"a\"", ":a");
    check_atom((1, 'a', "a".to_owned(), address), "[1 \\a \"a\" \"10.0.0.1\"]");
    check_atom([address; 2], "[\"10.0.0.1\" \"10.0.0.1\"]");
    check_atom([0_u8; 0], "[]");
    check_atom(vec![1, 2], "[1 2]");
    check_atom(VecDeque::from([1]), "[1]");
    check_atom(LinkedList::from([1]), "[1]");
    check_atom(BTreeSet::from(["a".to_owned()]), "[\"a\"]");
    check_atom(BTreeMap::from([(address, Some(1))]), "{\"10.0.0.1\" 1}");
    check_atom(Choice::One, ":One");
    check_atom(Choice::Two, "\"in two parts\"");
    check_atom(Choice::Address(address), "{:Address \"10.0.0.1\"}");
    check_atom(Choice::Pair('a', None), "{:Pair [\\a nil]}");
    check_atom(Choice::Fields { id: Id(1) }, "{:Fields {:id 1}}");
    check_atom(Id(1), "1");
    check_atom(Unit, "nil");
    check_atom(Ok::<_, u8>(address), "{:Ok \"10.0.0.1\"}");
    check_atom(Err::<u8, _>(Unit), "{:Err nil}");
    check_atom(Duration::new(1, 2), "{:secs 1, :nanos 2}");
    let later = SystemTime::UNIX_EPOCH + Duration::new(1, 2);
    check_atom(later, "{:secs_since_epoch 1, :nanos_since_epoch 2}");
    check_same(&(1..2), "{:start 1, :end 2}");
    check_same(&(1..=2), "{:start 1, :end 2}");
    check_same(&(1..), "{:start 1}");
    check_same(&Bound::Included(1), "{:Included 1}");
    check_same(&Bound::<u8>::Unbounded, ":Unbounded");
    check_same(&HashMap::from([(Some(address), 1)]), "{\"10.0.0.1\" 1}");
    check_same(&HashSet::from([address]), "[\"10.0.0.1\"]");
    check_same(&Cell::new(1), "1");
    check_same(&RefCell::new(Box::new(address)), "\"10.0.0.1\"");
    assert_eq!(to_string(&BinaryHeap::from([1])).unwrap(), "[1]");
}

#[test]
fn own_types() {
    check_atom("a/b".parse::<Keyword>().unwrap(), ":a/b");
    check_atom("a/b".parse::<Symbol>().unwrap(), "a/b");
    let uuid: Uuid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6".parse().unwrap();
    check_atom(uuid, "#uuid \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\"");
    check_atom("2024".parse::<Inst>().unwrap(), "#inst \"2024-01-01T00:00:00Z\"");
}

/// Values that have the same form in EDN, as documented at `to_value`.
#[test]
fn nil_is_one_value() {
    for value in [None, Some(None), Some(Some(1))] {
        let read = from_str::<Option<Option<u8>>>(&to_string(&value).unwrap()).unwrap();
        assert_eq!(read, value.flatten().map(Some), "{value:?}");
    }
    let twice = BTreeMap::from([(None, 1), (Some(()), 2)]);
    assert_eq!(to_string(&twice).unwrap_err().to_string(), "duplicate key: nil");
}

/// Several keys, some of which are maps and collections of this crate.
#[test]
fn several_keys() {
    let mixed = BTreeMap::from([
        (Choice::One, trunkline_edn::edn!([1, (2, 3), #{4}])),
        (Choice::Address([10, 0, 0, 1].into()), trunkline_edn::edn!({[1] {1.5 (2)}})),
        (Choice::Pair('a', Some(([10, 0, 0, 1], 80).into())), trunkline_edn::edn!(nil)),
    ]);
    check_same(
        &mixed,
        "{:One [1 (2 3) #{4}], {:Address \"10.0.0.1\"} {[1] {1.5 (2)}}, {:Pair [\\a \"10.0.0.1:80\"]} nil}",
    );
}

fn choices() -> impl Strategy<Value = Choice> {
    prop_oneof![
        Just(Choice::One),
        Just(Choice::Two),
        any::<IpAddr>().prop_map(Choice::Address),
        (any::<char>(), prop::option::of(sockets()))
            .prop_map(|(c, address)| Choice::Pair(c, address)),
        any::<u64>().prop_map(|id| Choice::Fields { id: Id(id) }),
    ]
}

/// Addresses without a flow label, which their text omits.
fn sockets() -> impl Strategy<Value = SocketAddr> {
    any::<(IpAddr, u16)>().prop_map(SocketAddr::from)
}

/// Maps with keys and values of all scalar types.
type Everything = (
    BTreeMap<(IpAddr, SocketAddrV4), (Ipv6Addr, SocketAddrV4)>,
    BTreeMap<IpAddr, Ipv4Addr>,
    BTreeMap<Option<String>, Option<String>>,
    BTreeMap<char, String>,
    BTreeMap<i128, u128>,
    BTreeMap<(bool, i8, Option<char>), Vec<u8>>,
    BTreeMap<Result<u64, String>, PathBuf>,
);

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn standard_types_round_trip(
        value in any::<Everything>(),
        sockets in prop::collection::btree_map(sockets(), sockets(), 0..8),
    ) {
        let text = to_string(&sockets).unwrap();
        prop_assert_eq!(from_str::<BTreeMap<SocketAddr, SocketAddr>>(&text).unwrap(), sockets);
        let text = to_string(&value).unwrap();
        prop_assert_eq!(&from_str::<Everything>(&text).unwrap(), &value, "{}", text);
        prop_assert_eq!(&from_value::<Everything>(to_value(&value).unwrap()).unwrap(), &value);
    }

    #[test]
    fn enums_round_trip(value in prop::collection::btree_map(choices(), choices(), 0..8)) {
        let text = to_string(&value).unwrap();
        prop_assert_eq!(&from_str::<BTreeMap<Choice, Choice>>(&text).unwrap(), &value, "{}", text);
    }
}

//! Values in other formats.

use serde::Serialize;
use trunkline_edn::{Map, Value, to_string};

#[track_caller]
fn check(edn: &str, expected: Result<&str, &str>) {
    let value: Value = edn.parse().unwrap();
    let found = serde_json::to_string(&value).map_err(|error| error.to_string());
    assert_eq!(found.as_deref().map_err(String::as_str), expected, "{edn}");
}

#[test]
fn keys_have_distinct_texts() {
    check("{:a 1, \"b\" 2, c 3, \\d 4, 5 5, 6.5M 6, 1/7 7, true 8}", {
        Ok(r#"{"a":1,"b":2,"c":3,"d":4,"5":5,"6.5":6,"1/7":7,"true":8}"#)
    });
    check("{:a 1, :a/a 2}", Ok(r#"{"a":1,"a/a":2}"#));
    check("{1.5M 1, 2.5M 2, 1.55M 3}", Ok(r#"{"1.5":1,"2.5":2,"1.55":3}"#));
    check("{:a 1, \"a\" 2}", Err("two keys have the text \"a\""));
    check("{:a 1, a 2}", Err("two keys have the text \"a\""));
    check("[{1 1, \"1\" 2}]", Err("two keys have the text \"1\""));
    check("{true 1, {} {true 1, :true 2}}", Err("key must be a string"));
    check("{1.5M 1, \"1.5\" 2}", Err("two keys have the text \"1.5\""));
    check("{1/3 1, \"1/3\" 2}", Err("two keys have the text \"1/3\""));
    check("{\\a 1, :a 2}", Err("two keys have the text \"a\""));
    check("{#inst \"2024\" 1, \"2024-01-01T00:00:00Z\" 2}", {
        Err("two keys have the text \"2024-01-01T00:00:00Z\"")
    });
    check("{1.5 1}", Err("a float can be a key only in EDN"));
    check("{:a 1, ##NaN 2}", Err("a float can be a key only in EDN"));
    check("{[1] 1}", Err("key must be a string"));
    let key = "k".repeat(1_000);
    let refused = format!("two keys have the text \"{}…\"", "k".repeat(64));
    check(&format!("{{:{key} 1, \"{key}\" 2}}"), Err(&refused));
}

#[test]
fn floats_depend_on_the_format() {
    check("[1.5 ##NaN ##Inf ##-Inf]", Ok("[1.5,null,null,null]"));
}

/// With `flatten`, a serializer of serde wraps that of the format.
#[test]
fn flattened_maps_depend_on_the_format() {
    #[derive(Serialize)]
    struct Outer {
        #[serde(flatten)]
        rest: Map,
    }
    #[track_caller]
    fn check(edn: &str, json: Result<&str, &str>) {
        let Ok(Value::Map(rest)) = edn.parse() else { panic!("{edn} is not a map") };
        let outer = Outer { rest };
        assert_eq!(to_string(&outer).unwrap(), edn);
        let found = serde_json::to_string(&outer).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), json, "{edn}");
    }
    check("{:a 1, \"b\" 2}", Ok(r#"{"a":1,"b":2}"#));
    check("{:a 1, \"a\" 2}", Err("two keys have the text \"a\""));
    check("{1.5 1, [:a] 2}", Err("a float can be a key only in EDN"));
}

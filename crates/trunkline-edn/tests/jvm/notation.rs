//! Values in the notation of `oracle.clj`.

use trunkline_edn::{Inst, Map, Set, Tagged, Value};

/// The text of a value, which is distinct for values that differ in any way.
pub(crate) fn notation(value: &Value) -> String {
    match value {
        Value::Nil => "nil".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Integer(integer) => integer.to_string(),
        Value::Float(float) => format!("d{:016x}", bits(*float)),
        Value::Decimal(decimal) => format!("{decimal}M"),
        Value::Ratio(ratio) => ratio.to_string(),
        Value::Char(c) => format!("c{:04x}", u32::from(*c)),
        Value::String(text) => quoted(text),
        Value::Symbol(symbol) => name("s", symbol.namespace(), symbol.name()),
        Value::Keyword(keyword) => name("k", keyword.namespace(), keyword.name()),
        Value::Inst(inst) => format!("i{}", milliseconds(*inst)),
        Value::Uuid(uuid) => format!("u{uuid}"),
        Value::Tagged(tagged) => {
            let tag = name("s", tagged.tag().namespace(), tagged.tag().name());
            format!("#{tag} {}", notation(tagged.value()))
        }
        Value::List(list) => format!("({})", joined(list.iter())),
        Value::Vector(vector) => format!("[{}]", joined(vector.iter())),
        Value::Set(set) => {
            let mut values: Vec<String> = set.iter().map(notation).collect();
            values.sort_unstable();
            format!("#{{{}}}", values.join(" "))
        }
        Value::Map(map) => {
            let entry = |(key, value)| format!("{} {}", notation(key), notation(value));
            let mut entries: Vec<String> = map.iter().map(entry).collect();
            entries.sort_unstable();
            format!("{{{}}}", entries.join(" "))
        }
    }
}

/// The value as represented in Clojure: sets and maps are sorted by notation, and instants are truncated to
/// milliseconds.
pub(crate) fn normal(value: &Value) -> Value {
    match value {
        Value::Inst(inst) => {
            let nanos = inst.nanos() - inst.nanos() % 1_000_000;
            Value::Inst(Inst::new(inst.seconds(), nanos).expect("it is cut, and in range"))
        }
        Value::Tagged(tagged) => Tagged::new(tagged.tag().clone(), normal(tagged.value())).into(),
        Value::List(list) => Value::List(list.iter().map(normal).collect()),
        Value::Vector(vector) => Value::Vector(vector.iter().map(normal).collect()),
        Value::Set(set) => {
            let mut values: Vec<Value> = set.iter().map(normal).collect();
            values.sort_by_cached_key(notation);
            Value::Set(Set::from_iter(values))
        }
        Value::Map(map) => {
            let normal = |(key, value)| (normal(key), normal(value));
            let mut entries: Vec<(Value, Value)> = map.iter().map(normal).collect();
            entries.sort_by_cached_key(|(key, _)| notation(key));
            Value::Map(Map::from_iter(entries))
        }
        other => other.clone(),
    }
}

/// Whether the value contains an instant that matches the predicate.
pub(crate) fn has_inst(value: &Value, predicate: fn(Inst) -> bool) -> bool {
    let has = |value: &Value| has_inst(value, predicate);
    match value {
        Value::Inst(inst) => predicate(*inst),
        Value::Tagged(tagged) => has(tagged.value()),
        Value::List(list) => list.iter().any(has),
        Value::Vector(vector) => vector.iter().any(has),
        Value::Set(set) => set.iter().any(has),
        Value::Map(map) => map.iter().any(|(key, value)| has(key) || has(value)),
        _ => false,
    }
}

/// All NaN have the same bits.
pub(crate) fn bits(float: f64) -> u64 {
    if float.is_nan() { 0x7ff8 << 48 } else { float.to_bits() }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for unit in text.encode_utf16() {
        match char::from_u32(u32::from(unit)) {
            Some(c @ ' '..='~') if c != '"' && c != '\\' => quoted.push(c),
            _ => quoted += &format!("\\u{unit:04x}"),
        }
    }
    quoted + "\""
}

fn name(sigil: &str, namespace: Option<&str>, name: &str) -> String {
    format!("{sigil}{}/{}", namespace.map(quoted).unwrap_or_default(), quoted(name))
}

fn joined<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    values.map(notation).collect::<Vec<_>>().join(" ")
}

fn milliseconds(inst: Inst) -> i64 {
    inst.seconds() * 1_000 + i64::from(inst.nanos() / 1_000_000)
}

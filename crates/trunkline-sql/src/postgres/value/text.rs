//! Texts of scalars: those that are strings in JSON, and those within ranges.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio_postgres::types::{Kind, Type};

use super::reader::{Reader, Unreadable};
use super::{calendar, numeric};

/// The text of a value, which can be any bytes in a database without an encoding.
pub(super) fn of(kind: &Type, bytes: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let mut reader = Reader(bytes);
    let text = match *kind {
        Type::TEXT
        | Type::VARCHAR
        | Type::BPCHAR
        | Type::NAME
        | Type::UNKNOWN
        | Type::XML
        | Type::JSON
        | Type::REFCURSOR
        | Type::CSTRING
        | Type::PG_NODE_TREE => return Ok(bytes.to_vec()),
        // The first byte is the version of the format.
        Type::JSONB | Type::JSONPATH => return without_version(bytes),
        Type::TS_VECTOR => return search_vector(bytes),
        Type::NUMERIC => numeric::text(bytes)?,
        Type::DATE => calendar::date(reader.i32()?),
        Type::TIMESTAMP => calendar::timestamp(reader.i64()?, ""),
        Type::TIMESTAMPTZ => calendar::timestamp(reader.i64()?, "Z"),
        Type::TIME => calendar::time(reader.i64()?),
        Type::TIMETZ => {
            let time = calendar::time(reader.i64()?);
            time + &calendar::zone(reader.i32()?)
        }
        Type::INTERVAL => {
            let (microseconds, days) = (reader.i64()?, reader.i32()?);
            calendar::interval(reader.i32()?, days, microseconds)
        }
        Type::INT2 => reader.i16()?.to_string(),
        Type::INT4 => reader.i32()?.to_string(),
        Type::INT8 => reader.i64()?.to_string(),
        Type::FLOAT8 => reader.f64()?.to_string(),
        Type::UUID => uuid(bytes)?,
        Type::INET | Type::CIDR => network(bytes)?,
        Type::MACADDR | Type::MACADDR8 => {
            let parts: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            parts.join(":")
        }
        Type::BIT | Type::VARBIT => bits(bytes)?,
        // Zero is the empty text.
        Type::CHAR => match reader.u8()? {
            0 => String::new(),
            byte => char::from(byte).to_string(),
        },
        Type::PG_LSN => format!("{:X}/{:X}", reader.u32()?, reader.u32()?),
        Type::TID => format!("({},{})", reader.u32()?, reader.u16()?),
        Type::POINT => point(&mut reader)?,
        Type::LSEG => format!("[{}]", points(&mut reader, 2)?),
        Type::BOX => points(&mut reader, 2)?,
        Type::CIRCLE => format!("<{},{}>", point(&mut reader)?, reader.f64()?),
        Type::LINE => format!("{{{},{},{}}}", reader.f64()?, reader.f64()?, reader.f64()?),
        Type::PATH => {
            let is_closed = reader.u8()? != 0;
            let count = reader.length()?;
            let points = points(&mut reader, count)?;
            if is_closed { format!("({points})") } else { format!("[{points}]") }
        }
        Type::POLYGON => {
            let count = reader.length()?;
            format!("({})", points(&mut reader, count)?)
        }
        _ => return of_other(kind, bytes),
    };
    Ok(text.into_bytes())
}

fn of_other(kind: &Type, bytes: &[u8]) -> Result<Vec<u8>, Unreadable> {
    match kind.kind() {
        Kind::Enum(_) => Ok(bytes.to_vec()),
        Kind::Domain(base) => of(base, bytes),
        Kind::Range(element) => range(element, bytes),
        Kind::Multirange(element) => multirange(element, bytes),
        // Types of extensions.
        _ => match kind.name() {
            "citext" => Ok(bytes.to_vec()),
            "ltree" | "lquery" | "ltxtquery" => without_version(bytes),
            "geometry" | "geography" => Ok(hex(bytes).into_bytes()),
            "vector" => vector(bytes).map(String::into_bytes),
            _ => Err(Unreadable::NoDecoder),
        },
    }
}

fn without_version(bytes: &[u8]) -> Result<Vec<u8>, Unreadable> {
    bytes.get(1..).map(<[u8]>::to_vec).ok_or(Unreadable::Malformed)
}

/// Puts another byte before each of these bytes.
pub(in crate::postgres) fn escaped(bytes: &[u8], escapes: &[(u8, u8)]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    for byte in bytes {
        let escape = escapes.iter().find(|(escaped, _)| escaped == byte);
        text.extend(escape.map(|(_, escape)| *escape));
        text.push(*byte);
    }
    text
}

fn uuid(bytes: &[u8]) -> Result<String, Unreadable> {
    let hex = hex(bytes).to_ascii_lowercase();
    let part = |range| hex.get(range).ok_or(Unreadable::Malformed);
    let parts = [part(0..8)?, part(8..12)?, part(12..16)?, part(16..20)?, part(20..32)?];
    Ok(parts.join("-"))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing into a `String` cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

/// An address: the family, the number of bits of the network, whether it is a network, the length, the address.
fn network(bytes: &[u8]) -> Result<String, Unreadable> {
    let mut reader = Reader(bytes);
    let (_, network_bits, is_network) = (reader.u8()?, reader.u8()?, reader.u8()? != 0);
    let (address, all_bits) = match reader.u8()? {
        4 => (Ipv4Addr::from(reader.array::<4>()?).to_string(), 32),
        16 => (Ipv6Addr::from(reader.array::<16>()?).to_string(), 128),
        _ => return Err(Unreadable::Malformed),
    };
    let is_host = network_bits == all_bits && !is_network;
    Ok(if is_host { address } else { format!("{address}/{network_bits}") })
}

fn bits(bytes: &[u8]) -> Result<String, Unreadable> {
    let mut reader = Reader(bytes);
    let count = reader.length()?;
    let text: String = reader.0.iter().map(|byte| format!("{byte:08b}")).collect();
    text.get(..count).map(str::to_owned).ok_or(Unreadable::Malformed)
}

fn point(reader: &mut Reader<'_>) -> Result<String, Unreadable> {
    Ok(format!("({},{})", reader.f64()?, reader.f64()?))
}

fn points(reader: &mut Reader<'_>, count: usize) -> Result<String, Unreadable> {
    let points: Vec<String> = (0..count).map(|_| point(reader)).collect::<Result<_, _>>()?;
    Ok(points.join(","))
}

/// The lexemes of a text search, with their positions and weights.
fn search_vector(bytes: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let mut reader = Reader(bytes);
    let count = reader.length()?;
    let mut words = Vec::new();
    for _ in 0..count {
        let length = reader.0.iter().position(|byte| *byte == 0).ok_or(Unreadable::Malformed)?;
        let word = reader.take(length)?;
        reader.take(1)?;
        let word = escaped(word, &[(b'\\', b'\\'), (b'\'', b'\'')]);
        let mut text = [b"'", &word[..], b"'"].concat();
        for index in 0..reader.u16()? {
            let position = reader.u16()?;
            let weight = ["", "C", "B", "A"][usize::from(position >> 14)];
            let sign = if index == 0 { ':' } else { ',' };
            text.extend_from_slice(format!("{sign}{}{weight}", position & 0x3fff).as_bytes());
        }
        words.push(text);
    }
    Ok(words.join(&b' '))
}

fn vector(bytes: &[u8]) -> Result<String, Unreadable> {
    let mut reader = Reader(bytes);
    let count = reader.u16()?;
    reader.take(2)?;
    let numbers: Vec<String> = (0..count)
        .map(|_| reader.u32().map(|bits| f32::from_bits(bits).to_string()))
        .collect::<Result<_, _>>()?;
    Ok(format!("[{}]", numbers.join(",")))
}

/// A range: `[1,10)`.
fn range(element: &Type, bytes: &[u8]) -> Result<Vec<u8>, Unreadable> {
    const EMPTY: u8 = 0x01;
    const LOWER_INCLUSIVE: u8 = 0x02;
    const UPPER_INCLUSIVE: u8 = 0x04;
    const LOWER_INFINITE: u8 = 0x08;
    const UPPER_INFINITE: u8 = 0x10;
    let mut reader = Reader(bytes);
    let flags = reader.u8()?;
    let has = |flag: u8| flags & flag != 0;
    if has(EMPTY) {
        return Ok(b"empty".to_vec());
    }
    let mut bound = |is_infinite: bool| {
        if is_infinite {
            return Ok(Vec::new());
        }
        let text = of(element, reader.value()?.ok_or(Unreadable::Malformed)?)?;
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-+.:".contains(byte);
        if !text.is_empty() && text.iter().all(is_plain) {
            return Ok(text);
        }
        Ok([b"\"", &escaped(&text, &[(b'\\', b'\\'), (b'"', b'"')])[..], b"\""].concat())
    };
    let lower = bound(has(LOWER_INFINITE))?;
    let upper = bound(has(UPPER_INFINITE))?;
    let open = if has(LOWER_INCLUSIVE) { b"[" } else { b"(" };
    let close = if has(UPPER_INCLUSIVE) { b"]" } else { b")" };
    Ok([open, &lower[..], b",", &upper, close].concat())
}

fn multirange(element: &Type, bytes: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let mut reader = Reader(bytes);
    let count = reader.length()?;
    let ranges: Vec<Vec<u8>> = (0..count)
        .map(|_| range(element, reader.value()?.ok_or(Unreadable::Malformed)?))
        .collect::<Result<_, _>>()?;
    Ok([b"{", &ranges.join(&b',')[..], b"}"].concat())
}

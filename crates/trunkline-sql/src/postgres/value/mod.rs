//! JSON text of values in PostgreSQL's binary format, and of those of other types, which are requested as text.

mod calendar;
mod numeric;
mod reader;
mod text;

use tokio_postgres::Column;
use tokio_postgres::types::{Kind, Type};

use self::reader::{Reader, Unreadable};
pub(super) use self::text::escaped;
use crate::model::json_text;

/// Whether each column of a result is requested as text: its binary format is not known. Empty if no column is.
pub(super) fn text_columns(columns: &[Column]) -> Vec<bool> {
    let is_text = |column: &Column| !has_decoder(column.type_());
    if columns.iter().any(is_text) { columns.iter().map(is_text).collect() } else { Vec::new() }
}

/// Whether values of a type, and all parts of them, can be read in the binary format.
fn has_decoder(kind: &Type) -> bool {
    match kind.kind() {
        Kind::Domain(inner) | Kind::Array(inner) | Kind::Range(inner) | Kind::Multirange(inner) => {
            has_decoder(inner)
        }
        Kind::Composite(fields) => fields.iter().all(|field| has_decoder(field.type_())),
        // Without bytes, the decoder fails in another way, if there is one.
        _ => write_scalar(&mut Vec::new(), kind, &[]) != Err(Unreadable::NoDecoder),
    }
}

/// Writes a value as JSON text. Text that is not UTF-8 is an object with its bytes.
pub(super) fn write(
    text: &mut Vec<u8>,
    kind: &Type,
    bytes: Option<&[u8]>,
) -> Result<(), Unreadable> {
    let Some(bytes) = bytes else {
        text.extend_from_slice(b"null");
        return Ok(());
    };
    match kind.kind() {
        Kind::Domain(base) => write(text, base, Some(bytes)),
        Kind::Array(element) => write_array(text, element, bytes),
        Kind::Composite(fields) => {
            let members = Reader(bytes).members()?;
            text.push(b'{');
            for (index, (field, (_, value))) in fields.iter().zip(members).enumerate() {
                if index > 0 {
                    text.push(b',');
                }
                json_text::string(text, field.name());
                text.push(b':');
                write(text, field.type_(), value)?;
            }
            text.push(b'}');
            Ok(())
        }
        _ => write_scalar(text, kind, bytes),
    }
}

fn write_scalar(text: &mut Vec<u8>, kind: &Type, bytes: &[u8]) -> Result<(), Unreadable> {
    let mut reader = Reader(bytes);
    match *kind {
        Type::BOOL => {
            let word: &[u8] = if reader.u8()? == 0 { b"false" } else { b"true" };
            text.extend_from_slice(word);
        }
        Type::INT2 => json_text::integer(text, i64::from(reader.i16()?)),
        Type::INT4 => json_text::integer(text, i64::from(reader.i32()?)),
        Type::INT8 => json_text::integer(text, reader.i64()?),
        Type::FLOAT4 => {
            let value = f32::from_bits(reader.u32()?);
            // By its shortest text, which is not that of the same number with more digits.
            json_text::real(text, value.to_string().parse().unwrap_or(f64::from(value)));
        }
        Type::FLOAT8 => json_text::real(text, f64::from_bits(reader.u64()?)),
        // Without a copy, unlike the types below.
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => {
            json_text::text(text, bytes);
        }
        Type::BYTEA => json_text::bytes(text, "$blob", bytes),
        Type::JSON => write_json(text, bytes),
        // The first byte is the version of the format.
        Type::JSONB => write_json(text, bytes.get(1..).ok_or(Unreadable::Malformed)?),
        Type::VOID => text.extend_from_slice(b"null"),
        Type::RECORD => write_record(text, bytes)?,
        Type::RECORD_ARRAY => write_array(text, &Type::RECORD, bytes)?,
        Type::OID
        | Type::XID
        | Type::CID
        | Type::REGPROC
        | Type::REGPROCEDURE
        | Type::REGOPER
        | Type::REGOPERATOR
        | Type::REGCLASS
        | Type::REGTYPE
        | Type::REGROLE
        | Type::REGNAMESPACE
        | Type::REGCONFIG
        | Type::REGDICTIONARY
        | Type::REGCOLLATION => json_text::integer(text, i64::from(reader.u32()?)),
        Type::XID8 => json_text::integer(text, reader.i64()?),
        _ if kind.name() == "hstore" => write_hstore(text, bytes)?,
        _ => json_text::text(text, &text::of(kind, bytes)?),
    }
    Ok(())
}

/// Copies JSON text. PostgreSQL keeps the white space of `json`.
fn write_json(text: &mut Vec<u8>, bytes: &[u8]) {
    match serde_json::from_slice::<&serde_json::value::RawValue>(bytes) {
        Ok(valid) => text.extend_from_slice(valid.get().as_bytes()),
        // It is not UTF-8.
        Err(_) => json_text::text(text, bytes),
    }
}

/// An array, of several dimensions if it has them.
fn write_array(text: &mut Vec<u8>, element: &Type, bytes: &[u8]) -> Result<(), Unreadable> {
    /// PostgreSQL's maximum.
    const MAX_DIMENSIONS: usize = 6;
    let mut reader = Reader(bytes);
    let dimensions = reader.length()?;
    // Whether it has NULLs, and the type of the elements.
    reader.take(8)?;
    if dimensions > MAX_DIMENSIONS {
        return Err(Unreadable::Malformed);
    }
    let mut sizes = Vec::with_capacity(dimensions);
    for _ in 0..dimensions {
        sizes.push(reader.length()?);
        // The first index.
        reader.take(4)?;
    }
    write_dimension(text, element, &sizes, &mut reader)
}

fn write_dimension(
    text: &mut Vec<u8>,
    element: &Type,
    sizes: &[usize],
    reader: &mut Reader<'_>,
) -> Result<(), Unreadable> {
    text.push(b'[');
    if let Some((size, inner)) = sizes.split_first() {
        for index in 0..*size {
            if index > 0 {
                text.push(b',');
            }
            if inner.is_empty() {
                write(text, element, reader.value()?)?;
            } else {
                write_dimension(text, element, inner, reader)?;
            }
        }
    }
    text.push(b']');
    Ok(())
}

/// A row without a declared type, whose columns have no names.
fn write_record(text: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Unreadable> {
    text.push(b'[');
    for (index, (oid, value)) in Reader(bytes).members()?.into_iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        write_member(text, oid, value)?;
    }
    text.push(b']');
    Ok(())
}

/// A member of a row without a declared type. The types that the database defines are not known: an enum or a text is
/// its bytes, and other values are binary.
fn write_member(text: &mut Vec<u8>, oid: u32, value: Option<&[u8]>) -> Result<(), Unreadable> {
    match (Type::from_oid(oid).filter(has_decoder), value) {
        (Some(kind), value) => write(text, &kind, value)?,
        (None, None) => text.extend_from_slice(b"null"),
        (None, Some(bytes)) => match std::str::from_utf8(bytes) {
            Ok(valid) if !valid.contains(char::is_control) => json_text::string(text, valid),
            _ => json_text::bytes(text, "$blob", bytes),
        },
    }
    Ok(())
}

/// Keys and values, which are texts or NULL. Keys that are not UTF-8 cannot be those of an object, so that the value is
/// its text: `"a"=>"1", "b"=>NULL`.
fn write_hstore(text: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Unreadable> {
    let mut reader = Reader(bytes);
    let count = reader.length()?;
    let pairs: Vec<_> = (0..count)
        .map(|_| Ok((reader.value()?.ok_or(Unreadable::Malformed)?, reader.value()?)))
        .collect::<Result<_, Unreadable>>()?;
    if pairs.iter().any(|(key, _)| std::str::from_utf8(key).is_err()) {
        let quoted = |bytes: &[u8]| {
            let escaped = escaped(bytes, &[(b'\\', b'\\'), (b'"', b'\\')]);
            [b"\"", &escaped[..], b"\""].concat()
        };
        let pair = |(key, value): &(&[u8], Option<&[u8]>)| {
            [quoted(key), value.map_or(b"NULL".to_vec(), quoted)].join(&b"=>"[..])
        };
        let pairs: Vec<Vec<u8>> = pairs.iter().map(pair).collect();
        json_text::text(text, &pairs.join(&b", "[..]));
        return Ok(());
    }
    text.push(b'{');
    for (index, (key, value)) in pairs.into_iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        write(text, &Type::TEXT, Some(key))?;
        text.push(b':');
        write(text, &Type::TEXT, value)?;
    }
    text.push(b'}');
    Ok(())
}

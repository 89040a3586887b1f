//! JSON text of values in PostgreSQL's binary format.

mod calendar;
mod numeric;
mod reader;
mod text;

use tokio_postgres::types::{Kind, Type};

use self::reader::{Reader, Unreadable};
use crate::model::json_text;

/// Writes a value as JSON text.
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
            json_text::string(text, std::str::from_utf8(bytes).map_err(|_| Unreadable)?);
        }
        Type::BYTEA => json_text::bytes(text, "$blob", bytes),
        Type::JSON => write_json(text, bytes)?,
        // The first byte is the version of the format.
        Type::JSONB => write_json(text, bytes.get(1..).ok_or(Unreadable)?)?,
        Type::VOID => text.extend_from_slice(b"null"),
        Type::RECORD => write_record(text, bytes)?,
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
        _ => json_text::string(text, &text::of(kind, bytes)?),
    }
    Ok(())
}

/// Copies JSON text. PostgreSQL keeps the white space of `json`.
fn write_json(text: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Unreadable> {
    let valid: &serde_json::value::RawValue =
        serde_json::from_slice(bytes).map_err(|_| Unreadable)?;
    text.extend_from_slice(valid.get().as_bytes());
    Ok(())
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
        return Err(Unreadable);
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
        write(text, &Type::from_oid(oid).ok_or(Unreadable)?, value)?;
    }
    text.push(b']');
    Ok(())
}

/// Keys and values, which are texts or NULL.
fn write_hstore(text: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Unreadable> {
    let mut reader = Reader(bytes);
    text.push(b'{');
    for index in 0..reader.length()? {
        if index > 0 {
            text.push(b',');
        }
        write(text, &Type::TEXT, reader.value()?)?;
        text.push(b':');
        write(text, &Type::TEXT, reader.value()?)?;
    }
    text.push(b'}');
    Ok(())
}

//! Mapping of the fixture's objects to rows, with the classic names of tables and columns.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::fixture::Object;

pub(super) struct Table {
    /// The fixture's `model`.
    pub(super) model: &'static str,
    pub(super) name: &'static str,
    /// Expected number of rows.
    pub(super) rows: usize,
    pub(super) columns: &'static [Column],
}

pub(super) struct Column {
    pub(super) name: &'static str,
    source: Source,
}

enum Source {
    /// The object's primary key.
    Key,
    Field(&'static str),
    /// A field with a time in UTC, in the format of SQLite's functions.
    Time(&'static str),
}

const fn key(name: &'static str) -> Column {
    Column { name, source: Source::Key }
}

const fn field(name: &'static str, field: &'static str) -> Column {
    Column { name, source: Source::Field(field) }
}

const fn time(name: &'static str, field: &'static str) -> Column {
    Column { name, source: Source::Time(field) }
}

/// Ordered so that references point to earlier rows.
pub(super) const TABLES: [Table; 11] = [
    Table {
        model: "chinook.artist",
        name: "Artist",
        rows: 275,
        columns: &[key("ArtistId"), field("Name", "name")],
    },
    Table {
        model: "chinook.album",
        name: "Album",
        rows: 347,
        columns: &[key("AlbumId"), field("Title", "title"), field("ArtistId", "artist")],
    },
    Table {
        model: "chinook.genre",
        name: "Genre",
        rows: 25,
        columns: &[key("GenreId"), field("Name", "name")],
    },
    Table {
        model: "chinook.mediatype",
        name: "MediaType",
        rows: 5,
        columns: &[key("MediaTypeId"), field("Name", "name")],
    },
    Table {
        model: "chinook.track",
        name: "Track",
        rows: 3503,
        columns: &[
            key("TrackId"),
            field("Name", "name"),
            field("AlbumId", "album"),
            field("MediaTypeId", "mediatype"),
            field("GenreId", "genre"),
            field("Composer", "composer"),
            field("Milliseconds", "milliseconds"),
            field("Bytes", "bytes"),
            field("UnitPrice", "unit_price"),
        ],
    },
    Table {
        model: "chinook.playlist",
        name: "Playlist",
        rows: 18,
        columns: &[key("PlaylistId"), field("Name", "name")],
    },
    Table {
        model: "chinook.playlisttrack",
        name: "PlaylistTrack",
        rows: 8715,
        columns: &[field("PlaylistId", "playlist"), field("TrackId", "track")],
    },
    Table {
        model: "chinook.employee",
        name: "Employee",
        rows: 8,
        columns: &[
            key("EmployeeId"),
            field("LastName", "lastname"),
            field("FirstName", "firstname"),
            field("Title", "title"),
            field("ReportsTo", "reports_to"),
            time("BirthDate", "birthdate"),
            time("HireDate", "hiredate"),
            field("Address", "address"),
            field("City", "city"),
            field("State", "state"),
            field("Country", "country"),
            field("PostalCode", "postalcode"),
            field("Phone", "phone"),
            field("Fax", "fax"),
            field("Email", "email"),
        ],
    },
    Table {
        model: "chinook.customer",
        name: "Customer",
        rows: 59,
        columns: &[
            key("CustomerId"),
            field("FirstName", "firstname"),
            field("LastName", "lastname"),
            field("Company", "company"),
            field("Address", "address"),
            field("City", "city"),
            field("State", "state"),
            field("Country", "country"),
            field("PostalCode", "postalcode"),
            field("Phone", "phone"),
            field("Fax", "fax"),
            field("Email", "email"),
            field("SupportRepId", "support_rep"),
        ],
    },
    Table {
        model: "chinook.invoice",
        name: "Invoice",
        rows: 412,
        columns: &[
            key("InvoiceId"),
            field("CustomerId", "customer"),
            time("InvoiceDate", "invoicedate"),
            field("BillingAddress", "billingaddress"),
            field("BillingCity", "billingcity"),
            field("BillingState", "billingstate"),
            field("BillingCountry", "billingcountry"),
            field("BillingPostalCode", "billingpostalcode"),
            field("Total", "total"),
        ],
    },
    Table {
        model: "chinook.invoiceline",
        name: "InvoiceLine",
        rows: 2240,
        columns: &[
            key("InvoiceLineId"),
            field("InvoiceId", "invoice"),
            field("TrackId", "track"),
            field("UnitPrice", "unit_price"),
            field("Quantity", "quantity"),
        ],
    },
];

impl Column {
    pub(super) fn value(&self, object: &Object) -> Result<Value> {
        let field = |name| {
            object.fields.get(name).with_context(|| format!("an object has no field `{name}`"))
        };
        match self.source {
            Source::Key => Ok(object.pk.into()),
            Source::Field(name) => scalar(field(name)?),
            Source::Time(name) => Ok(match scalar(field(name)?)? {
                Value::String(time) => time.replace('T', " ").replace('Z', "").into(),
                other => other,
            }),
        }
    }
}

fn scalar(value: &Value) -> Result<Value> {
    ensure!(!value.is_array() && !value.is_object(), "SQLite cannot store the value {value}");
    Ok(value.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(column: &Column, fields: Value, expected: Option<Value>) {
        let object =
            serde_json::from_value(json!({"model": "a", "pk": 7, "fields": fields})).unwrap();
        assert_eq!(column.value(&object).ok(), expected);
    }

    #[test]
    fn converts_values() {
        check(&key("a"), json!({}), Some(json!(7)));
        check(&field("a", "b"), json!({"b": null}), Some(Value::Null));
        check(&field("a", "b"), json!({"b": 1}), Some(json!(1)));
        check(&field("a", "b"), json!({"b": 0.99}), Some(json!(0.99)));
        check(&field("a", "b"), json!({"b": "T Z"}), Some(json!("T Z")));
        check(&field("a", "b"), json!({"b": []}), None);
        check(&field("a", "b"), json!({}), None);
        check(
            &time("a", "b"),
            json!({"b": "2007-01-01T00:00:00Z"}),
            Some(json!("2007-01-01 00:00:00")),
        );
        check(&time("a", "b"), json!({"b": null}), Some(Value::Null));
    }
}

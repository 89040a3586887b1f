//! The format of a file, by its name.

use std::path::Path;

use trunkline_sql::transfer::ExportFormat;

/// A format, with the separator of CSV that the name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileFormat {
    pub(super) format: ExportFormat,
    pub(super) delimiter: Option<u8>,
}

impl FileFormat {
    /// The format that the extension of a file names, in any case.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let (format, delimiter) = match extension.as_str() {
            "tsv" | "tab" => (ExportFormat::Csv, Some(b'\t')),
            "jsonl" => (ExportFormat::NdJson, None),
            extension => (extension.parse().ok()?, None),
        };
        Some(Self { format, delimiter })
    }
}

/// A separator of the fields of CSV.
pub(super) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("expected one ASCII character, or \\t".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ExportFormat, FileFormat};

    #[track_caller]
    fn check(name: &str, expected: Option<(ExportFormat, Option<u8>)>) {
        let found = FileFormat::of(Path::new(name)).map(|found| (found.format, found.delimiter));
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn names() {
        use ExportFormat::{Csv, Json, NdJson};
        for (name, expected) in [
            ("a.csv", Some((Csv, None))),
            ("a.CSV", Some((Csv, None))),
            ("b/a.Csv", Some((Csv, None))),
            ("a.tsv", Some((Csv, Some(b'\t')))),
            ("a.TSV", Some((Csv, Some(b'\t')))),
            ("a.tab", Some((Csv, Some(b'\t')))),
            ("a.ndjson", Some((NdJson, None))),
            ("a.jsonl", Some((NdJson, None))),
            ("a.JSONL", Some((NdJson, None))),
            ("a.json", Some((Json, None))),
            ("a.JSON", Some((Json, None))),
            ("a.csv.gz", None),
            ("a.txt", None),
            ("csv", None),
        ] {
            check(name, expected);
        }
    }
}

//! The encoding of a file.

use anyhow::bail;
use clap::ValueEnum;

/// The encoding of the texts of a file, in which ASCII characters are single bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    #[default]
    #[value(name = "utf-8")]
    Utf8,
    /// Of Excel in Western Europe and America.
    #[value(name = "windows-1252")]
    Windows1252,
}

const REMEDY: &str = "if the file is in Windows-1252, as those that Excel saves, use --encoding windows-1252; \
                      convert other encodings: iconv -f ENCODING -t UTF-8";

impl Encoding {
    pub(super) fn decode(self, bytes: Vec<u8>) -> Result<String, String> {
        match self {
            Self::Utf8 => String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                let byte = error.as_bytes().get(at).copied().unwrap_or_default();
                format!("the byte 0x{byte:02X} is not valid UTF-8; {REMEDY}")
            }),
            Self::Windows1252 => bytes.into_iter().map(windows_1252).collect(),
        }
    }
}

/// A character of Windows-1252, which differs from ISO 8859-1 in two rows.
fn windows_1252(byte: u8) -> Result<char, String> {
    const FROM_80: [u16; 32] = [
        0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039,
        0x0152, 0, 0x017d, 0, 0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc,
        0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
    ];
    let code = match byte.checked_sub(0x80) {
        Some(index) if index < 32 => FROM_80[usize::from(index)],
        _ => u16::from(byte),
    };
    match char::from_u32(u32::from(code)) {
        Some('\0') if byte != 0 => Err(format!("the byte 0x{byte:02X} is not valid Windows-1252")),
        Some(character) => Ok(character),
        None => Err(format!("the byte 0x{byte:02X} is not valid Windows-1252")),
    }
}

/// Checks the beginning of a file, and returns the length of its byte order mark.
pub(super) fn check(sample: &[u8], encoding: Encoding) -> anyhow::Result<usize> {
    let name = match sample {
        [0xef, 0xbb, 0xbf, ..] => return Ok(3),
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => "in UTF-32",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "in UTF-16",
        [0, 0, 0, 0, ..] => bail!("the file begins with NUL characters; it is not a text"),
        [1..=255, 0, 1..=255, 0, ..] | [0, 1..=255, 0, 1..=255, ..] => "in UTF-16",
        [0x1f, 0x8b, ..] => bail!("the file is compressed; decompress it first: gunzip"),
        [b'P', b'K', 3, 4, ..] => {
            bail!("the file is a workbook of a spreadsheet, or a ZIP archive; save it as CSV")
        }
        _ => "",
    };
    if !name.is_empty() {
        let from = name.trim_start_matches("in ");
        bail!("the file is {name}; convert it: iconv -f {from} -t UTF-8");
    }
    if encoding == Encoding::Utf8
        && let Some(byte) = single_byte_text(sample)
    {
        bail!(
            "the file is not in UTF-8, but probably in Windows-1252 (byte 0x{byte:02X}); use --encoding windows-1252, \
             or convert the file: iconv -f ENCODING -t UTF-8"
        );
    }
    Ok(0)
}

/// The first byte that is not UTF-8, if there are several and no other character of several bytes. A single one may be
/// damaged.
fn single_byte_text(sample: &[u8]) -> Option<u8> {
    let chunks: Vec<_> = sample.utf8_chunks().collect();
    if chunks.iter().any(|chunk| !chunk.valid().is_ascii()) {
        return None;
    }
    // The last character may be incomplete.
    let places = chunks.split_last().map_or(chunks.as_slice(), |(_, before)| before);
    let mut bytes = places.iter().flat_map(std::str::Utf8Chunk::invalid);
    let is_text = bytes.clone().all(|byte| windows_1252(*byte).is_ok());
    bytes.next().copied().filter(|_| is_text && places.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::{Encoding, check};

    #[track_caller]
    fn check_sample(sample: &[u8], expected: Result<usize, &str>) {
        let found = check(sample, Encoding::Utf8).map_err(|error| error.to_string());
        match expected {
            Ok(length) => assert_eq!(found, Ok(length), "{sample:?}"),
            Err(part) => {
                let error = found.unwrap_err();
                assert!(error.contains(part), "{sample:?}: {error}");
            }
        }
    }

    #[test]
    fn beginnings_of_files() {
        check_sample(b"", Ok(0));
        check_sample(b"id,name\n", Ok(0));
        check_sample("id,größe\n".as_bytes(), Ok(0));
        check_sample(b"\xef\xbb\xbfid\n", Ok(3));
        check_sample(b"\xff\xfei\0d\0\n\0", Err("in UTF-16; convert it: iconv -f UTF-16 -t UTF-8"));
        check_sample(b"\xfe\xff\0i\0d", Err("in UTF-16"));
        check_sample(b"i\0d\0\n\x001\0", Err("in UTF-16"));
        check_sample(b"\0i\0d\0\n", Err("in UTF-16"));
        check_sample(b"\xff\xfe\0\0i\0\0\0", Err("in UTF-32"));
        check_sample(&[0; 64], Err("NUL characters"));
        check_sample(b"\x1f\x8b\x08\0", Err("gunzip"));
        check_sample(b"PK\x03\x04\x14\0", Err("save it as CSV"));
        check_sample(b"id,name\n1,caf\xe9\n2,na\xefve\n", Err("--encoding windows-1252"));
        // One damaged character, a mixture, and bytes that Windows-1252 does not have.
        check_sample(b"id,name\n1,caf\xe9\n", Ok(0));
        check_sample("id,é\n1,caf?\n2,na?ve\n".replace('?', "\u{fffd}").as_bytes(), Ok(0));
        check_sample(b"id,\xc3\xa9\n1,caf\xe9\n2,na\xefve\n", Ok(0));
        check_sample(b"id\n\x81\x8d\n", Ok(0));
    }

    #[test]
    fn windows_1252() {
        let decode = |bytes: &[u8]| Encoding::Windows1252.decode(bytes.to_vec());
        assert_eq!(decode(b"caf\xe9 \x80 \x93\x94 \xff").as_deref(), Ok("café € “” ÿ"));
        assert_eq!(decode(b"a\0b").as_deref(), Ok("a\0b"));
        assert!(decode(b"\x81").unwrap_err().contains("0x81"));
        assert!(Encoding::Utf8.decode(b"caf\xe9".to_vec()).unwrap_err().contains("0xE9"));
    }
}

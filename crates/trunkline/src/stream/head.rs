//! The head of a message, where messages have one.

use crate::format::Format;

/// What the head of a message says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) length: u64,
    /// None if it has no type that names one.
    pub(super) format: Option<Format>,
}

impl Head {
    /// Reads a head without the blank line at its end.
    pub(super) fn parse(head: &[u8]) -> Result<Self, &'static str> {
        let head = std::str::from_utf8(head).map_err(|_| "it is not ASCII")?;
        let (mut length, mut format) = (None, None);
        for line in head.split("\r\n") {
            let (name, value) = line.split_once(':').ok_or("a line has no colon")?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let is_number =
                    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                let value = is_number.then(|| value.parse().ok()).flatten();
                let value = value.ok_or("Content-Length is no number of bytes")?;
                if length.replace(value).is_some() {
                    return Err("Content-Length stands twice");
                }
            } else if name.eq_ignore_ascii_case("content-type") {
                if !is_utf8(value) {
                    return Err("the charset is not UTF-8");
                }
                format = named(value);
            }
        }
        let length = length.ok_or("Content-Length is missing")?;
        Ok(Self { length, format })
    }

    /// The head of a message, whose type it names if there is one to be named.
    pub(super) fn text(length: usize, named: Option<Format>) -> String {
        let line = named.map(|format| format!("Content-Type: {}\r\n", format.media_type()));
        format!("Content-Length: {length}\r\n{}\r\n", line.unwrap_or_default())
    }
}

/// The format with this media type.
fn named(media_type: &str) -> Option<Format> {
    let name = media_type.split(';').next()?.trim();
    let formats = [
        (Format::Json.media_type(), Format::Json),
        // What language servers and their clients say of their messages.
        ("application/vscode-jsonrpc", Format::Json),
        #[cfg(feature = "edn")]
        (Format::Edn.media_type(), Format::Edn),
    ];
    let found = formats.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    found.map(|(_, format)| format)
}

/// Whether a media type has no charset, or the one that messages have.
fn is_utf8(media_type: &str) -> bool {
    let mut params = media_type.split(';').skip(1).filter_map(|param| param.split_once('='));
    params.all(|(name, value)| {
        let value = value.trim().trim_matches('"');
        let is_utf8 = ["utf-8", "utf8"].iter().any(|known| value.eq_ignore_ascii_case(known));
        is_utf8 || !name.trim().eq_ignore_ascii_case("charset")
    })
}

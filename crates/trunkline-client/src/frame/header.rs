//! The header part of a message with `Content-Length`.

use trunkline_core::format::Format;

use crate::media_type::MediaType;

/// The values of a header part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) length: u64,
    /// `None` if `Content-Type` is missing or names no supported format.
    pub(super) format: Option<Format>,
}

impl Header {
    /// Parses a header part without the blank line at its end. `formats` are those that are supported.
    pub(super) fn parse(header: &[u8], formats: &[Format]) -> Result<Self, &'static str> {
        let header = std::str::from_utf8(header).map_err(|_| "not ASCII")?;
        let (mut length, mut media_type) = (None, None);
        for line in header.split("\r\n") {
            let (name, value) = line.split_once(':').ok_or("line without a colon")?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let is_number =
                    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                let value = is_number.then(|| value.parse().ok()).flatten();
                let value = value.ok_or("invalid Content-Length")?;
                if length.replace(value).is_some() {
                    return Err("duplicate Content-Length");
                }
            } else if name.eq_ignore_ascii_case("content-type")
                && media_type.replace(value).is_some()
            {
                return Err("duplicate Content-Type");
            }
        }
        let length = length.ok_or("missing Content-Length")?;
        let format = media_type.map(|name| format(name, formats)).transpose()?.flatten();
        Ok(Self { length, format })
    }

    /// The text of a header part, with `Content-Type` if the format is given.
    pub(super) fn text(length: usize, format: Option<Format>) -> String {
        let line = format.map(|format| format!("Content-Type: {}\r\n", format.media_type()));
        format!("Content-Length: {length}\r\n{}\r\n", line.unwrap_or_default())
    }
}

/// The format of a media type, if it is supported.
fn format(media_type: &str, formats: &[Format]) -> Result<Option<Format>, &'static str> {
    let media_type = MediaType::parse(media_type).ok_or("malformed Content-Type")?;
    if !media_type.has_charset_in(&CHARSETS) {
        return Err("charset is not UTF-8");
    }
    let is_lsp = media_type.name.eq_ignore_ascii_case(LSP_TYPE);
    let mut formats = formats.iter().copied();
    let named = formats.find(|format| format.has_media_type(media_type.name));
    Ok(if is_lsp { Some(Format::Json) } else { named })
}

/// The media type of the Language Server Protocol.
const LSP_TYPE: &str = "application/vscode-jsonrpc";
/// The names of UTF-8. The Language Server Protocol requires `utf8` for backwards compatibility.
const CHARSETS: [&str; 2] = ["utf-8", "utf8"];

#[cfg(test)]
mod tests {
    use trunkline::edn;

    use super::*;

    /// Checks the format of a header with these content types.
    #[track_caller]
    fn check(types: &[&str], expected: Result<Option<Format>, &str>) {
        let lines = types.iter().map(|value| format!("\r\nContent-Type: {value}"));
        let text = format!("Content-Length: 1{}", lines.collect::<String>());
        let header = Header::parse(text.as_bytes(), &[Format::Json, edn::FORMAT]);
        let found = header.map(|header| header.format);
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn parses_formats() {
        for json in [
            "application/json",
            "application/json-rpc",
            "application/jsonrequest; charset=utf-8",
            "application/vscode-jsonrpc; charset=utf8",
            "Application/VSCode-JSONRPC;charset=\"UTF-8\"",
        ] {
            check(&[json], Ok(Some(Format::Json)));
        }
        for name in ["application/edn", "application/EDN ; x=\";charset=latin1\";; charset=utf-8"] {
            check(&[name], Ok(Some(edn::FORMAT)));
        }
        for other in ["text/plain", "text/plain; charset=utf8", "application/ednx", "application"] {
            check(&[other], Ok(None));
        }
        check(&[], Ok(None));
    }

    #[test]
    fn rejects_invalid_content_types() {
        let charset = Err("charset is not UTF-8");
        check(&["application/json; charset=latin1"], charset);
        check(&["text/plain; charset=\"utf-8\"; CHARSET=utf-16"], charset);
        let malformed = Err("malformed Content-Type");
        check(&["application/json; charset"], malformed);
        check(&["application/json; a=\"b"], malformed);
        check(&["application/json; a=b c"], malformed);
        let duplicate = Err("duplicate Content-Type");
        check(&["application/json", "application/edn"], duplicate);
        check(&["text/plain", "application/json"], duplicate);
    }
}

//! The head of a message, where messages have one.

use trunkline_core::format::Format;

use crate::media_type::{MediaType, named};

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
        let (mut length, mut media_type) = (None, None);
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
            } else if name.eq_ignore_ascii_case("content-type")
                && media_type.replace(value).is_some()
            {
                return Err("Content-Type stands twice");
            }
        }
        let length = length.ok_or("Content-Length is missing")?;
        let format = media_type.map(format).transpose()?.flatten();
        Ok(Self { length, format })
    }

    /// The head of a message, whose type it names if there is one to be named.
    pub(super) fn text(length: usize, format: Option<Format>) -> String {
        let line = format.map(|format| format!("Content-Type: {}\r\n", format.media_type()));
        format!("Content-Length: {length}\r\n{}\r\n", line.unwrap_or_default())
    }
}

/// What a type says of the format, if it names one; or what is wrong with it.
fn format(media_type: &str) -> Result<Option<Format>, &'static str> {
    let media_type = MediaType::parse(media_type).ok_or("Content-Type is malformed")?;
    if !media_type.is_in(&CHARSETS) {
        return Err("the charset is not UTF-8");
    }
    let is_lsp = media_type.name.eq_ignore_ascii_case(LSP_TYPE);
    Ok(if is_lsp { Some(Format::Json) } else { named(media_type.name) })
}

/// What language servers and their clients say of their messages.
const LSP_TYPE: &str = "application/vscode-jsonrpc";
/// The names of UTF-8; the second is one of old, which language servers still understand.
const CHARSETS: [&str; 2] = ["utf-8", "utf8"];

#[cfg(test)]
mod tests {
    use super::*;

    /// What the type of a message says of its format; or what is wrong with it.
    #[track_caller]
    fn check(types: &[&str], expected: Result<Option<Format>, &str>) {
        let lines = types.iter().map(|value| format!("\r\nContent-Type: {value}"));
        let head = format!("Content-Length: 1{}", lines.collect::<String>());
        let found = Head::parse(head.as_bytes()).map(|head| head.format);
        assert_eq!(found, expected, "{head}");
    }

    #[test]
    fn formats() {
        for json in [
            "application/json",
            "application/json-rpc",
            "application/jsonrequest; charset=utf-8",
            "application/vscode-jsonrpc; charset=utf8",
            "Application/VSCode-JSONRPC;charset=\"UTF-8\"",
        ] {
            check(&[json], Ok(Some(Format::Json)));
        }
        #[cfg(feature = "edn")]
        for edn in ["application/edn", "application/EDN ; x=\";charset=latin1\";; charset=utf-8"] {
            check(&[edn], Ok(Some(Format::Edn)));
        }
        for other in ["text/plain", "text/plain; charset=utf8", "application/ednx", "application"] {
            check(&[other], Ok(None));
        }
        check(&[], Ok(None));
    }

    #[test]
    fn what_is_wrong() {
        let charset = Err("the charset is not UTF-8");
        check(&["application/json; charset=latin1"], charset);
        check(&["text/plain; charset=\"utf-8\"; CHARSET=utf-16"], charset);
        let malformed = Err("Content-Type is malformed");
        check(&["application/json; charset"], malformed);
        check(&["application/json; a=\"b"], malformed);
        check(&["application/json; a=b c"], malformed);
        let twice = Err("Content-Type stands twice");
        check(&["application/json", "application/edn"], twice);
        check(&["text/plain", "application/json"], twice);
    }
}

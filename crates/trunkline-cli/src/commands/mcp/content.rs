//! The content of results: texts, and images, audio and other bytes, which can be saved.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use trunkline_mcp::{Block, BlockKind, ResourceContents, ResourceData};

use crate::terminal::{Failure, line, lines, output};

/// A part of the content of a result. All texts but headings are those of the server.
#[derive(Debug)]
pub(crate) enum Part {
    /// A line above the parts that follow.
    Heading(String),
    Text(String),
    /// A link, or content of an unknown type.
    Other(String),
    Binary(Binary),
}

/// Content that is not text.
#[derive(Debug)]
pub(crate) struct Binary {
    uri: Option<String>,
    mime_type: String,
    /// `None` if it is not valid base64.
    bytes: Option<Vec<u8>>,
}

impl Part {
    /// A content block of a tool or a prompt.
    pub(crate) fn of_block(block: &Block) -> Self {
        match &block.kind {
            BlockKind::Text { text } => Self::Text(text.clone()),
            BlockKind::Image { data, mime_type } | BlockKind::Audio { data, mime_type } => {
                Self::Binary(Binary::new(None, mime_type.clone(), data))
            }
            BlockKind::Resource { resource } => Self::of_resource(resource.clone()),
            BlockKind::ResourceLink(resource) => Self::Other(format!("resource: {}", resource.uri)),
            BlockKind::Other(members) => {
                Self::Other(members.get("type").and_then(Value::as_str).unwrap_or("?").to_owned())
            }
            _ => Self::Other("?".to_owned()),
        }
    }

    pub(crate) fn of_resource(contents: ResourceContents) -> Self {
        let ResourceContents { uri, mime_type, data, .. } = contents;
        match data {
            ResourceData::Text(text) => Self::Text(text),
            ResourceData::Blob(blob) => {
                let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                Self::Binary(Binary::new(Some(uri), mime_type, &blob))
            }
        }
    }
}

impl Binary {
    fn new(uri: Option<String>, mime_type: String, data: &str) -> Self {
        Self { uri, mime_type, bytes: STANDARD.decode(data).ok() }
    }

    fn description(&self) -> String {
        let uri = self.uri.as_ref().map(|uri| format!("{uri}, ")).unwrap_or_default();
        match &self.bytes {
            Some(bytes) => format!("{uri}{}, {} bytes", self.mime_type, bytes.len()),
            None => format!("{uri}{}, invalid base64", self.mime_type),
        }
    }

    /// A file name without the server's special characters.
    fn file_name(&self, attempt: usize) -> String {
        const MAX_LENGTH: usize = 100;
        let path = self.uri.as_deref().and_then(|uri| uri.split(['?', '#']).next());
        let last = path.and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let kept = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
        let name: String = last.chars().filter(kept).take(MAX_LENGTH).collect();
        let name = name.trim_matches(['.', '-']);
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, extension),
            _ if name.is_empty() => ("content", extension(&self.mime_type)),
            _ => (name, extension(&self.mime_type)),
        };
        match attempt {
            1 => format!("{stem}.{extension}"),
            _ => format!("{stem}-{attempt}.{extension}"),
        }
    }
}

/// The parts as text. With `target`, a file or a folder, bytes are saved there.
///
/// # Errors
///
/// When bytes cannot be saved.
pub(crate) fn text(parts: Vec<Part>, target: Option<&Path>) -> Result<String, Failure> {
    let count = parts.iter().filter(|part| matches!(part, Part::Binary(_))).count();
    if let Some(path) = target {
        match count {
            0 => {
                let text = "trunkline: the result has no binary content; nothing was saved\n";
                output::message(text);
            }
            2.. if !path.is_dir() => {
                return Err(Failure::Message(format!(
                    "trunkline: the result has {count} binary parts\n  try: name a folder that exists with --output\n"
                )));
            }
            _ => {}
        }
    }
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Heading(text) => {
                let gap = if out.is_empty() { "" } else { "\n" };
                out += &format!("{gap}{text}\n");
            }
            Part::Text(text) => {
                out += &lines(&text);
                if !text.ends_with('\n') {
                    out.push('\n');
                }
            }
            Part::Other(text) => out += &format!("[{}]\n", line(&text)),
            Part::Binary(binary) => {
                let saved = match (target, &binary.bytes) {
                    (Some(target), Some(bytes)) => {
                        let path = save(&binary, bytes, target).map_err(|error| {
                            let target = target.display();
                            Failure::Message(format!("trunkline: cannot save {target}: {error}\n"))
                        })?;
                        format!(", saved as {}", path.display())
                    }
                    _ => String::new(),
                };
                out += &format!("[{}]\n", line(&(binary.description() + &saved)));
            }
        }
    }
    Ok(out)
}

/// Writes to a file, or to a new file in a folder.
fn save(binary: &Binary, bytes: &[u8], target: &Path) -> io::Result<PathBuf> {
    const MAX_ATTEMPTS: usize = 1_000;
    if !target.is_dir() {
        std::fs::write(target, bytes)?;
        return Ok(target.to_owned());
    }
    for attempt in 1..=MAX_ATTEMPTS {
        let path = target.join(binary.file_name(attempt));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(bytes).map(|()| path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// The usual file extension of a media type.
fn extension(mime_type: &str) -> &str {
    const MAX_LENGTH: usize = 8;
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    let subtype = essence.rsplit('/').next().unwrap_or_default();
    match subtype {
        "jpeg" => "jpg",
        "svg+xml" => "svg",
        "mpeg" if essence.starts_with("audio/") => "mp3",
        "x-wav" => "wav",
        subtype
            if (1..=MAX_LENGTH).contains(&subtype.len())
                && subtype.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            subtype
        }
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(uri: Option<&str>, mime_type: &str, attempt: usize, expected: &str) {
        let binary = Binary::new(uri.map(str::to_owned), mime_type.to_owned(), "");
        assert_eq!(binary.file_name(attempt), expected);
    }

    #[test]
    fn names_files() {
        check(None, "image/png", 1, "content.png");
        check(None, "image/png", 2, "content-2.png");
        check(None, "image/svg+xml; charset=utf-8", 1, "content.svg");
        check(None, "../../etc", 1, "content.etc");
        check(None, "application/octet-stream", 1, "content.bin");
        check(Some("file:///a/logo.gif?x=/y"), "image/png", 1, "logo.gif");
        check(Some("db://main/table/a b"), "image/png", 3, "ab-3.png");
        check(Some("file:///a/..%2f..\u{1b}"), "image/jpeg", 1, "2f.jpg");
        check(Some("file:///.bashrc"), "text/plain", 1, "bashrc.plain");
    }
}

//! Secrets: references to an environment variable or a file, never the secret itself.

use std::env;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::folder::Folder;

/// A secret: `{ env = "NAME" }` or `{ file = "PATH" }`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(super) enum Secret {
    /// The value of an environment variable.
    Env(String),
    /// The content of a file, without a line break at its end.
    File(PathBuf),
}

/// The file of a secret, which can be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretFile(PathBuf);

/// The text of a secret. `Debug` omits it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SecretText(String);

impl Secret {
    /// Reads the secret. The error does not contain it.
    pub(super) fn read(&self, folder: &Folder) -> Result<SecretText, String> {
        let text = match self {
            Self::Env(name) => env::var(name).map_err(|error| match error {
                env::VarError::NotPresent => format!("environment variable `{name}` is not set"),
                env::VarError::NotUnicode(_) => {
                    format!("environment variable `{name}` is not UTF-8")
                }
            })?,
            Self::File(path) => folder.secret(located(path, folder), |path| {
                let (text, is_public) = read_file(path)?;
                if is_public {
                    let shown = path.display();
                    folder.warn(format!(
                        "all users of this machine can read {shown}, which contains a secret: chmod o-r {shown}"
                    ));
                }
                Ok(text)
            })?,
        };
        match without_line_break(&text) {
            "" => Err(format!("{self} is empty")),
            text => Ok(SecretText(text.to_owned())),
        }
    }

    /// The file, if the secret is in one.
    pub(super) fn file(&self, folder: &Folder) -> Option<SecretFile> {
        match self {
            Self::Env(_) => None,
            Self::File(path) => Some(SecretFile(located(path, folder))),
        }
    }
}

impl SecretFile {
    /// Reads the file again. The error does not contain the secret.
    pub(crate) fn read(&self) -> Result<String, String> {
        let (text, _) = read_file(&self.0)?;
        match without_line_break(&text) {
            "" => Err(format!("{} is empty", self.0.display())),
            text => Ok(text.to_owned()),
        }
    }
}

/// The path of the file that a path in the configuration means.
fn located(path: &Path, folder: &Folder) -> PathBuf {
    credential(path).unwrap_or_else(|| folder.path(path))
}

fn without_line_break(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Reads the text of a file that contains a secret. Returns also whether all users can read it.
fn read_file(path: &Path) -> Result<(String, bool), String> {
    /// The maximum size in bytes.
    const MAX_SIZE: u64 = 64 << 10;
    const OTHERS_CAN_READ: u32 = 0o004;
    let shown = path.display();
    let failed = |error: io::Error| format!("cannot read {shown}: {error}");
    let metadata = fs::metadata(path).map_err(failed)?;
    // Opening a named pipe would wait for its writer.
    if !metadata.is_file() {
        return Err(format!("{shown} is not a regular file"));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_SIZE + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_SIZE {
        return Err(format!("{shown} is larger than 64 KiB"));
    }
    Ok((text, metadata.permissions().mode() & OTHERS_CAN_READ != 0))
}

/// The path of a credential of the service manager (systemd.exec(5)), if there is one of this name.
fn credential(path: &Path) -> Option<PathBuf> {
    let folder = env::var_os("CREDENTIALS_DIRECTORY").filter(|folder| !folder.is_empty())?;
    let folder = PathBuf::from(folder);
    Some(folder.join(path)).filter(|path| path.exists())
}

impl SecretText {
    pub(super) fn get(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SecretVisitor)
    }
}

struct SecretVisitor;

impl<'de> Visitor<'de> for SecretVisitor {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{ env = \"NAME\" } or { file = \"PATH\" }")
    }

    /// The message does not contain the text, which is probably the secret.
    fn visit_str<E: Error>(self, _: &str) -> Result<Secret, E> {
        Err(E::custom(
            "a secret is not written in this file; use { env = \"NAME\" } or { file = \"PATH\" }",
        ))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Secret, A::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Source {
            Env,
            File,
        }
        let secret = match map.next_key()? {
            Some(Source::Env) => Secret::Env(map.next_value()?),
            Some(Source::File) => Secret::File(map.next_value()?),
            None => return Err(Error::custom("the table is empty; use `env` or `file`")),
        };
        match map.next_key::<String>()? {
            Some(_) => Err(Error::custom("a secret has one source: `env` or `file`")),
            None => Ok(secret),
        }
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "environment variable `{name}`"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}

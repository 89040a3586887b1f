//! The approved definitions of tools, by their digests.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::name::UpstreamName;

/// The approved tools of all upstreams. A tool is approved when it is first seen, or explicitly.
#[derive(Debug)]
pub(crate) struct Approvals {
    path: Option<PathBuf>,
    document: Mutex<Document>,
    /// Locked while the file is written, so that the last state is written last.
    writing: Mutex<()>,
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    /// By upstream and by tool, with the upstream's own names.
    upstreams: BTreeMap<String, BTreeMap<String, Digest>>,
}

/// The digest of a tool's definition: SHA-256 in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Digest(pub(crate) String);

/// Whether the definition of a tool is approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval {
    /// It is the approved one.
    Approved,
    /// It differs from the approved one.
    Changed,
    /// The tool was added after the tools of its upstream were first seen.
    Added,
}

/// The reason why the file of approvals cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalsError {
    /// The file cannot be read.
    #[error("cannot read the approved tools in {}: {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The content is invalid. The file is not replaced, since that would approve all tools.
    #[error(
        "the approved tools in {} are invalid: {reason}; repair or delete the file", path.display()
    )]
    Invalid {
        /// The path.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The file cannot be written.
    #[error("cannot write the approved tools to {}: {source}", path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

const VERSION: u32 = 1;

impl Approvals {
    /// Reads a file, which need not exist. Without a path, approvals are kept in memory.
    pub(crate) fn open(path: Option<PathBuf>) -> Result<Self, ApprovalsError> {
        let document = match &path {
            Some(path) => read(path)?,
            None => Document { version: VERSION, ..Document::default() },
        };
        Ok(Self { path, document: Mutex::new(document), writing: Mutex::default() })
    }

    /// Compares tools with the approved ones. If the upstream is new, all are approved. Later additions are approved
    /// unless they are `pinned`. Returns whether there are new approvals.
    pub(crate) fn review<'t>(
        &self,
        upstream: &UpstreamName,
        pinned: bool,
        tools: impl Iterator<Item = (&'t str, &'t Digest)> + Clone,
    ) -> (Vec<Approval>, bool) {
        let mut document = self.lock();
        let is_first = !document.upstreams.contains_key(upstream.as_str());
        let approved = document.upstreams.entry(upstream.as_str().to_owned()).or_default();
        let mut has_new = is_first;
        let mut review = |(tool, digest): (&str, &Digest)| match approved.get(tool) {
            Some(known) if known == digest => Approval::Approved,
            Some(_) => Approval::Changed,
            None if pinned && !is_first => Approval::Added,
            None => {
                approved.insert(tool.to_owned(), digest.clone());
                has_new = true;
                Approval::Approved
            }
        };
        let found = tools.clone().map(&mut review).collect();
        limit(approved, tools);
        (found, has_new)
    }

    /// Approves the current definitions of tools.
    pub(crate) fn approve(&self, upstream: &UpstreamName, tools: Vec<(String, Digest)>) {
        self.lock().upstreams.entry(upstream.as_str().to_owned()).or_default().extend(tools);
    }

    /// Writes the file, if there is one. Blocks.
    pub(crate) fn save(&self) -> Result<(), ApprovalsError> {
        let Some(path) = &self.path else { return Ok(()) };
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let text = serde_json::to_vec_pretty(&*self.lock()).expect("JSON serialises into memory");
        write(path, &text).map_err(|source| ApprovalsError::Write { path: path.clone(), source })
    }

    fn lock(&self) -> MutexGuard<'_, Document> {
        self.document.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets tools that are not offered any more if there are too many: an upstream may use new names all the time.
fn limit<'t>(
    approved: &mut BTreeMap<String, Digest>,
    current: impl Iterator<Item = (&'t str, &'t Digest)>,
) {
    const MAX: usize = 10_000;
    if approved.len() > MAX {
        let current: std::collections::HashSet<_> = current.map(|(tool, _)| tool).collect();
        approved.retain(|tool, _| current.contains(tool.as_str()));
    }
}

fn read(path: &Path) -> Result<Document, ApprovalsError> {
    const MAX_SIZE: u64 = 64 << 20;
    let failed = |source| ApprovalsError::Read { path: path.to_owned(), source };
    let invalid = |reason: String| ApprovalsError::Invalid { path: path.to_owned(), reason };
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Document { version: VERSION, ..Document::default() });
        }
        Err(error) => return Err(failed(error)),
    };
    let mut text = Vec::new();
    file.take(MAX_SIZE + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_SIZE {
        return Err(invalid(format!("the file is larger than {MAX_SIZE} bytes")));
    }
    let document: Document =
        serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
    if document.version != VERSION {
        return Err(invalid(format!("unknown version {}", document.version)));
    }
    Ok(document)
}

/// Replaces the file atomically.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = (|| {
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // It may not have been created.
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[track_caller]
    fn check(approvals: &Approvals, pinned: bool, tools: &[(&str, &str)], expected: &[Approval]) {
        let tools: Vec<_> =
            tools.iter().map(|(tool, digest)| (*tool, Digest((*digest).to_owned()))).collect();
        let tools = tools.iter().map(|(tool, digest)| (*tool, digest));
        let (found, _) = approvals.review(&"up".parse().unwrap(), pinned, tools);
        assert_eq!(found, expected);
    }

    #[test]
    fn changed_and_added_tools() {
        use Approval::{Added, Approved, Changed};
        let approvals = Approvals::open(None).unwrap();
        check(&approvals, true, &[("a", "1"), ("b", "1")], &[Approved, Approved]);
        check(&approvals, true, &[("a", "1"), ("b", "2"), ("c", "1")], &[Approved, Changed, Added]);
        // It stays so until it is approved.
        check(&approvals, true, &[("b", "2"), ("c", "1")], &[Changed, Added]);
        approvals.approve(&"up".parse().unwrap(), vec![("b".to_owned(), Digest("2".to_owned()))]);
        check(&approvals, true, &[("b", "2"), ("c", "1")], &[Approved, Added]);
        check(&approvals, false, &[("b", "1"), ("c", "1")], &[Changed, Approved]);
        check(&approvals, true, &[("c", "1"), ("c", "2")], &[Approved, Changed]);
    }

    #[test]
    fn files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/upstreams.json");
        let open = || Approvals::open(Some(path.clone()));
        let approvals = open().unwrap();
        check(&approvals, true, &[("a", "1")], &[Approval::Approved]);
        approvals.save().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        check(&open().unwrap(), true, &[("a", "2")], &[Approval::Changed]);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        for invalid in ["", "{}", "[]", r#"{"version":2,"upstreams":{}}"#, r#"{"version":1"#] {
            fs::write(&path, invalid).unwrap();
            assert!(matches!(open(), Err(ApprovalsError::Invalid { .. })), "{invalid}");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(open(), Err(ApprovalsError::Read { .. })));
        assert!(matches!(approvals.save(), Err(ApprovalsError::Write { .. })));
    }
}

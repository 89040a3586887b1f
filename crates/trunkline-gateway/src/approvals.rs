//! The approved definitions of tools, by their digests.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use trunkline::history::private_file;

use crate::definition::{Digest, ReviewedDefinition};
use crate::name::UpstreamName;

/// The approved tools of all upstreams. A tool is approved when it is first seen, or explicitly. Several processes may
/// use the file: it is read again for each review, and only an explicit approval replaces a digest in it.
#[derive(Debug)]
pub(crate) struct Approvals {
    path: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The approvals in the file, and those that are not saved yet.
    document: Document,
    /// The explicit approvals that are not saved yet.
    explicit: Upstreams,
}

/// The content of the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    upstreams: Upstreams,
}

/// Approved definitions by upstream and by tool, with the upstream's own names.
type Upstreams = BTreeMap<String, Tools>;
type Tools = BTreeMap<String, Approved>;

/// An approved definition. It is kept to show the difference of another one, if it is not too large.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Approved {
    digest: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<Box<RawValue>>,
}

/// A definition to review.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reviewed<'t> {
    /// The upstream's name of the tool.
    pub(crate) tool: &'t str,
    pub(crate) digest: &'t Digest,
    /// The tool as the upstream sent it.
    pub(crate) object: &'t RawValue,
}

/// Whether the definition of a tool is approved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Approval {
    /// It is the approved one.
    Approved,
    /// It differs from the approved one.
    Changed(Approved),
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

const VERSION: u32 = 2;
/// The earlier version, without definitions.
const DIGESTS_ONLY: u32 = 1;
/// The maximum sizes of stored definitions in bytes: of one, of those of an upstream, and of all.
const MAX_DEFINITION: usize = 32 << 10;
const MAX_UPSTREAM: usize = 2 << 20;
const MAX_ALL: usize = 32 << 20;
/// The maximum time to wait while other processes use the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// The time between two attempts to lock the file.
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

impl Approvals {
    /// Reads a file, which need not exist. Without a path, approvals are kept in memory.
    pub(crate) fn open(path: Option<PathBuf>) -> Result<Self, ApprovalsError> {
        let document = match &path {
            Some(path) => read(path)?,
            None => Document::new(),
        };
        Ok(Self { path, state: Mutex::new(State { document, explicit: Upstreams::new() }) })
    }

    /// Compares tools with the approved ones. If the upstream is new, all are approved. Later additions are approved
    /// unless they are `pinned`. Saves new approvals; those that cannot be saved are kept in memory until the next
    /// review. Blocks.
    pub(crate) fn review<'t>(
        &self,
        upstream: &UpstreamName,
        pinned: bool,
        tools: impl Iterator<Item = Reviewed<'t>> + Clone,
    ) -> (Vec<Approval>, Result<(), ApprovalsError>) {
        let Some(path) = &self.path else {
            let mut state = self.lock();
            state.merge(None);
            state.explicit.clear();
            return (state.review(upstream, pinned, tools), Ok(()));
        };
        // Before the state is locked, so that threads wait at the same time.
        let locked = lock_file(path);
        let mut state = self.lock();
        let stored = read(path);
        state.merge(stored.as_ref().ok());
        let found = state.review(upstream, pinned, tools);
        let saved = stored.and_then(|stored| {
            if state.document != stored {
                let written = locked.and_then(|_lock| write(path, &state.document));
                written.map_err(|source| ApprovalsError::Write { path: path.clone(), source })?;
            }
            state.explicit.clear();
            Ok(())
        });
        (found, saved)
    }

    /// Approves definitions. They are saved by the next review.
    pub(crate) fn approve(&self, upstream: &UpstreamName, tools: Vec<(String, Digest)>) {
        // An upstream with an empty entry would not be new any more.
        if tools.is_empty() {
            return;
        }
        let tools = tools.into_iter().map(|(tool, digest)| (tool, digest.into()));
        self.lock().explicit.entry(upstream.as_str().to_owned()).or_default().extend(tools);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds the approvals in the file, and then explicit ones. Both replace those of this process.
    fn merge(&mut self, stored: Option<&Document>) {
        for from in stored.map(|stored| &stored.upstreams).into_iter().chain([&self.explicit]) {
            for (upstream, tools) in from {
                let approved = self.document.upstreams.entry(upstream.clone()).or_default();
                approved.extend(tools.iter().map(|(tool, one)| (tool.clone(), one.clone())));
            }
        }
    }

    fn review<'t>(
        &mut self,
        upstream: &UpstreamName,
        pinned: bool,
        tools: impl Iterator<Item = Reviewed<'t>> + Clone,
    ) -> Vec<Approval> {
        let upstreams = &mut self.document.upstreams;
        let is_first = !upstreams.contains_key(upstream.as_str());
        let approved = upstreams.entry(upstream.as_str().to_owned()).or_default();
        let mut review = |Reviewed { tool, digest, .. }| match approved.get(tool) {
            Some(known) if known.digest == *digest => Approval::Approved,
            Some(known) => Approval::Changed(known.clone()),
            None if pinned && !is_first => Approval::Added,
            None => {
                approved.insert(tool.to_owned(), digest.clone().into());
                Approval::Approved
            }
        };
        let found = tools.clone().map(&mut review).collect();
        limit(approved, tools.clone());
        self.document.add_definitions(upstream, tools);
        found
    }
}

impl Approved {
    pub(crate) fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The definition, if it is known.
    pub(crate) fn definition(&self) -> Option<ReviewedDefinition> {
        serde_json::from_str(self.definition.as_ref()?.get()).ok()
    }

    fn size(&self) -> usize {
        self.definition.as_ref().map_or(0, |definition| definition.get().len())
    }
}

impl From<Digest> for Approved {
    fn from(digest: Digest) -> Self {
        Self { digest, definition: None }
    }
}

/// A digest identifies its definition.
impl PartialEq for Approved {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.definition.is_some() == other.definition.is_some()
    }
}

/// A digest alone is one without a definition, as in files of version 1.
impl<'de> Deserialize<'de> for Approved {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Members {
            digest: Digest,
            definition: Option<Box<RawValue>>,
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let text = text.get();
        let found = if text.starts_with('"') {
            serde_json::from_str(text).map(|digest| Members { digest, definition: None })
        } else {
            serde_json::from_str(text)
        };
        let Members { digest, definition } = found.map_err(D::Error::custom)?;
        Ok(Self { digest, definition })
    }
}

impl Document {
    fn new() -> Self {
        Self { version: VERSION, upstreams: Upstreams::new() }
    }

    /// Adds the definitions of approved tools that are missing, up to a size: an upstream must not fill the file.
    fn add_definitions<'t>(
        &mut self,
        upstream: &UpstreamName,
        tools: impl Iterator<Item = Reviewed<'t>>,
    ) {
        let size = |tools: &Tools| tools.values().map(Approved::size).sum::<usize>();
        let total: usize = self.upstreams.values().map(size).sum();
        let Some(approved) = self.upstreams.get_mut(upstream.as_str()) else { return };
        let mut budget = MAX_UPSTREAM.saturating_sub(size(approved));
        budget = budget.min(MAX_ALL.saturating_sub(total));
        for Reviewed { tool, digest, object } in tools {
            let Some(known) = approved.get_mut(tool) else { continue };
            if known.definition.is_some() || known.digest != *digest {
                continue;
            }
            let Ok(definition) = ReviewedDefinition::of(object) else { continue };
            let definition = to_raw_value(&definition).expect("JSON serialises into memory");
            let size = definition.get().len();
            if size <= MAX_DEFINITION.min(budget) {
                budget -= size;
                let digest = digest.clone();
                *known = Approved { digest, definition: Some(definition) };
            }
        }
    }
}

/// Forgets tools that are not offered any more if there are too many: an upstream may use new names all the time.
fn limit<'t>(approved: &mut Tools, current: impl Iterator<Item = Reviewed<'t>>) {
    const MAX: usize = 10_000;
    if approved.len() > MAX {
        let current: std::collections::HashSet<_> = current.map(|one| one.tool).collect();
        approved.retain(|tool, _| current.contains(tool.as_str()));
    }
}

fn read(path: &Path) -> Result<Document, ApprovalsError> {
    const MAX_SIZE: u64 = 64 << 20;
    let failed = |source| ApprovalsError::Read { path: path.to_owned(), source };
    let invalid = |reason: String| ApprovalsError::Invalid { path: path.to_owned(), reason };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Document::new());
        }
        Err(error) => return Err(failed(error)),
    };
    let mut text = Vec::new();
    file.take(MAX_SIZE + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_SIZE {
        return Err(invalid(format!("the file is larger than {MAX_SIZE} bytes")));
    }
    let mut document: Document =
        serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
    if document.version == DIGESTS_ONLY {
        document.version = VERSION;
    }
    if document.version != VERSION {
        return Err(invalid(format!("unknown version {}", document.version)));
    }
    Ok(document)
}

/// Locks a file next to that of the approvals, which is replaced when it is written.
fn lock_file(path: &Path) -> io::Result<File> {
    let file = private_file::open_lock(&path.with_extension("lock"))?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                let reason = "another process has locked the file";
                return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_INTERVAL),
        }
    }
}

fn write(path: &Path, document: &Document) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(document).expect("JSON serialises into memory");
    private_file::replace(path, &text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[track_caller]
    fn check(approvals: &Approvals, pinned: bool, tools: &[(&str, &str)], expected: &[Kind]) {
        let tools: Vec<_> =
            tools.iter().map(|(tool, digest)| (*tool, Digest((*digest).to_owned()))).collect();
        let tools = tools.iter().map(|(tool, digest)| reviewed(tool, digest));
        let (found, saved) = approvals.review(&"up".parse().unwrap(), pinned, tools);
        assert_eq!(kinds(&found), expected);
        saved.unwrap();
    }

    #[derive(Debug, PartialEq)]
    enum Kind {
        Approved,
        Changed,
        Added,
    }

    fn kinds(found: &[Approval]) -> Vec<Kind> {
        let kind = |found: &Approval| match found {
            Approval::Approved => Kind::Approved,
            Approval::Changed(_) => Kind::Changed,
            Approval::Added => Kind::Added,
        };
        found.iter().map(kind).collect()
    }

    fn reviewed<'t>(tool: &'t str, digest: &'t Digest) -> Reviewed<'t> {
        let object = serde_json::from_str(r#"{"name": "x", "title": "t"}"#).unwrap();
        Reviewed { tool, digest, object }
    }

    #[test]
    fn changed_and_added_tools() {
        use Kind::{Added, Approved, Changed};
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
        check(&approvals, true, &[("a", "1")], &[Kind::Approved]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        check(&open().unwrap(), true, &[("a", "2")], &[Kind::Changed]);
        let mut names: Vec<_> = fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|one| one.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["upstreams.json", "upstreams.lock"]);

        // Approvals of a locked file are saved later.
        let up = "up".parse().unwrap();
        let lock = lock_file(&path).unwrap();
        approvals.approve(&up, vec![("a".to_owned(), Digest("2".to_owned()))]);
        let (_, saved) = approvals.review(&up, true, std::iter::empty());
        assert!(matches!(saved, Err(ApprovalsError::Write { .. })), "{saved:?}");
        assert_eq!(read(&path).unwrap().upstreams["up"]["a"].digest.0, "1");
        drop(lock);
        check(&approvals, true, &[("a", "2")], &[Kind::Approved]);
        check(&open().unwrap(), true, &[("a", "2")], &[Kind::Approved]);

        for invalid in ["", "{}", "[]", r#"{"version":3,"upstreams":{}}"#, r#"{"version":1"#] {
            fs::write(&path, invalid).unwrap();
            assert!(matches!(open(), Err(ApprovalsError::Invalid { .. })), "{invalid}");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(open(), Err(ApprovalsError::Read { .. })));
        let (found, saved) =
            approvals.review(&up, true, [reviewed("a", &Digest("1".to_owned()))].into_iter());
        assert_eq!(kinds(&found), [Kind::Changed]);
        assert!(matches!(saved, Err(ApprovalsError::Read { .. })), "{saved:?}");
    }

    #[test]
    fn concurrent_reviews() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("upstreams.json");
        let all: Vec<_> = (0..4).map(|_| Approvals::open(Some(path.clone())).unwrap()).collect();
        let digests: Vec<_> = (0..all.len()).map(|number| Digest(number.to_string())).collect();
        let count = std::thread::scope(|scope| {
            let threads: Vec<_> = all
                .iter()
                .zip(&digests)
                .map(|(approvals, digest)| {
                    scope.spawn(move || {
                        let own = format!("up{}", digest.0).parse().unwrap();
                        approvals
                            .review(&own, true, [reviewed("a", digest)].into_iter())
                            .1
                            .unwrap();
                        let shared = "shared".parse().unwrap();
                        approvals.review(&shared, true, [reviewed("a", digest)].into_iter()).0
                    })
                })
                .collect();
            let found = threads.into_iter().map(|thread| thread.join().unwrap());
            found.filter(|found| kinds(found) == [Kind::Approved]).count()
        });
        assert_eq!(count, 1, "one process sees the tools of the shared upstream first");
        assert_eq!(read(&path).unwrap().upstreams.len(), all.len() + 1);
    }
}

//! The protocol between a service and a launcher: the arguments of the launcher, and its reports.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::error::LaunchError;
use crate::config::ProcessLimits;

const CPU_SECONDS: &str = "--cpu-seconds";
const MEMORY_BYTES: &str = "--memory-bytes";
const FILE_BYTES: &str = "--file-bytes";
const OPEN_FILES: &str = "--open-files";
const PROCESSES: &str = "--processes";
const CGROUP: &str = "--cgroup";
/// Separates the flags from the program.
const END: &str = "--";

/// The arguments of a launcher, before the program and its arguments.
pub(crate) fn arguments(limits: &ProcessLimits, cgroup: Option<&Path>) -> Vec<OsString> {
    let flags = [
        (CPU_SECONDS, limits.cpu_seconds),
        (MEMORY_BYTES, limits.memory_bytes),
        (FILE_BYTES, limits.file_bytes),
        (OPEN_FILES, limits.open_files),
        (PROCESSES, limits.processes),
    ];
    let limits =
        flags.into_iter().flat_map(|(flag, limit)| [flag.into(), limit.to_string().into()]);
    let cgroup = cgroup.into_iter().flat_map(|path| [CGROUP.into(), path.into()]);
    limits.chain(cgroup).chain([END.into()]).collect()
}

/// The arguments of a launcher as it reads them. A limit that is missing is not set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) cpu_seconds: Option<u64>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) file_bytes: Option<u64>,
    pub(super) open_files: Option<u64>,
    pub(super) processes: Option<u64>,
    pub(super) cgroup: Option<PathBuf>,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
}

impl Request {
    /// Reads flags up to `--`, or up to an argument that does not begin with it: command-line parsers consume
    /// a `--` that is the first argument.
    pub(super) fn parse(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, LaunchError> {
        let mut arguments = arguments.into_iter();
        let mut request = Self::default();
        let mut program = arguments.next();
        while let Some(flag) = program.take_if(|word| word.as_encoded_bytes().starts_with(b"--")) {
            program = arguments.next();
            if flag == END {
                break;
            }
            let value = program.take().unwrap_or_default();
            request.set(&flag.to_string_lossy(), value)?;
            program = arguments.next();
        }
        let missing = || LaunchError::Arguments("the program is missing".to_owned());
        request.program = program.ok_or_else(missing)?.into();
        request.arguments = arguments.collect();
        Ok(request)
    }

    fn set(&mut self, flag: &str, value: OsString) -> Result<(), LaunchError> {
        let limit = match flag {
            CPU_SECONDS => &mut self.cpu_seconds,
            MEMORY_BYTES => &mut self.memory_bytes,
            FILE_BYTES => &mut self.file_bytes,
            OPEN_FILES => &mut self.open_files,
            PROCESSES => &mut self.processes,
            CGROUP => {
                self.cgroup = Some(value.into());
                return Ok(());
            }
            _ => return Err(LaunchError::Arguments(format!("unknown flag `{flag}`"))),
        };
        let number = value.to_str().and_then(|value| value.parse().ok());
        let invalid = || LaunchError::Arguments(format!("the value of `{flag}` is not a number"));
        *limit = Some(number.ok_or_else(invalid)?);
        Ok(())
    }
}

/// A line that a launcher writes to the service: the part of the outcome that an exit status cannot carry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The signal that ended the program, if the launcher cannot end by it.
    Signal(i32),
    /// The reason why the program was not started.
    NotStarted(String),
}

impl Report {
    pub(super) fn not_started(error: &LaunchError) -> Self {
        let causes = std::iter::successors(Some(error as &dyn Error), |&error| error.source());
        let causes: Vec<String> =
            causes.map(|cause| cause.to_string().replace('\n', " ")).collect();
        Self::NotStarted(causes.join(": "))
    }

    /// Parses a line; any other line is ignored.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        match line.trim().split_once(' ')? {
            ("unstarted", reason) => Some(Self::NotStarted(reason.to_owned())),
            ("signal", number) => number.parse().ok().map(Self::Signal),
            _ => None,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(number) => write!(f, "signal {number}"),
            Self::NotStarted(reason) => write!(f, "unstarted {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_report(line: &str, expected: Option<Report>) {
        assert_eq!(Report::parse(line), expected, "{line}");
    }

    #[test]
    fn reports_of_launchers() {
        check_report("", None);
        check_report(&format!("{}\n", Report::Signal(11)), Some(Report::Signal(11)));
        check_report("signal x\n", None);
        let error = LaunchError::Arguments("a\nb".to_owned());
        let report = Report::not_started(&error);
        let text = "invalid arguments of the launcher: a b".to_owned();
        assert_eq!(report, Report::NotStarted(text));
        check_report(&format!("{report}\n"), Some(report));
        check_report("something else\n", None);
    }

    #[track_caller]
    fn check_request(arguments: &str, expected: Result<Request, &str>) {
        let parsed = Request::parse(arguments.split_whitespace().map(OsString::from));
        let parsed = parsed.map_err(|error| error.to_string());
        let invalid = |reason| format!("invalid arguments of the launcher: {reason}");
        assert_eq!(parsed, expected.map_err(invalid), "{arguments}");
    }

    #[test]
    fn arguments_of_launchers() {
        let echo = || Request { program: "echo".into(), ..Request::default() };
        check_request("-- echo", Ok(echo()));
        check_request("echo", Ok(echo()));
        check_request(
            "--open-files 3 -- echo -- --cgroup",
            Ok(Request {
                open_files: Some(3),
                arguments: vec!["--".into(), "--cgroup".into()],
                ..echo()
            }),
        );
        check_request("", Err("the program is missing"));
        check_request("--cpu-seconds 1 --", Err("the program is missing"));
        check_request("--cpu-seconds", Err("the value of `--cpu-seconds` is not a number"));
        check_request(
            "--open-files -1 -- echo",
            Err("the value of `--open-files` is not a number"),
        );
        check_request("--files 1 -- echo", Err("unknown flag `--files`"));
    }

    #[test]
    fn launchers_parse_the_arguments_of_services() {
        let limits = ProcessLimits {
            cpu_seconds: 1,
            memory_bytes: 2,
            file_bytes: 3,
            open_files: 4,
            processes: 5,
        };
        let mut written = arguments(&limits, Some(Path::new("/cgroup")));
        written.extend(["program", "--", "1"].map(OsString::from));
        let expected = Request {
            cpu_seconds: Some(1),
            memory_bytes: Some(2),
            file_bytes: Some(3),
            open_files: Some(4),
            processes: Some(5),
            cgroup: Some("/cgroup".into()),
            program: "program".into(),
            arguments: vec!["--".into(), "1".into()],
        };
        assert_eq!(Request::parse(written).unwrap(), expected);
    }
}

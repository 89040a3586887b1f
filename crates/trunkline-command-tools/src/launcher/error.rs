use std::io;
use std::path::PathBuf;

/// The reason why a launcher did not run a program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The arguments are not those of a launcher.
    #[error("invalid arguments of the launcher: {0}")]
    Arguments(String),
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The cgroup could not be entered.
    #[error("cannot enter the cgroup {}", path.display())]
    Cgroup {
        /// The directory of the cgroup.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A limit could not be set.
    #[error("cannot limit {resource}")]
    Limit {
        /// The name of the limit.
        resource: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// The service closed stdin before the program was started.
    #[error("stdin was closed before the program was started")]
    Closed,
    /// The program could not be executed.
    #[error("cannot execute {}", program.display())]
    Execute {
        /// The program.
        program: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

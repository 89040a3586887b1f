//! What a launcher says of the program that it has run, besides ending as it did.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::unix::OwnedReadHalf;
use tokio::time::timeout;

/// The most bytes of it.
const MOST: u64 = 4 << 10;
/// It was written before the launcher has ended.
const TO_READ: Duration = Duration::from_secs(1);

/// What a launcher reports.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// The signal that has ended the program.
    pub(super) signal: Option<i32>,
}

impl Report {
    /// Reads what a launcher that has ended has said. A program that could not be started is an error.
    pub(super) async fn read(line: Option<OwnedReadHalf>) -> io::Result<Self> {
        let mut said = Vec::new();
        if let Some(line) = line {
            let mut line = BufReader::new(line.take(MOST));
            // What came counts.
            drop(timeout(TO_READ, line.read_to_end(&mut said)).await);
        }
        Self::parse(&String::from_utf8_lossy(&said))
    }

    fn parse(said: &str) -> io::Result<Self> {
        let words = said.trim().split_once(' ');
        match words {
            Some(("unstarted", reason)) => Err(io::Error::other(reason)),
            Some(("signal", number)) => Ok(Self { signal: number.parse().ok() }),
            _ => Ok(Self::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[track_caller]
    fn check(said: &str, expected: Result<Option<i32>, &str>) {
        let read =
            Report::parse(said).map(|report| report.signal).map_err(|error| error.to_string());
        assert_eq!(read, expected.map_err(str::to_owned), "{said}");
    }

    #[test]
    fn what_launchers_say() {
        check("", Ok(None));
        check("signal 11\n", Ok(Some(11)));
        check("signal x\n", Ok(None));
        check("unstarted no such file\n", Err("no such file"));
        check("something else\n", Ok(None));
    }
}

//! The history of a server: how much is kept of its calls, where its logs are, and who may read them.

use std::num::ParseIntError;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use clap::builder::{BoolishValueParser, RangedU64ValueParser};
use trunkline::CancellationToken;
use trunkline::history::endpoint::{self, Readers};
use trunkline::history::log::{self, LogError};
use trunkline::history::{History, Log, Redaction, Settings};
use trunkline::http::HttpService;

use super::access::entries;

/// What is kept of calls.
#[derive(Args)]
pub(crate) struct Kept {
    /// Keep no history of calls: there is no /history, and no /logs.
    #[arg(long, env = "TRUNKLINE_NO_HISTORY", value_parser = BoolishValueParser::new())]
    no_history: bool,
    /// How many calls the history keeps, with their requests and responses; the oldest make room. What
    /// looks secret is taken out.
    #[arg(
        long,
        value_name = "CALLS",
        default_value_t = 1_000,
        env = "TRUNKLINE_HISTORY_ENTRIES",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000_000)
    )]
    history_entries: usize,
    /// How many bytes of memory they may have together.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 8 << 20,
        env = "TRUNKLINE_HISTORY_BYTES",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 40)
    )]
    history_bytes: usize,
    /// Additional name of members whose values are redacted, like `iban`. Repeats, or several separated by
    /// commas.
    #[arg(long, value_name = "NAME", env = "TRUNKLINE_HISTORY_REDACT", value_delimiter = ',')]
    history_redact: Vec<String>,
    /// How many bytes the logs of calls may have, in the folder logs of the data directory; the oldest
    /// make room. 0 writes none.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 64 << 20,
        env = "TRUNKLINE_LOG_BYTES",
        value_parser = log_bytes
    )]
    log_bytes: u64,
}

fn log_bytes(text: &str) -> Result<u64, String> {
    const RANGE: RangeInclusive<u64> = 65_536..=1 << 50;
    let bytes = text.parse().map_err(|error: ParseIntError| error.to_string())?;
    if bytes == 0 || RANGE.contains(&bytes) {
        return Ok(bytes);
    }
    Err(format!("{bytes} is not 0, nor in {}..={}", RANGE.start(), RANGE.end()))
}

/// What is kept, and who may read it.
#[derive(Clone)]
pub(crate) struct Recorder {
    history: History,
    log: Option<Log>,
    /// The reason why nothing is logged.
    problem: Option<String>,
    readers: Readers,
}

impl Kept {
    /// The history, if one is wanted.
    pub(crate) fn history(&self) -> Option<History> {
        let names = entries(&self.history_redact);
        let redact = names.fold(Redaction::default(), Redaction::name);
        let (entries, bytes) = (self.history_entries, self.history_bytes);
        let settings = Settings { entries, bytes, redact, ..Settings::default() };
        (!self.no_history).then(|| History::new(settings))
    }

    /// Begins the log of a history.
    pub(crate) fn recorder(
        &self,
        history: History,
        data: &Path,
        readers: Readers,
    ) -> anyhow::Result<Recorder> {
        let mut recorder = Recorder { history, log: None, problem: None, readers };
        if self.log_bytes > 0 {
            match self.log(&recorder.history, data) {
                Ok(log) => recorder.log = Some(log),
                Err(LogError::Folder { folder, source }) => {
                    let folder = folder.display();
                    tracing::error!(error = %source, %folder, "no log is written; free the disk or give another directory with --data-dir, or write no logs with --log-bytes 0");
                    recorder.problem = Some(source.to_string());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(recorder)
    }

    fn log(&self, history: &History, data: &Path) -> Result<Log, LogError> {
        let defaults = log::Settings::default();
        // Several files, so that the oldest calls are not all forgotten at once.
        let file_bytes = defaults.file_bytes.min(self.log_bytes.div_ceil(8));
        let settings = log::Settings { file_bytes, total_bytes: self.log_bytes, ..defaults };
        Log::open(data.join("logs"), history, settings)
    }
}

impl Recorder {
    /// Why the last entries are not in the log.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.clone().or_else(|| self.log.as_ref()?.problem())
    }

    /// Adds the routes of the history. Streams end when `closing` is cancelled.
    pub(crate) fn show(&self, service: HttpService, closing: &CancellationToken) -> HttpService {
        let (readers, closing) = (self.readers.clone(), closing.clone());
        let settings = endpoint::HistoryRoutesConfig {
            readers,
            closing,
            ..endpoint::HistoryRoutesConfig::default()
        };
        let service = service.merge(endpoint::routes(&self.history, settings));
        match &self.log {
            Some(log) => service.merge(endpoint::log_routes(log, self.readers.clone())),
            None => service,
        }
    }

    /// Writes what was recorded last, for so long at most. Blocks.
    pub(crate) fn close(&self, patience: Duration) {
        if let Some(log) = &self.log
            && !log.close(patience)
        {
            tracing::warn!("the log could not be written to its end in time");
        }
    }
}

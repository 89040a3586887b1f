//! The history of calls: its flags, its log files, and the callers that may read it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use clap::builder::{BoolishValueParser, RangedU64ValueParser};
use trunkline::CancellationToken;
use trunkline::history::endpoint::{self, Readers};
use trunkline::history::log::{LogConfig, LogError};
use trunkline::history::{History, HistoryConfig, Log, Redaction};
use trunkline::http::HttpService;
use trunkline_console::HistoryAccess;

use super::access::entries;
use super::console::{ConsoleSetup, merged_with_data};
use crate::config::bytes;

/// The flags of the history and its log.
#[derive(Args)]
#[command(next_help_heading = "History")]
pub(crate) struct HistoryArgs {
    /// Do not record calls; GET /history is disabled
    #[arg(long, env = "TRUNKLINE_NO_HISTORY", value_parser = BoolishValueParser::new())]
    no_history: bool,
    /// Maximum calls in the history
    ///
    /// The newest calls are kept in memory with their requests and responses. Secrets are redacted.
    #[arg(
        long,
        value_name = "CALLS",
        default_value_t = 1_000,
        env = "TRUNKLINE_HISTORY_ENTRIES",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000_000)
    )]
    history_entries: usize,
    /// Maximum memory of the history in bytes
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 8 << 20,
        env = "TRUNKLINE_HISTORY_BYTES",
        value_parser = bytes::<usize>(1..=1 << 40)
    )]
    history_bytes: usize,
    /// Serve the history as MCP resources, too
    ///
    /// `history://recent`, the last calls, and `history://call/NUMBER`. The callers that may read GET /history can read
    /// them.
    #[arg(long, env = "TRUNKLINE_HISTORY_RESOURCES", value_parser = BoolishValueParser::new())]
    pub(crate) history_resources: bool,
    /// Additional name of values to redact, like `iban`
    ///
    /// The name of a member of a JSON object. Repeatable or comma-separated.
    #[arg(long, value_name = "NAME", env = "TRUNKLINE_HISTORY_REDACT", value_delimiter = ',')]
    history_redact: Vec<String>,
    /// Also write the history to log files; GET /logs lists them
    ///
    /// The files are in the folder `logs` of the data directory.
    #[arg(long, env = "TRUNKLINE_LOG", value_parser = BoolishValueParser::new())]
    log: bool,
    /// Maximum size of all log files in bytes
    ///
    /// The oldest files are deleted. Requires --log.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 64 << 20,
        env = "TRUNKLINE_LOG_BYTES",
        requires = "log",
        value_parser = bytes::<u64>(65_536..=1 << 50)
    )]
    log_bytes: u64,
}

/// The history, its log, and the callers that may read them.
#[derive(Clone)]
pub(crate) struct Recorder {
    history: History,
    /// Maximum entries in memory.
    pub(crate) entries: usize,
    log: Option<Log>,
    /// The folder of the log files, if they are written.
    pub(crate) folder: Option<PathBuf>,
    /// The reason why the log could not be opened.
    problem: Option<String>,
    readers: Readers,
}

impl HistoryArgs {
    /// The history, if it is enabled.
    pub(crate) fn history(&self) -> anyhow::Result<Option<History>> {
        ensure!(
            !(self.no_history && self.log),
            "--log cannot be used with --no-history: remove one of them"
        );
        ensure!(
            !(self.no_history && self.history_resources),
            "--history-resources cannot be used with --no-history: remove one of them"
        );
        let redact = self.redaction();
        let (entries, bytes) = (self.history_entries, self.history_bytes);
        let settings = HistoryConfig { entries, bytes, redact, ..HistoryConfig::default() };
        Ok((!self.no_history).then(|| History::new(settings)))
    }

    /// The default redaction, and the additional names.
    pub(super) fn redaction(&self) -> Redaction {
        entries(&self.history_redact).fold(Redaction::default(), Redaction::name)
    }

    /// A recorder into a history, with its log.
    pub(crate) fn recorder(
        &self,
        history: History,
        data: &Path,
        readers: Readers,
    ) -> anyhow::Result<Recorder> {
        let entries = self.history_entries;
        let mut recorder =
            Recorder { history, entries, log: None, folder: None, problem: None, readers };
        if self.log {
            let folder = data.join("logs");
            match self.open_log(&recorder.history, &folder) {
                Ok(log) => (recorder.log, recorder.folder) = (Some(log), Some(folder)),
                Err(LogError::Folder { folder, source }) => {
                    let folder = folder.display();
                    tracing::error!(error = %source, %folder, "no log is written; free the disk, give another directory with --data-dir, or start without --log");
                    recorder.problem = Some(source.to_string());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(recorder)
    }

    fn open_log(&self, history: &History, folder: &Path) -> Result<Log, LogError> {
        let defaults = LogConfig::default();
        // Several files, so that only a part of the calls is deleted at once.
        let file_bytes = defaults.file_bytes.min(self.log_bytes.div_ceil(8));
        let settings = LogConfig { file_bytes, total_bytes: self.log_bytes, ..defaults };
        Log::open(folder, history, settings)
    }
}

impl Recorder {
    /// The reason why the last entries are not in the log.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.clone().or_else(|| self.log.as_ref()?.problem())
    }

    /// Adds the routes of the history. Streams end when `closing` is cancelled.
    pub(crate) fn show(
        &self,
        service: HttpService,
        closing: &CancellationToken,
        console: Option<&ConsoleSetup>,
    ) -> HttpService {
        let (readers, closing) = (self.readers.clone(), closing.clone());
        let settings = endpoint::HistoryRoutesConfig {
            readers,
            closing,
            ..endpoint::HistoryRoutesConfig::default()
        };
        let routes = endpoint::routes(&self.history, settings);
        let service = merged_with_data(service, routes, console);
        match &self.log {
            Some(log) => service.merge(endpoint::log_routes(log, self.readers.clone())),
            None => service,
        }
    }

    /// The history, for the console.
    pub(crate) fn access(&self) -> HistoryAccess {
        HistoryAccess { history: self.history.clone(), readers: self.readers.clone() }
    }

    /// Writes the remaining entries, for at most `timeout`. Blocks.
    pub(crate) fn close(&self, timeout: Duration) {
        if let Some(log) = &self.log
            && !log.close(timeout)
        {
            tracing::warn!("the last entries of the log were not written in time");
        }
    }
}

//! The user and the password of new connections, which are read again if they come from files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::error::ConnectError;
use crate::pgpass;
use crate::url::PostgresUrl;

/// The configuration of the driver, and the files of its user and password. Clones share them.
#[derive(Clone)]
pub(crate) struct Credentials(Arc<Inner>);

struct Inner {
    /// The URL, if it is read again.
    url: Option<PostgresUrl>,
    /// The password file, if the URL and the environment have no password.
    password_file: Option<PathBuf>,
    hosts: Vec<(Host, u16)>,
    /// The configuration with the user and the password of the last URL that could be read.
    config: Mutex<Config>,
    /// The configurations of the last connections that were opened, by host.
    used: Mutex<HashMap<usize, Config>>,
    /// The last problem, which is logged once.
    problem: Mutex<Option<String>>,
}

impl Credentials {
    /// The credentials of a URL, whose completed configuration this is.
    ///
    /// # Errors
    /// If the password file is invalid.
    pub(crate) fn new(
        url: &PostgresUrl,
        config: Config,
        hosts: &[(Host, u16)],
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConnectError> {
        let has_password = config.get_password().is_some();
        let credentials = Self(Arc::new(Inner {
            url: url.has_source().then(|| url.clone()),
            password_file: match has_password {
                true => None,
                false => url.password_file.clone().or_else(|| pgpass::path(variable)),
            },
            hosts: hosts.to_owned(),
            config: Mutex::new(config),
            used: Mutex::default(),
            problem: Mutex::default(),
        }));
        credentials.note(0, credentials.0.with_password(0)?);
        Ok(credentials)
    }

    /// Notes that a connection was opened with a configuration, which is used again if the files cannot be read.
    pub(crate) fn note(&self, host: usize, config: Config) {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner).insert(host, config);
    }

    /// The configuration for a new connection to a host.
    pub(crate) async fn read(&self, host: usize) -> Config {
        let inner = Arc::clone(&self.0);
        if inner.url.is_none() && inner.password_file.is_none() {
            return inner.known();
        }
        let read = tokio::task::spawn_blocking(move || inner.read(host));
        // It fails only when the runtime stops.
        read.await.unwrap_or_else(|_| self.0.known())
    }
}

impl Inner {
    /// Reads the files. Blocks.
    fn read(&self, host: usize) -> Config {
        let config = self.update().and_then(|()| self.with_password(host));
        let problem = config.as_ref().err().map(ToString::to_string);
        let mut known = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != problem {
            if let Some(reason) = &problem {
                tracing::warn!(
                    reason,
                    "cannot read the user and the password of PostgreSQL again; the previous ones are used"
                );
            }
            *known = problem;
        }
        config.unwrap_or_else(|_| {
            let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.get(&host).cloned().unwrap_or_else(|| self.known())
        })
    }

    /// Takes the user and the password from the URL, if it has changed.
    fn update(&self) -> Result<(), ConnectError> {
        let Some((previous, read)) =
            self.url.as_ref().and_then(|url| Some((url, url.read_again()?)))
        else {
            return Ok(());
        };
        let url = read?;
        if url.without_credentials() != previous.without_credentials() {
            let reason =
                "another part than the user and the password has changed, which requires a restart";
            return Err(ConnectError::Url { reason: reason.to_owned() });
        }
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        // Others are those of the environment.
        if let Some(user) = url.config.get_user() {
            config.user(user);
        }
        if let Some(password) = url.config.get_password() {
            config.password(password);
        }
        Ok(())
    }

    /// The configuration with the password of the file, unless it has one.
    fn with_password(&self, host: usize) -> Result<Config, ConnectError> {
        let mut config = self.known();
        if config.get_password().is_none()
            && let (Some(path), Some(host)) = (&self.password_file, self.hosts.get(host))
            && let Some(password) = pgpass::find(path, &config, host)?
        {
            config.password(password);
        }
        Ok(config)
    }

    fn known(&self) -> Config {
        self.config.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

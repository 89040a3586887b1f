//! The parameter `target_session_attrs`: the servers among several hosts that are used.

use std::str::FromStr;

use tokio_postgres::{Client, Error, SimpleQueryMessage};

/// The servers whose connections are used, with the meaning of PostgreSQL's own clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TargetSession {
    #[default]
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    /// A standby if one of the hosts is one.
    PreferStandby,
}

/// The state of a server.
struct ServerState {
    is_standby: bool,
    is_read_only: bool,
}

impl FromStr for TargetSession {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "any" => Self::Any,
            "read-write" => Self::ReadWrite,
            "read-only" => Self::ReadOnly,
            "primary" => Self::Primary,
            "standby" => Self::Standby,
            "prefer-standby" => Self::PreferStandby,
            _ => {
                return Err(
                    "expected any, read-write, read-only, primary, standby or prefer-standby",
                );
            }
        })
    }
}

impl TargetSession {
    /// The targets to look for, sequentially.
    pub(crate) fn passes(self) -> &'static [Self] {
        match self {
            Self::Any => &[Self::Any],
            Self::ReadWrite => &[Self::ReadWrite],
            Self::ReadOnly => &[Self::ReadOnly],
            Self::Primary => &[Self::Primary],
            Self::Standby => &[Self::Standby],
            Self::PreferStandby => &[Self::Standby, Self::Any],
        }
    }

    /// Returns the reason why the server of a connection is not used, if there is one.
    pub(crate) async fn refusal(self, client: &Client) -> Result<Option<&'static str>, Error> {
        if self == Self::Any {
            return Ok(None);
        }
        let ServerState { is_standby, is_read_only } = ServerState::of(client).await?;
        Ok(match self {
            Self::ReadWrite if is_read_only => {
                Some("the server is read-only, but `target_session_attrs` is read-write")
            }
            Self::ReadOnly if !is_read_only => {
                Some("the server is not read-only, but `target_session_attrs` is read-only")
            }
            Self::Primary if is_standby => {
                Some("the server is a standby, but `target_session_attrs` is primary")
            }
            Self::Standby if !is_standby => {
                Some("the server is not a standby, but `target_session_attrs` is standby")
            }
            _ => None,
        })
    }
}

impl ServerState {
    async fn of(client: &Client) -> Result<Self, Error> {
        const QUERY: &str = "SELECT pg_catalog.pg_is_in_recovery(), \
                             pg_catalog.current_setting('default_transaction_read_only')";
        let messages = client.simple_query(QUERY).await?;
        let row = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some((row.get(0), row.get(1))),
            _ => None,
        });
        let (recovery, setting) = row.unwrap_or_default();
        let is_standby = recovery == Some("t");
        Ok(Self { is_standby, is_read_only: is_standby || setting == Some("on") })
    }
}

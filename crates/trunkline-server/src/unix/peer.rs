use tokio::net::UnixStream;

/// The process at the other end of a connection, as the system knows it. Handlers get it as
/// `Extension<Peer>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The process, where the system tells.
    pub pid: Option<i32>,
}

impl Peer {
    /// None if the system does not tell.
    pub(super) fn of(stream: &UnixStream) -> Option<Self> {
        let known = stream.peer_cred().ok()?;
        Some(Self { uid: known.uid(), gid: known.gid(), pid: known.pid() })
    }
}

//! Notifications of the service manager, such as systemd with `Type=notify`.

use sd_notify::NotifyState;

/// Notifies that the server accepts connections.
pub(super) fn ready(address: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(&format!("listening on {address}"))]);
}

/// Notifies that the configuration is read again.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "cannot read the monotonic clock"),
    }
}

/// Notifies that the reload has ended.
pub(super) fn reloaded() {
    send(&[NotifyState::Ready]);
}

/// Notifies that the server finishes its calls and ends.
pub(super) fn stopping() {
    send(&[NotifyState::Stopping, NotifyState::Status("finishing calls")]);
}

/// Does nothing if NOTIFY_SOCKET is not set.
fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot notify the service manager of NOTIFY_SOCKET");
    }
}

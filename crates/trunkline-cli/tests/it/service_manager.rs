//! Notifications of the service manager (NOTIFY_SOCKET).

#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::unix::net::SocketAddr;
use std::os::unix::net::UnixDatagram;

use crate::support::{PATIENCE, Server, tpch, trunkline};

/// The server of a database, with this value of NOTIFY_SOCKET.
fn start(database: &std::path::Path, socket: &std::ffi::OsStr) -> Server {
    let mut command = trunkline(database.parent().unwrap());
    command.args(["--port", "0", "--db"]).arg(database).env("NOTIFY_SOCKET", socket);
    Server::start(command)
}

/// The notifications of a server, which this socket receives.
#[track_caller]
fn check(manager: &UnixDatagram, database: &std::path::Path, socket: &std::ffi::OsStr) {
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let receive = || {
        let mut message = [0; 512];
        let length = manager.recv(&mut message).unwrap();
        String::from_utf8(message[..length].to_vec()).unwrap()
    };
    let server = start(database, socket);
    assert_eq!(receive(), format!("READY=1\nSTATUS=listening on {}\n", server.address));
    server.signal("HUP");
    let reloading = receive();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(receive(), "READY=1\n");
    server.signal("TERM");
    assert_eq!(receive(), "STOPPING=1\nSTATUS=finishing calls\n");
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn a_service_manager_is_notified_of_the_start_and_the_end() {
    let (folder, path) = tpch();
    let socket = folder.path().join("notify");
    check(&UnixDatagram::bind(&socket).unwrap(), &path, socket.as_os_str());
}

/// The socket of a container may have an abstract address, which is written with an `@`.
#[cfg(target_os = "linux")]
#[test]
fn the_socket_of_a_service_manager_may_be_abstract() {
    let (_folder, path) = tpch();
    let name = format!("trunkline-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    check(&UnixDatagram::bind_addr(&address).unwrap(), &path, format!("@{name}").as_ref());
}

/// With `WatchdogSec=`, the service manager ends a service that does not notify it in time.
#[test]
fn a_service_manager_is_notified_that_the_server_works() {
    let (folder, path) = tpch();
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    for (variables, expected) in [
        (&[("WATCHDOG_USEC", "200000")][..], true),
        (&[("WATCHDOG_USEC", "200000"), ("WATCHDOG_PID", "")], true),
        (&[("WATCHDOG_USEC", "200000"), ("WATCHDOG_PID", "1")], false),
        (&[("WATCHDOG_USEC", "0")], false),
        (&[("WATCHDOG_USEC", "soon")], false),
        (&[], false),
    ] {
        let mut command = trunkline(folder.path());
        command.args(["--port", "0", "--db"]).arg(&path).env("NOTIFY_SOCKET", &socket);
        command.envs(variables.iter().copied());
        let server = Server::start(command);
        let mut found = 0;
        let mut state = String::new();
        while !state.starts_with("STOPPING=1") {
            let mut message = [0; 512];
            let length = manager.recv(&mut message).unwrap();
            state = String::from_utf8(message[..length].to_vec()).unwrap();
            found += usize::from(state == "WATCHDOG=1\n");
            if found == 3 || state.starts_with("READY=1") && !expected {
                server.signal("TERM");
            }
        }
        assert_eq!(found > 0, expected, "{variables:?}: {found}");
        assert_eq!(server.end().code, Some(0));
    }
}

/// The warning, with the address and the reason; or none.
#[track_caller]
fn check_warning(socket: &std::ffi::OsStr, expected: Option<&str>) {
    let (_folder, path) = tpch();
    let ended = start(&path, socket).stop();
    assert_eq!(ended.code, Some(0), "{socket:?}: {ended:?}");
    let mut warnings = ended.stderr.lines().filter(|line| {
        line.contains("cannot notify the service manager of NOTIFY_SOCKET")
            && line.contains(&*socket.to_string_lossy())
    });
    match expected {
        Some(reason) => {
            assert!(warnings.any(|line| line.contains(reason)), "{socket:?}: {}", ended.stderr);
        }
        None => assert_eq!(warnings.next(), None, "{socket:?}"),
    }
}

/// The forms of sd_notify(3) that have no receiver.
#[test]
fn a_service_manager_that_cannot_be_notified_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    check_warning(folder.path().join("missing").as_os_str(), Some("No such file"));
    check_warning("@trunkline-test-missing".as_ref(), Some("refused"));
    for unsupported in ["vsock:2:1234", "vsock-dgram:2:1234", "vsock-seqpacket:2:1", "notify"] {
        check_warning(unsupported.as_ref(), Some("unsupported address: expected the path"));
    }
    check_warning("".as_ref(), None);
}

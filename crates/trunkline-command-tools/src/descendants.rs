//! The processes that this process has started, directly and indirectly.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, wait, waitid,
};

/// The maximum wait for killed processes to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(4);

/// Makes this process the parent of orphaned descendants, so that they can be ended with it. Does nothing
/// on systems other than Linux.
///
/// # Errors
/// When the system refuses it.
pub fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Waits until a child has ended, without taking its status. Meanwhile, takes the status of every other child that ends:
/// orphans that this process has [adopted](adopt_orphans), which are zombies until then. Blocks. Call it in a process that
/// has no other use for its children.
pub fn wait_for_child(child: u32) {
    let Some(child) = pid(child) else { return };
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::All, ended) {
            Err(Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        match waitid(WaitId::Pid(child), ended | WaitIdOptions::NOHANG) {
            Ok(None) | Err(Errno::INTR) => {}
            Ok(Some(_)) | Err(_) => return,
        }
        if !take_orphans(child) {
            // They cannot be found without `/proc`.
            while let Err(Errno::INTR) = waitid(WaitId::Pid(child), ended) {}
            return;
        }
    }
}

/// Takes the status of all children that have ended, except for one. Returns whether there were any.
fn take_orphans(except: Pid) -> bool {
    let own = process::id();
    let mut taken = false;
    for number in processes() {
        let Some(Stat { state: 'Z', parent }) = stat_of(number) else { continue };
        if parent == own
            && let Some(orphan) = pid(number).filter(|orphan| *orphan != except)
        {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            taken |= matches!(waitid(WaitId::Pid(orphan), options), Ok(Some(_)));
        }
    }
    taken
}

/// Kills all descendants of this process, in any process group, until none are left. Blocks. Takes the status of all
/// children, so call it in a process that has no further use for them.
pub(crate) fn end_descendants() {
    let until = Instant::now() + KILL_TIMEOUT;
    while has_children() && Instant::now() < until {
        for (process, parent) in descendants() {
            // Its parent may have taken its status. An orphan has another parent, and is found again.
            kill_if(process, || parent_of(process) == Some(parent));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether there are children. Takes the status of those that have ended.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Kills a process that is not a child of this one, so that its id may belong to another process by now. The condition
/// is checked while a descriptor of the process is open: if it holds, the descriptor is of the process that it holds
/// for, or of one that has ended.
pub(crate) fn kill_if(process: u32, condition: impl Fn() -> bool) {
    let Some(process) = pid(process) else { return };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        match pidfd_open(process, PidfdFlags::empty()) {
            Ok(opened) => {
                if condition() {
                    let _ = pidfd_send_signal(opened, Signal::KILL);
                }
                return;
            }
            // It has ended.
            Err(Errno::SRCH) => return,
            // Before Linux 5.3, or without a free descriptor.
            Err(_) => {}
        }
    }
    if condition() {
        let _ = kill_process(process, Signal::KILL);
    }
}

/// All direct and indirect children of this process, with their parents.
fn descendants() -> Vec<(u32, u32)> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for number in processes() {
        if let Some(parent) = parent_of(number) {
            children.entry(parent).or_default().push(number);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![process::id()];
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.push((child, parent));
            parents.push(child);
        }
    }
    found
}

/// The ids of all processes.
fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent_of(process: u32) -> Option<u32> {
    stat_of(process).map(|stat| stat.parent)
}

/// The state of a process: `Z` is one whose status was not taken.
struct Stat {
    state: char,
    parent: u32,
}

/// Parses `/proc/*/stat`: `12 (name, which may have spaces) S 11 …`.
fn stat_of(process: u32) -> Option<Stat> {
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some(Stat { state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
}

fn pid(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().and_then(Pid::from_raw)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use super::*;

    /// A process whose id was that of a descendant is not signalled.
    #[test]
    fn only_children_of_the_parent_are_killed() {
        for (parent, expected) in [(1, None), (process::id(), Some(9))] {
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            kill_if(child.id(), || parent_of(child.id()) == Some(parent));
            // Without a signal, it ends with its stdin.
            drop(child.stdin.take());
            assert_eq!(child.wait().unwrap().signal(), expected);
        }
    }
}

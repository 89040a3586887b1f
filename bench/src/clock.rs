//! CPU time. Unlike a wall clock it stands still while others have the core.

use std::time::Duration;

/// What this thread ran for.
pub fn thread_cpu_time() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// What all threads ran for, in the system's name too.
pub fn process_cpu_time() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that is ours, and the call only writes there.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(failed, 0, "Linux has a CPU clock for each thread and process");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

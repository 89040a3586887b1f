//! CPU time, which does not include time in which other processes run.

use std::time::Duration;

/// CPU time of this thread.
pub fn thread_cpu_time() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads, including system time.
pub fn process_cpu_time() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local timespec, and the call only writes to it.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(failed, 0, "Linux has a CPU clock for each thread and process");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

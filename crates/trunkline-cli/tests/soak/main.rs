//! Attacks on the memory of a server, which take the whole machine: `cargo xtask soak`.
//!
//! `SOAK_BINARY` names another binary to measure than the one that was built.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "the figures of each attack are the result")]

mod attack;
mod health;
mod target;

use std::time::{Duration, Instant};

use attack::Attack;
use target::Target;

/// The memory budget of the servers under attack.
const BUDGET: usize = 256 << 20;
/// The memory that a server may take in addition to its budget: the program, its caches, its connections.
const FIXED: usize = 128 << 20;
/// The memory that a server may keep when its clients have gone.
const SETTLED: usize = 160 << 20;
/// How long `/health` may take meanwhile, in 99 of 100 cases.
const HEALTH: Duration = Duration::from_millis(50);
/// How long an attack goes on when it has been set up.
const HOLD: Duration = Duration::from_secs(10);

/// Runs an attack, prints its figures, and returns the bounds that it broke.
fn check(name: &str, attack: Attack) -> Vec<String> {
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let target = Target::start(BUDGET);
    let begun = target.memory();
    let prober = health::Prober::start(target.address);
    let attackers = attack::run(attack, target.address, HOLD);
    let latencies = prober.stop();
    let peak = target.peak();
    drop(attackers);
    let settled = target.settled(SETTLED, Duration::from_secs(45));
    let [median, p99, max] = [0.5, 0.99, 1.0].map(|share| health::quantile(&latencies, share));
    println!(
        "{name}: {begun} MiB at the start, {peak} MiB at the peak, {settled} MiB at the end; /health p50 \
         {median:?}, p99 {p99:?}, max {max:?} ({count} requests)",
        begun = begun >> 20,
        peak = peak >> 20,
        settled = settled >> 20,
        count = latencies.len(),
    );
    let bounds = [
        (peak <= BUDGET + FIXED, format!("{name}: {} MiB at the peak", peak >> 20)),
        (settled <= SETTLED, format!("{name}: {} MiB at the end", settled >> 20)),
        (latencies.len() >= 100, format!("{name}: /health answered {} times", latencies.len())),
        (p99 <= HEALTH, format!("{name}: /health took {p99:?}")),
    ];
    bounds.into_iter().filter(|(is_met, _)| !is_met).map(|(_, broken)| broken).collect()
}

/// Sequentially: each attack takes the whole machine.
#[test]
fn memory_is_bounded() {
    let begun = Instant::now();
    let attacks = [
        ("1,000 batches over HTTP/1.1", Attack::Batches { connections: 1_000 }),
        ("256 batches over HTTP/2", Attack::Http2Batches { connections: 2, streams: 128 }),
        ("64 stalled HTTP+SSE clients", Attack::Sse { clients: 64, calls: 60 }),
        ("4,000 bodies without their last byte", Attack::Bodies { connections: 4_000 }),
    ];
    let broken: Vec<String> =
        attacks.into_iter().flat_map(|(name, attack)| check(name, attack)).collect();
    println!("took {:?}", begun.elapsed());
    assert_eq!(broken, [""; 0]);
}

//! `cargo xtask stress`: runs the tests repeatedly next to busy loops, to find those that fail sometimes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Failure, command, execute};
use crate::workspace::{self, Workspace};

const USAGE: &str = "usage: cargo xtask stress [--rounds N] [--restart] [--test FILTER]

  --rounds N     number of rounds in total [default: 10]
  --restart      discard the rounds of an earlier run; without it, a run of the same sources is continued
  --test FILTER  only tests whose name contains this

The results, with the output of each failure, are in target/stress/COMMIT.";

const BUSY_LOOPS: usize = 2;

struct Options {
    rounds: usize,
    restart: bool,
    filter: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Round {
    wall: f64,
    cpu: f64,
    passed: usize,
    failures: Vec<Failure>,
}

pub(crate) fn run_with(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return Ok(());
    }
    let options = Options::parse(arguments)?;
    let folder = Path::new("target/stress").join(sources(workspace)? + &options.filter.concat());
    let folder =
        if options.restart { workspace.fresh_folder(folder)? } else { workspace.path(folder) };
    std::fs::create_dir_all(&folder)?;
    workspace::run(&mut workspace.cargo(["test", "--workspace", "--no-run"]))?;
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        let file = folder.join(format!("round-{number}.json"));
        let known = std::fs::read_to_string(&file).ok();
        let round = match known.and_then(|text| serde_json::from_str(&text).ok()) {
            Some(round) => round,
            None => {
                println!("\n== round {number} of {}", options.rounds);
                let round = Round::run(workspace, &options)?;
                write_outputs(&file.with_extension("txt"), &round.failures)?;
                // Last, since a round is complete if this file exists.
                std::fs::write(&file, serde_json::to_string(&round)?)?;
                round
            }
        };
        rounds.push(round);
    }
    println!("\n{}\nresults: {}", table(&rounds), folder.display());
    let failed = rounds.iter().filter(|round| !round.failures.is_empty()).count();
    ensure!(failed == 0, "{failed} of {} rounds have failures", rounds.len());
    Ok(())
}

/// The commit, with a hash of what has changed since.
fn sources(workspace: &Workspace) -> Result<String> {
    let git = |arguments: [&str; 2]| workspace::output(workspace.command("git").args(arguments));
    let commit = git(["rev-parse", "HEAD"])?;
    let changes = git(["diff", "HEAD"])?;
    let mut hasher = DefaultHasher::new();
    changes.hash(&mut hasher);
    let suffix = if changes.is_empty() { String::new() } else { format!("-{:x}", hasher.finish()) };
    Ok(format!("{commit:.12}{suffix}"))
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { rounds: 10, restart: false, filter: Vec::new() };
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            match argument {
                "--restart" => options.restart = true,
                "--test" => options.filter.extend(arguments.next().map(str::to_owned)),
                "--rounds" => {
                    let number = arguments.next().and_then(|number| number.parse().ok());
                    options.rounds =
                        number.with_context(|| format!("--rounds needs a number\n\n{USAGE}"))?;
                }
                _ => anyhow::bail!("invalid argument `{argument}`\n\n{USAGE}"),
            }
        }
        Ok(options)
    }
}

impl Round {
    fn run(workspace: &Workspace, options: &Options) -> Result<Self> {
        let filter: Vec<&str> = options.filter.iter().map(String::as_str).collect();
        let (start, cpu) = (Instant::now(), cpu_of_children()?);
        let run = with_busy_loops(|| execute(&mut command(workspace, &[], &filter)))?;
        Ok(Self {
            wall: start.elapsed().as_secs_f64(),
            cpu: (cpu_of_children()? - cpu).as_secs_f64(),
            passed: run.passed.len(),
            failures: run.failures,
        })
    }
}

fn with_busy_loops<T>(work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..BUSY_LOOPS {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        let result = work();
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

/// The CPU time of processes that have ended, without that of the busy loops.
fn cpu_of_children() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("stress requires Linux")?;
    ticks_of_children(&stat)
        .map(|ticks| Duration::from_millis(ticks * 10))
        .context("/proc/self/stat has an unknown format")
}

/// The fields `cutime` and `cstime`, in hundredths of a second. The name, the second field, may contain spaces.
fn ticks_of_children(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(13);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

fn write_outputs(file: &Path, failures: &[Failure]) -> Result<()> {
    let outputs = failures.iter().map(|failure| format!("{failure}\n{}\n\n", failure.output));
    std::fs::write(file, outputs.collect::<String>())
        .with_context(|| format!("cannot write {}", file.display()))
}

fn table(rounds: &[Round]) -> String {
    let mut table = String::from("round   wall, s    CPU, s    passed    failed\n");
    let mut tests = BTreeMap::<String, Vec<String>>::new();
    for (number, round) in (1..).zip(rounds) {
        let Round { wall, cpu, passed, failures } = round;
        let failed = failures.len();
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{number:>5} {wall:>9.0} {cpu:>9.0} {passed:>9} {failed:>9}");
        for Failure { target, test, .. } in failures {
            let name = test.as_deref().unwrap_or("(not a test)");
            tests.entry(format!("{name} (`{target}`)")).or_default().push(number.to_string());
        }
    }
    for (name, numbers) in tests {
        let _ = writeln!(table, "{name}: failed in round {}", numbers.join(", "));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times_are_read_after_the_name() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194304 9 9 0 0 50 60 700 80 20 0 1 0 42";
        assert_eq!(ticks_of_children(stat), Some(780));
        assert_eq!(ticks_of_children("7 (a) S 1"), None);
    }

    #[test]
    fn the_table_lists_the_rounds_of_each_failure() {
        let failure = |test: Option<&str>| Failure {
            target: "-p a --lib".to_owned(),
            test: test.map(str::to_owned),
            output: String::new(),
        };
        let round = |failures| Round { wall: 61.4, cpu: 100.0, passed: 5, failures };
        let rounds =
            [round(vec![failure(Some("b::c"))]), round(vec![]), round(vec![failure(Some("b::c"))])];
        let expected = "\
            round   wall, s    CPU, s    passed    failed\n    \
                1        61       100         5         1\n    \
                2        61       100         5         0\n    \
                3        61       100         5         1\n\
            b::c (`-p a --lib`): failed in round 1, 3\n";
        assert_eq!(table(&rounds), expected);
    }
}

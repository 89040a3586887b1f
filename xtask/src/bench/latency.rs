//! Requests per second and latency of a single call, at several numbers of connections.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::contender::{Case, Contender};
use super::goals::Verdict;
use super::load::{self, Post};
use super::probe;
use super::server::Server;
use super::spread::Spread;
use crate::workspace::Workspace;

const SERVERS: [Contender; 3] = [Contender::Ours, Contender::PeerJsonrpsee, Contender::AxumSerde];
const CONNECTIONS: [u32; 3] = [1, 16, 256];

/// One server under one load, once.
pub(super) struct Sample {
    server: Contender,
    connections: u32,
    requests_per_second: f64,
    p50_micros: f64,
    p99_micros: f64,
}

/// All servers run, but only one has load at a time, so that measurements with the same load follow each other.
pub(super) fn round(workspace: &Workspace, binaries: &Path, seconds: u32) -> Result<Vec<Sample>> {
    let start = |contender| Ok((contender, Server::start(binaries, contender)?));
    let servers = SERVERS.into_iter().map(start).collect::<Result<Vec<_>>>()?;
    let mut samples = Vec::new();
    for connections in CONNECTIONS {
        for (contender, server) in &servers {
            probe::check(workspace, server, Case::Single)?;
            let post = Post {
                url: format!("http://{}{}", server.address, Case::Single.path()),
                body_file: Case::Single.body_file(),
                headers: Case::Single.headers(),
                connections,
                seconds,
            };
            let load = load::post(workspace, &post);
            let load =
                load.with_context(|| format!("{}, {connections} connections", contender.binary()))?;
            samples.push(Sample {
                server: *contender,
                connections,
                requests_per_second: load.requests as f64 * 1e6 / load.micros as f64,
                p50_micros: load.latency_p50_us,
                p99_micros: load.latency_p99_us,
            });
        }
    }
    Ok(samples)
}

/// Ratios of requests per second, for information.
///
/// # Panics
/// If `rounds` is empty.
pub(super) fn verdicts(rounds: &[Vec<Sample>]) -> Vec<Verdict> {
    let verdict = |connections: u32, over: Contender| {
        let ratios = rounds.iter().filter_map(|round| {
            let rate = |server| {
                let of = |s: &&Sample| s.server == server && s.connections == connections;
                round.iter().find(of).map(|sample| sample.requests_per_second)
            };
            Some(rate(Contender::Ours)? / rate(over)?)
        });
        let what = format!("requests/s, connections: {connections}, ours / {}", over.binary());
        Verdict::of(what, Spread::of(ratios), None)
    };
    let peers = SERVERS.into_iter().filter(|&server| server != Contender::Ours);
    peers.flat_map(|peer| CONNECTIONS.map(|connections| verdict(connections, peer))).collect()
}

#[derive(Serialize)]
pub(super) struct Report(Vec<Row>);

#[derive(Serialize)]
struct Row {
    server: Contender,
    connections: u32,
    requests_per_second: Spread,
    p50_micros: Spread,
    p99_micros: Spread,
}

impl Report {
    /// # Panics
    /// If `rounds` is empty.
    pub(super) fn of(rounds: &[Vec<Sample>]) -> Self {
        let row = |connections, server| {
            let of = move |s: &&Sample| s.server == server && s.connections == connections;
            let spread = |figure: fn(&Sample) -> f64| {
                Spread::of(rounds.iter().flatten().filter(of).map(figure))
            };
            Row {
                server,
                connections,
                requests_per_second: spread(|sample| sample.requests_per_second),
                p50_micros: spread(|sample| sample.p50_micros),
                p99_micros: spread(|sample| sample.p99_micros),
            }
        };
        let rows =
            CONNECTIONS.into_iter().flat_map(|count| SERVERS.map(|server| row(count, server)));
        Self(rows.collect())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for connections in CONNECTIONS {
            let title = format!("single call, connections: {connections}");
            let (rate, p50, p99) = ("requests/s", "p50 us", "p99 us");
            writeln!(f, "\n{title:<36} {rate:>26} {p50:>22} {p99:>22}")?;
            for row in self.0.iter().filter(|row| row.connections == connections) {
                writeln!(
                    f,
                    "  {:<34} {:>26} {:>22} {:>22}",
                    row.server.about(),
                    row.requests_per_second.show(0),
                    row.p50_micros.show(0),
                    row.p99_micros.show(0)
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round with this number of requests per second for ours, and 100 for the others.
    fn round(ours: f64) -> Vec<Sample> {
        let sample = |connections, server| Sample {
            server,
            connections,
            requests_per_second: if server == Contender::Ours { ours } else { 100.0 },
            p50_micros: 10.0 * f64::from(connections),
            p99_micros: 20.0 * f64::from(connections),
        };
        CONNECTIONS
            .into_iter()
            .flat_map(|count| SERVERS.map(|server| sample(count, server)))
            .collect()
    }

    #[test]
    fn ratios_are_of_the_same_round_and_have_no_goal() {
        let verdicts = verdicts(&[round(50.0), round(110.0), round(120.0)]);
        assert_eq!(verdicts.len(), 6);
        assert_eq!(verdicts[0].what, "requests/s, connections: 1, ours / peer_jsonrpsee");
        for verdict in verdicts {
            assert_eq!((verdict.measured.median, verdict.reached), (1.1, None), "{}", verdict.what);
        }
    }

    #[test]
    fn each_number_of_connections_has_a_row_per_server() {
        let Report(rows) = Report::of(&[round(50.0), round(60.0)]);
        let rows: Vec<(u32, Contender, f64)> =
            rows.iter().map(|row| (row.connections, row.server, row.p99_micros.median)).collect();
        let expected = CONNECTIONS
            .into_iter()
            .flat_map(|count| SERVERS.map(|server| (count, server, 20.0 * f64::from(count))));
        assert_eq!(rows, expected.collect::<Vec<_>>());
    }
}

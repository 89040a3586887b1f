//! The cost of each optional layer for one call in process: the call of `dispatch`, through `Rpc::handle`.
//!
//! Prints the figures of one round, in which the rows alternate several times. The first row of a group is the baseline of
//! the others.

mod call_layers;
mod http_layers;
mod turn;

use anyhow::Result;
use trunkline_bench::cost::{Cost, Counting};
use trunkline_bench::{median, print_figure};

/// Number of turns per round.
const TURNS: usize = 10;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut subjects = call_layers::subjects()?;
    subjects.extend(http_layers::subjects()?);
    let mut costs = vec![Vec::new(); subjects.len()];
    for _ in 0..TURNS {
        for (subject, costs) in subjects.iter().zip(&mut costs) {
            costs.push((subject.turn)().await?);
        }
    }
    let (mut group, mut baseline) = ("", 0.0);
    for (subject, costs) in subjects.iter().zip(costs) {
        let of = |figure: fn(&Cost) -> f64| median(costs.iter().map(figure));
        let nanos = of(|cost| cost.nanos);
        if group != subject.group {
            (group, baseline) = (subject.group, nanos);
        }
        print_figure(group, subject.what, "ns", nanos);
        // Can be negative because of noise.
        print_figure(group, subject.what, "added ns", nanos - baseline);
        print_figure(group, subject.what, "allocations", of(|cost| cost.allocations));
    }
    Ok(())
}

//! The cost of each optional layer for one call in process: the call of `dispatch`, through `Rpc::handle`.
//!
//! `layers [--json] [--rounds N]`. The first row of a group is the baseline of the others. The rows
//! alternate several times within a round.

mod call_layers;
mod http_layers;
mod turn;

use anyhow::Result;
use serde::Serialize;
use trunkline_bench::cost::{Cost, Counting};
use trunkline_bench::{median, turns};

use turn::{CALLS, Subject};

/// Number of turns per round.
const TURNS: usize = 10;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One subject in one round.
#[derive(Serialize)]
struct Row {
    group: &'static str,
    what: &'static str,
    #[serde(flatten)]
    cost: Cost,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let (json, rounds) = turns()?;
    let mut subjects = call_layers::subjects()?;
    subjects.extend(http_layers::subjects()?);

    let mut measured = Vec::new();
    for _ in 0..rounds {
        measured.push(round(&subjects).await?);
    }
    if json {
        println!("{}", serde_json::to_string(&measured)?);
    } else {
        print(&measured);
    }
    Ok(())
}

async fn round(subjects: &[Subject]) -> Result<Vec<Row>> {
    let mut costs = vec![Vec::new(); subjects.len()];
    for _ in 0..TURNS {
        for (subject, costs) in subjects.iter().zip(&mut costs) {
            costs.push((subject.turn)().await?);
        }
    }
    let row = |(subject, costs): (&Subject, Vec<Cost>)| Row {
        group: subject.group,
        what: subject.what,
        cost: Cost {
            nanos: median(costs.iter().map(|cost| cost.nanos)),
            allocations: median(costs.iter().map(|cost| cost.allocations)),
        },
    };
    Ok(subjects.iter().zip(costs).map(row).collect())
}

fn print(rounds: &[Vec<Row>]) {
    println!("medians of {} rounds of {TURNS} turns of {CALLS} calls", rounds.len());
    let mut shown = None;
    for (index, row) in rounds[0].iter().enumerate() {
        if shown.replace(row.group) != Some(row.group) {
            println!("{}", row.group);
        }
        let of = |figure: fn(&Cost) -> f64| median(rounds.iter().map(|r| figure(&r[index].cost)));
        println!(
            "  {:<28} {:>7.0} ns {:>5.1} allocations",
            row.what,
            of(|cost| cost.nanos),
            of(|cost| cost.allocations)
        );
    }
}

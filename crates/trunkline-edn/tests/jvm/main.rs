//! Comparison with Clojure: both accept the same documents, with the same values and the same JSON, and Clojure reads
//! the output of this crate as the same values.
//!
//! The tests require Clojure and are ignored by default. Run them with `cargo xtask clojure`.

mod case;
mod characters;
mod difference;
mod fixed;
mod grammar;
mod json;
mod mutation;
mod notation;
mod oracle;
mod random;

use case::Case;
use difference::Tally;
use random::Random;

const GENERATED: usize = 10_000;

#[test]
#[ignore = "needs Clojure: cargo xtask clojure"]
fn agrees_on_fixed_documents() {
    let tally = check(fixed::documents());
    println!("fixed documents: {tally}");
    assert!(tally.unseen().is_empty(), "no differences any more: {:?}", tally.unseen());
}

#[test]
#[ignore = "needs Clojure: cargo xtask clojure"]
fn agrees_on_generated_documents() {
    let seed = match std::env::var("EDN_SEED") {
        Ok(seed) => seed.parse().expect("EDN_SEED is an integer"),
        Err(_) => 5,
    };
    println!("EDN_SEED={seed}");
    let mut random = Random::new(seed);
    let tally = check((0..GENERATED).map(|_| generated(&mut random)).collect());
    println!("generated documents: {tally}");
    // Ensures that enough was compared.
    assert!(tally.forms > GENERATED / 2, "too few forms");
    assert!(tally.refusals > GENERATED / 5, "too few refusals");
    assert!(tally.excessive().is_empty(), "too frequent: {:?}", tally.excessive());
}

#[test]
#[ignore = "needs Clojure: cargo xtask clojure"]
fn agrees_on_characters() {
    let tally = check(characters::characters().flat_map(characters::documents).collect());
    println!("characters: {tally}");
}

fn generated(random: &mut Random) -> String {
    match random.below(10) {
        0..=5 => grammar::document(random),
        6 | 7 => {
            let document = grammar::document(random);
            mutation::mutated(random, &document)
        }
        _ => mutation::soup(random),
    }
}

#[track_caller]
fn check(documents: Vec<String>) -> Tally {
    let cases: Vec<Case> = documents.into_iter().map(Case::of).collect();
    let texts = cases.iter().flat_map(Case::texts).collect();
    let mut answers = oracle::ask(texts).into_iter();
    let mut tally = Tally::default();
    let mut disagreements = Vec::new();
    for case in &cases {
        let theirs: Vec<_> = answers.by_ref().take(case.texts().count()).collect();
        if let Err(disagreement) = tally.count(case, &theirs) {
            disagreements.push(format!("{disagreement:?}: {case}\n  Clojure: {theirs:?}"));
        }
    }
    let count = disagreements.len();
    disagreements.truncate(20);
    assert!(count == 0, "{count} disagreements, of which\n{}", disagreements.join("\n"));
    tally
}

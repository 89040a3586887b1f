//! A plan as an indented tree.

use serde::Deserialize;

use super::fence::{fence, fenced};

#[derive(Deserialize)]
struct Plan {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    detail: String,
    rows: Option<f64>,
    cost: Option<f64>,
    #[serde(default)]
    steps: Vec<Step>,
}

pub(super) fn text(result: &str) -> String {
    let Ok(plan) = serde_json::from_str::<Plan>(result) else { return fenced(result) };
    let mut tree = String::new();
    write(&mut tree, &plan.steps, 0);
    let mut text = String::from("The plan; steps within a step come first.\n");
    fence(&mut text, &tree);
    text
}

fn write(tree: &mut String, steps: &[Step], depth: usize) {
    for step in steps {
        tree.push_str(&"  ".repeat(depth));
        // A name in it may contain a line break.
        tree.push_str(&step.detail.replace(['\n', '\r'], " "));
        if let (Some(rows), Some(cost)) = (step.rows, step.cost) {
            tree.push_str(&format!(" (rows {rows}, cost {cost})"));
        }
        tree.push('\n');
        write(tree, &step.steps, depth + 1);
    }
}

//! What is done without a model: words are matched, and what fits best is called if nothing can go wrong.
//!
//! The same message leads to the same call. Only operations that read are called; arguments are only what
//! the message says in so many words.

mod values;
mod words;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::Effect;

use crate::agent::{Capabilities, Capability, Step, StepError};
use crate::cut::cut;
use words::Words;

/// What the words of a message lead to.
pub(crate) struct Plan {
    /// Those that fit, the best one first.
    ranked: Vec<Ranked>,
    arguments: Map<String, Value>,
    /// Why the best is not called.
    obstacle: Option<String>,
}

struct Ranked {
    capability: Arc<Capability>,
    score: f64,
    confidence: f64,
}

/// Less sure than this, nothing is called.
const SURE_ENOUGH: f64 = 0.3;

/// What a word weighs, by where it stands.
const IN_NAME: f64 = 3.0;
const IN_PARAM: f64 = 1.5;
const IN_TEXT: f64 = 1.0;

/// Ranks what there is by the words of a message.
pub(crate) fn plan(message: &str, capabilities: &Capabilities) -> Plan {
    let ranked = rank(message, capabilities);
    let mut plan = Plan { ranked, arguments: Map::new(), obstacle: None };
    let Some(best) = plan.ranked.first() else { return plan };
    let capability = Arc::clone(&best.capability);
    if best.confidence < SURE_ENOUGH {
        plan.obstacle = Some("I am not sure enough that it is what you want".to_owned());
        return plan;
    }
    plan.arguments = values::arguments(message, capability.input());
    let missing = values::missing(&plan.arguments, capability.input());
    let effect = capability.operation().description().effect_of(&plan.arguments);
    if effect != Some(Effect::Reads) {
        plan.obstacle =
            Some("it may do more than read, which I do only when a model decides".to_owned());
    } else if !missing.is_empty() {
        plan.obstacle = Some(format!("it needs {}: say {}=…", missing.join(", "), missing[0]));
    } else if let Err(error) = capability.check(&plan.arguments) {
        plan.obstacle = Some(format!("what you say does not fit it: {error}"));
    }
    plan
}

/// What is answered without a model to a call that was confirmed.
pub(crate) fn confirmed(step: Option<&Step>) -> String {
    let Some(step) = step else { return "Nothing was called.".to_owned() };
    match &step.error {
        Some(error) => {
            format!("I called `{}`, as confirmed. It failed: {}.", step.tool, error.message)
        }
        None => format!("I called `{}`, as confirmed. It is done.", step.tool),
    }
}

impl Plan {
    /// How sure it is that the best is the right one, 0 to 1.
    pub(crate) fn confidence(&self) -> f64 {
        self.ranked.first().map_or(0.0, |best| (best.confidence * 100.0).round() / 100.0)
    }

    /// What is called, if anything is.
    pub(crate) fn call(&self) -> Option<(&Capability, Map<String, Value>)> {
        let best = self.ranked.first().filter(|_| self.obstacle.is_none())?;
        Some((&best.capability, self.arguments.clone()))
    }

    /// What is said of it, and of what came of it.
    pub(crate) fn response(&self, step: Option<&Step>) -> String {
        const NO_MODEL: &str = "No model is configured, so I only match words.";
        const MOST: usize = 3;
        let Some(best) = self.ranked.first() else {
            return format!("{NO_MODEL} Nothing that I can do has a word of your message.");
        };
        let sure = format!("{:.0} % sure", self.confidence() * 100.0);
        let name = best.capability.name();
        match (step, &self.obstacle) {
            (Some(step), _) => {
                let came = match (&step.result, &step.error) {
                    (Some(result), _) => format!(":\n\n{}", indented(result)),
                    (None, Some(error)) => format!(", which failed: {}", told(error)),
                    (None, None) => ".".to_owned(),
                };
                format!("{NO_MODEL} I called `{name}` ({sure}){came}")
            }
            (None, obstacle) => {
                let obstacle = obstacle.as_deref().unwrap_or("nothing came of it");
                let nearest = self.ranked.iter().take(MOST);
                let nearest: Vec<_> =
                    nearest.map(|one| format!("`{}`", one.capability.name())).collect();
                let nearest = nearest.join(", ");
                format!(
                    "{NO_MODEL} The nearest is `{name}` ({sure}), but {obstacle}. Nearest: {nearest}."
                )
            }
        }
    }
}

/// A result for people; the step has it whole.
fn indented(result: &RawValue) -> String {
    const MOST: usize = 4 << 10;
    let value = serde_json::from_str::<Value>(result.get());
    let text = value.and_then(|value| serde_json::to_string_pretty(&value));
    cut(text.unwrap_or_else(|_| result.get().to_owned()), MOST)
}

fn told(error: &StepError) -> String {
    let data = error.data.as_ref().map(|data| format!(" {}", data.get())).unwrap_or_default();
    format!("{} ({}){data}", error.message, error.code)
}

fn rank(message: &str, capabilities: &Capabilities) -> Vec<Ranked> {
    let words = Words::of(&values::without(message));
    // Who names a param wants what has it.
    let params = values::names(message).into_iter().map(|name| name + "=");
    let asked: Vec<String> = words.iter().map(str::to_owned).chain(params).collect();
    let known: Vec<(&Arc<Capability>, HashMap<String, f64>)> =
        capabilities.iter().map(|capability| (capability, weights(capability))).collect();
    // A word that everything has tells nothing.
    let rarity = |word: &str| {
        let with = known.iter().filter(|(_, weights)| weight(weights, word) > 0.0).count();
        (1.0 + known.len() as f64 / with.max(1) as f64).ln()
    };
    let possible: f64 = asked.iter().map(|word| IN_NAME * rarity(word)).sum();
    let score = |weights: &HashMap<String, f64>| -> f64 {
        asked.iter().map(|word| weight(weights, word) * rarity(word)).sum()
    };
    let mut ranked: Vec<Ranked> = known
        .iter()
        .map(|(capability, weights)| (Arc::clone(capability), score(weights)))
        .filter(|(_, score)| *score > 0.0)
        .map(|(capability, score)| Ranked { capability, score, confidence: score / possible })
        .collect();
    // Of equals, what was registered first: sorting keeps their order.
    ranked.sort_by(|one, other| other.score.partial_cmp(&one.score).unwrap_or(Ordering::Equal));
    // Who is nearly as good makes the best less sure.
    if let [best, second, ..] = &mut ranked[..] {
        best.confidence *= 1.0 - 0.5 * (second.score / best.score).powi(2);
    }
    ranked
}

/// What a word weighs, or one that has most of it: `calculate` of `calculator`.
fn weight(weights: &HashMap<String, f64>, word: &str) -> f64 {
    const ALIKE: f64 = 0.8;
    const SHORTEST: usize = 5;
    let is_alike = |other: &str| {
        let (short, long) = if word.len() < other.len() { (word, other) } else { (other, word) };
        short.len() >= SHORTEST && long.starts_with(short) && !long.ends_with('=')
    };
    let alike = || {
        let weights = weights.iter().filter(|(other, _)| is_alike(other));
        weights.map(|(_, weight)| weight * ALIKE).fold(0.0, f64::max)
    };
    weights.get(word).copied().unwrap_or_else(alike)
}

/// The words of a capability, and what each weighs where it weighs most.
fn weights(capability: &Capability) -> HashMap<String, f64> {
    let description = capability.operation().description();
    let params = capability.input().get("properties").and_then(Value::as_object);
    let params: Vec<&str> = params.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let title = description.title.as_deref().unwrap_or_default();
    let names = format!("{} {} {title}", capability.name(), capability.operation().name());
    let places = [(names, IN_NAME), (params.join(" "), IN_PARAM), (capability.text(), IN_TEXT)];
    let mut weights: HashMap<String, f64> =
        params.iter().map(|name| (format!("{name}="), IN_NAME)).collect();
    for (text, weight) in places {
        for word in Words::of(&text).iter() {
            weights.entry(word.to_owned()).or_insert(weight);
        }
    }
    weights
}

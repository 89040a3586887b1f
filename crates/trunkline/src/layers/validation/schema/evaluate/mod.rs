//! The evaluation of values.

mod parts;

use std::collections::{HashMap, HashSet};
use std::ptr;

use serde_json::Value;

use super::super::faults::{Faults, MAX_LISTED, escaped};
use super::pattern::{Pattern, TooComplex};
use super::problem::{Kind, Problem};
use super::program::{Condition, DynamicTarget, Keyword, Node, NodeId, Program};

/// The maximum depth of subschemas that are applied within each other, at all places of a value. Without optimization,
/// they take 1 MiB of the stack.
const MAX_DEPTH: usize = 500;
/// The maximum number of steps of a check: up to 120 ms were measured.
const MAX_STEPS: usize = 5_000_000;
/// The number of steps after which the results of references are cached. In a schema that refers to itself twice from
/// one member, the work would double with each level of the value.
const UNCACHED: usize = 10_000;
/// The steps of a listed problem, which takes up to 2 KiB: 5,000 of them exceed the maximum.
const PROBLEM: usize = 1_000;
/// The maximum length of a pointer in bytes; it is shortened later.
const MAX_POINTER: usize = 2 << 10;

/// The evaluation of one value, within a number of steps: the application of a subschema to a value is one, and the
/// sizes of both add to it.
pub(in super::super) struct Run<'e> {
    program: &'e Program,
    /// The number of remaining steps.
    steps: usize,
    /// Whether values match targets of references, by the addresses of the values.
    results: HashMap<(NodeId, usize), bool>,
    depth: usize,
    /// The resources that the value has passed, if references depend on them.
    scope: Vec<usize>,
    /// The place, if problems are collected.
    path: Vec<Step<'e>>,
    /// The found problems. Without a list, the evaluation ends at the first one.
    problems: Option<Vec<Problem<'e>>>,
}

/// A limit of the evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum Exceeded {
    #[error("too many values for this schema; send fewer")]
    Steps,
    #[error("nested too deeply for this schema; nest the values less")]
    Depth,
    #[error("a text takes too long to compare with a pattern of the schema")]
    Pattern,
}

type Checked = Result<bool, Exceeded>;

#[derive(Clone, Copy)]
enum Step<'e> {
    Member(&'e str),
    Element(usize),
}

/// The parts of a value that were evaluated.
#[derive(Default)]
struct Seen<'e> {
    all: bool,
    names: HashSet<&'e str>,
    indices: HashSet<usize>,
}

impl<'e> Seen<'e> {
    fn extend(&mut self, other: Self) {
        self.all |= other.all;
        self.names.extend(other.names);
        self.indices.extend(other.indices);
    }
}

impl<'e> Run<'e> {
    pub(in super::super) fn new(program: &'e Program) -> Self {
        let (results, scope, path) = Default::default();
        Self { program, steps: MAX_STEPS, results, depth: 0, scope, path, problems: None }
    }

    /// Whether a value matches.
    ///
    /// # Errors
    /// If this is not found out within the limits.
    pub(in super::super) fn is_valid(&mut self, value: &'e Value) -> Checked {
        self.apply(Program::ROOT, value, None)
    }

    /// The faults of a value that does not match.
    ///
    /// # Errors
    /// If they are not found within the limits.
    pub(in super::super) fn faults(&mut self, value: &'e Value) -> Result<Faults, Exceeded> {
        self.problems = Some(Vec::new());
        self.apply(Program::ROOT, value, None)?;
        Ok(self.problems.iter().flatten().map(Problem::fault).collect())
    }

    /// The names of members that do not match.
    ///
    /// # Errors
    /// If the remaining steps are too few for the members.
    pub(in super::super) fn invalid_members(
        &mut self,
        value: &'e Value,
    ) -> Result<Vec<&'e str>, Exceeded> {
        let program = self.program;
        self.problems = None;
        let mut names = Vec::new();
        for (name, id) in program.properties() {
            self.depth = 0;
            self.scope = vec![program.nodes[Program::ROOT].resource];
            let Some(member) = value.get(name) else { continue };
            match self.apply(*id, member, None) {
                Err(Exceeded::Steps) => return Err(Exceeded::Steps),
                Ok(false) => names.push(name.as_str()),
                Ok(true) | Err(_) => {}
            }
        }
        Ok(names)
    }

    fn spend(&mut self, steps: usize) -> Result<(), Exceeded> {
        self.steps = self.steps.checked_sub(steps).ok_or(Exceeded::Steps)?;
        Ok(())
    }

    /// Adds a problem of the current value.
    fn fail(&mut self, kind: Kind<'e>) -> Checked {
        if self.problems.is_some() {
            self.spend(PROBLEM)?;
            let (pointer, depth) = (self.pointer(), self.path.len());
            self.problems.get_or_insert_default().push(Problem { pointer, depth, kind });
        }
        Ok(false)
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.path {
            let token = match step {
                Step::Member(name) => escaped(name),
                Step::Element(index) => index.to_string(),
            };
            if pointer.len() + token.len() > MAX_POINTER {
                pointer.push('/');
                pointer.extend(token.chars().take(MAX_POINTER));
                break;
            }
            pointer.push('/');
            pointer += &token;
        }
        pointer
    }

    /// Whether the evaluation ends after a keyword that does not match.
    fn is_over(&self) -> bool {
        self.problems.as_ref().is_none_or(|problems| problems.len() > MAX_LISTED)
    }

    /// Applies a subschema to a value.
    fn apply(&mut self, id: NodeId, value: &'e Value, seen: Option<&mut Seen<'e>>) -> Checked {
        let program = self.program;
        let mut id = id;
        // A schema that is only a reference.
        while let [Keyword::Ref(target)] = program.nodes[id].keywords[..]
            && !program.is_dynamic
        {
            self.spend(1)?;
            id = target;
        }
        let node = &program.nodes[id];
        self.spend(node.steps + size(value))?;
        let is_cached = node.is_target && self.steps < MAX_STEPS - UNCACHED;
        if is_cached && !program.is_dynamic && self.problems.is_none() && seen.is_none() {
            let key = (id, ptr::from_ref(value).addr());
            if let Some(is_valid) = self.results.get(&key) {
                return Ok(*is_valid);
            }
            let is_valid = self.apply_node(node, value, None)?;
            self.results.insert(key, is_valid);
            return Ok(is_valid);
        }
        self.apply_node(node, value, seen)
    }

    fn apply_node(
        &mut self,
        node: &'e Node,
        value: &'e Value,
        seen: Option<&mut Seen<'e>>,
    ) -> Checked {
        let program = self.program;
        if self.depth == MAX_DEPTH {
            return Err(Exceeded::Depth);
        }
        self.depth += 1;
        let enters = program.is_dynamic && self.scope.last() != Some(&node.resource);
        if enters {
            self.scope.push(node.resource);
        }
        let is_valid = if node.has_unevaluated || seen.is_some() {
            let mut own = Seen::default();
            let is_valid = self.keywords(&node.keywords, value, Some(&mut own))?;
            // If problems are listed, what was evaluated with problems is not one more.
            if let Some(seen) = seen.filter(|_| is_valid || self.problems.is_some()) {
                seen.extend(own);
            }
            is_valid
        } else {
            self.keywords(&node.keywords, value, None)?
        };
        if enters {
            self.scope.pop();
        }
        self.depth -= 1;
        Ok(is_valid)
    }

    fn keywords(
        &mut self,
        keywords: &'e [Keyword],
        value: &'e Value,
        mut seen: Option<&mut Seen<'e>>,
    ) -> Checked {
        let mut is_valid = true;
        for keyword in keywords {
            let holds = match (keyword, value) {
                (Keyword::Assertion(assertion), value) => {
                    assertion.holds(value) || self.fail(Kind::Assertion(assertion))?
                }
                (Keyword::Members(members), Value::Object(object)) => {
                    self.members(members, object, seen.as_deref_mut())?
                }
                (Keyword::Elements(schemas), Value::Array(elements)) => {
                    self.elements(schemas, elements, seen.as_deref_mut())?
                }
                (
                    Keyword::Required(_)
                    | Keyword::DependentRequired(_)
                    | Keyword::Names(_)
                    | Keyword::Dependent(_)
                    | Keyword::UnevaluatedMembers(_),
                    Value::Object(object),
                ) => self.object(keyword, value, object, seen.as_deref_mut())?,
                (
                    Keyword::Unique | Keyword::Contains(_) | Keyword::UnevaluatedElements(_),
                    Value::Array(elements),
                ) => self.array(keyword, value, elements, seen.as_deref_mut())?,
                (Keyword::Pattern(pattern), Value::String(text)) => {
                    self.matches(pattern, text)? || self.fail(Kind::Pattern(pattern.as_str()))?
                }
                (keyword, value) => self.in_place(keyword, value, seen.as_deref_mut())?,
            };
            is_valid &= holds;
            if !is_valid && self.is_over() {
                break;
            }
        }
        Ok(is_valid)
    }

    /// Applies a subschema to a part of the current value.
    fn inside(&mut self, step: Step<'e>, id: NodeId, value: &'e Value) -> Checked {
        if self.problems.is_none() {
            return self.apply(id, value, None);
        }
        self.path.push(step);
        let is_valid = self.apply(id, value, None)?;
        self.path.pop();
        Ok(is_valid)
    }

    /// Whether a subschema matches; its problems are not listed.
    fn is_match(&mut self, id: NodeId, value: &'e Value, seen: Option<&mut Seen<'e>>) -> Checked {
        if self.problems.is_none() {
            return self.apply(id, value, seen);
        }
        let problems = self.problems.take();
        let is_match = self.apply(id, value, seen)?;
        self.problems = problems;
        Ok(is_match)
    }

    fn matches(&mut self, pattern: &'e Pattern, text: &str) -> Checked {
        self.spend(pattern.cost(text))?;
        pattern.matches(text).map_err(|TooComplex| Exceeded::Pattern)
    }

    /// Applies subschemas to the value itself.
    fn in_place(
        &mut self,
        keyword: &'e Keyword,
        value: &'e Value,
        mut seen: Option<&mut Seen<'e>>,
    ) -> Checked {
        match keyword {
            Keyword::All(ids) => {
                let mut is_valid = true;
                for id in ids {
                    is_valid &= self.apply(*id, value, seen.as_deref_mut())?;
                    if !is_valid && self.is_over() {
                        break;
                    }
                }
                Ok(is_valid)
            }
            Keyword::Any(ids) => self.alternatives(keyword, ids, value, seen),
            Keyword::One(ids) => self.alternatives(keyword, ids, value, seen),
            Keyword::Not(id, text) => {
                let is_match = self.is_match(*id, value, None)?;
                Ok(!is_match || self.fail(Kind::Not(text))?)
            }
            Keyword::If(Condition { test, then, otherwise }) => {
                let is_match = self.is_match(*test, value, seen.as_deref_mut())?;
                let next = if is_match { then } else { otherwise };
                next.map_or(Ok(true), |id| self.apply(id, value, seen))
            }
            Keyword::Ref(id) => self.apply(*id, value, seen),
            Keyword::DynamicRef(DynamicTarget { anchors, otherwise }) => {
                let anchor = self.scope.iter().find_map(|passed| {
                    anchors.iter().find(|(resource, _)| resource == passed).map(|(_, id)| *id)
                });
                self.apply(anchor.unwrap_or(*otherwise), value, seen)
            }
            _ => Ok(true),
        }
    }

    /// Applies the alternatives of `anyOf` or `oneOf`.
    fn alternatives(
        &mut self,
        keyword: &'e Keyword,
        ids: &'e [NodeId],
        value: &'e Value,
        mut seen: Option<&mut Seen<'e>>,
    ) -> Checked {
        let is_any = matches!(keyword, Keyword::Any(_));
        let mut matching = 0;
        for id in ids {
            matching += usize::from(self.is_match(*id, value, seen.as_deref_mut())?);
            let is_decided = if is_any { matching == 1 && seen.is_none() } else { matching == 2 };
            if is_decided {
                break;
            }
        }
        match matching {
            1 => Ok(true),
            0 if self.problems.is_none() => Ok(false),
            0 => {
                let outer = self.problems.take();
                let mut problems = Vec::new();
                for id in ids {
                    self.problems = Some(Vec::new());
                    self.apply(*id, value, None)?;
                    problems.push(self.problems.take().unwrap_or_default());
                }
                self.problems = outer;
                self.fail(if is_any { Kind::AnyOf(problems) } else { Kind::OneOf(problems) })
            }
            _ if is_any => Ok(true),
            _ => self.fail(Kind::MoreThanOne),
        }
    }
}

/// The steps for the size of a value, whatever is done with it.
#[inline]
fn size(value: &Value) -> usize {
    match value {
        Value::Array(elements) => elements.len(),
        Value::Object(members) => members.len(),
        Value::String(text) => text.len() / 16,
        _ => 0,
    }
}

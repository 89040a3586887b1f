//! The keywords that look at the members of an object or the elements of an array.

use serde_json::{Map, Value};

use super::super::number::{compare, values};
use super::super::problem::Kind;
use super::super::program::{Contains, Elements, Keyword, Members, NodeId};
use super::{Checked, Run, Seen, Step};

impl<'e> Run<'e> {
    pub(super) fn members(
        &mut self,
        members: &'e Members,
        object: &'e Map<String, Value>,
        mut seen: Option<&mut Seen<'e>>,
    ) -> Checked {
        let mut is_valid = true;
        let mut unexpected = Vec::new();
        for (name, value) in object {
            let mut is_known = false;
            if let Some(id) = members.property(name) {
                is_known = true;
                is_valid &= self.inside(Step::Member(name), id, value)?;
            }
            for (pattern, id) in &members.patterns {
                if self.matches(pattern, name)? {
                    is_known = true;
                    is_valid &= self.inside(Step::Member(name), *id, value)?;
                }
            }
            if let Some(id) = members.additional.filter(|_| !is_known) {
                is_known = true;
                if self.program.is_never(id) {
                    is_valid = false;
                    unexpected.push(name.as_str());
                } else {
                    is_valid &= self.inside(Step::Member(name), id, value)?;
                }
            }
            if let Some(seen) = seen.as_deref_mut().filter(|_| is_known) {
                seen.names.insert(name);
            }
            if !is_valid && self.is_over() {
                return Ok(false);
            }
        }
        if !unexpected.is_empty() {
            self.fail(Kind::Additional(unexpected))?;
        }
        Ok(is_valid)
    }

    pub(super) fn elements(
        &mut self,
        schemas: &'e Elements,
        elements: &'e [Value],
        seen: Option<&mut Seen<'e>>,
    ) -> Checked {
        let mut is_valid = true;
        for (index, element) in elements.iter().enumerate() {
            let Some(id) = schemas.first.get(index).copied().or(schemas.others) else { break };
            is_valid &= self.inside(Step::Element(index), id, element)?;
            if !is_valid && self.is_over() {
                break;
            }
        }
        if let Some(seen) = seen {
            seen.all |= schemas.others.is_some();
            seen.indices.extend(0..schemas.first.len().min(elements.len()));
        }
        Ok(is_valid)
    }

    pub(super) fn object(
        &mut self,
        keyword: &'e Keyword,
        value: &'e Value,
        object: &'e Map<String, Value>,
        mut seen: Option<&mut Seen<'e>>,
    ) -> Checked {
        match keyword {
            Keyword::Required(names) => self.required(names, object),
            Keyword::DependentRequired(dependents) => {
                let mut is_valid = true;
                for (_, names) in dependents.iter().filter(|(name, _)| object.contains_key(name)) {
                    is_valid &= self.required(names, object)?;
                }
                Ok(is_valid)
            }
            Keyword::Names(id) => {
                let mut is_valid = true;
                for name in object.keys() {
                    is_valid &= self.name(*id, name)?;
                    if !is_valid && self.is_over() {
                        break;
                    }
                }
                Ok(is_valid)
            }
            Keyword::Dependent(schemas) => {
                let mut is_valid = true;
                for (_, id) in schemas.iter().filter(|(name, _)| object.contains_key(name)) {
                    is_valid &= self.apply(*id, value, seen.as_deref_mut())?;
                }
                Ok(is_valid)
            }
            Keyword::UnevaluatedMembers(id) => {
                let Some(seen) = seen.filter(|seen| !seen.all) else { return Ok(true) };
                let mut unexpected = Vec::new();
                for (name, member) in object {
                    if !seen.names.contains(name.as_str()) && !self.is_match(*id, member, None)? {
                        unexpected.push(name.as_str());
                    }
                }
                seen.all = true;
                Ok(unexpected.is_empty() || self.fail(Kind::UnevaluatedMembers(unexpected))?)
            }
            _ => Ok(true),
        }
    }

    fn required(&mut self, names: &'e [String], object: &Map<String, Value>) -> Checked {
        let mut is_valid = true;
        for name in names.iter().filter(|name| !object.contains_key(*name)) {
            is_valid = self.fail(Kind::Missing(name))?;
            if self.is_over() {
                break;
            }
        }
        Ok(is_valid)
    }

    /// Applies a subschema to the name of a member. The name becomes a value, whose lifetime is shorter.
    fn name(&mut self, id: NodeId, name: &'e str) -> Checked {
        let value = Value::from(name);
        let mut run = Run::new(self.program);
        (run.steps, run.depth) = (self.steps, self.depth);
        run.scope.clone_from(&self.scope);
        run.problems = self.problems.is_some().then(Vec::new);
        let is_valid = run.apply(id, &value, None)?;
        self.steps = run.steps;
        for problem in run.problems.into_iter().flatten() {
            self.fail(Kind::Name(problem.of_name(name)))?;
        }
        Ok(is_valid)
    }

    pub(super) fn array(
        &mut self,
        keyword: &'e Keyword,
        value: &'e Value,
        elements: &'e [Value],
        seen: Option<&mut Seen<'e>>,
    ) -> Checked {
        match keyword {
            Keyword::Unique => {
                let comparisons = elements.len().checked_ilog2().unwrap_or_default() as usize;
                self.spend(values(value).saturating_mul(1 + comparisons))?;
                let mut sorted: Vec<&Value> = elements.iter().collect();
                sorted.sort_unstable_by(|left, right| compare(left, right));
                let mut pairs = sorted.windows(2);
                let has_equals = pairs.any(|pair| compare(pair[0], pair[1]).is_eq());
                Ok(!has_equals || self.fail(Kind::NotUnique)?)
            }
            Keyword::Contains(contains) => self.contains(contains, elements, seen),
            Keyword::UnevaluatedElements(id) => {
                let Some(seen) = seen.filter(|seen| !seen.all) else { return Ok(true) };
                let mut unexpected = 0;
                for (index, element) in elements.iter().enumerate() {
                    let is_known = seen.indices.contains(&index);
                    unexpected += usize::from(!is_known && !self.is_match(*id, element, None)?);
                }
                seen.all = true;
                Ok(unexpected == 0 || self.fail(Kind::UnevaluatedElements(unexpected))?)
            }
            _ => Ok(true),
        }
    }

    fn contains(
        &mut self,
        contains: &'e Contains,
        elements: &'e [Value],
        mut seen: Option<&mut Seen<'e>>,
    ) -> Checked {
        let (mut found, is_limited) = (0, contains.maximum.is_some() || seen.is_some());
        for (index, element) in elements.iter().enumerate() {
            if !is_limited && found >= contains.minimum {
                break;
            }
            if self.is_match(contains.schema, element, None)? {
                found += 1;
                if let Some(seen) = &mut seen {
                    seen.indices.insert(index);
                }
            }
        }
        match contains.maximum {
            _ if found < contains.minimum => self.fail(Kind::TooFewMatches(contains.minimum)),
            Some(maximum) if found > maximum => self.fail(Kind::TooManyMatches(maximum)),
            _ => Ok(true),
        }
    }
}

//! Faults of a value, before they are written.

use serde_json::Value;

use super::super::faults::Fault;
use super::assertion::Assertion;

/// A keyword that a value does not match.
pub(super) struct Problem<'e> {
    /// The place of the value, shortened.
    pub(super) pointer: String,
    /// The number of steps of the pointer.
    pub(super) depth: usize,
    pub(super) kind: Kind<'e>,
}

pub(super) enum Kind<'e> {
    Assertion(&'e Assertion),
    Missing(&'e str),
    /// The pattern.
    Pattern(&'e str),
    NotUnique,
    Additional(Vec<&'e str>),
    UnevaluatedMembers(Vec<&'e str>),
    /// The number of elements.
    UnevaluatedElements(usize),
    TooFewMatches(u64),
    TooManyMatches(u64),
    /// The problems of each alternative.
    AnyOf(Vec<Vec<Problem<'e>>>),
    OneOf(Vec<Vec<Problem<'e>>>),
    MoreThanOne,
    /// The schema that must not match.
    Not(&'e str),
    /// The reason why the name of a member does not match.
    Name(String),
}

/// The name of values in reasons: they may be secrets, and faults are stored in logs and histories, so only the schema
/// is quoted.
const VALUE: &str = "this value";

impl Problem<'_> {
    pub(super) fn fault(&self) -> Fault {
        if let Some(intended) = self.intended() {
            return intended.fault();
        }
        let mut allowed = Vec::new();
        let is_type = self.kind.is_type();
        if (is_type || self.kind.lists_choices()) && self.kind.collect(&mut allowed) {
            match &allowed[..] {
                [] => {}
                [only] if is_type => {
                    return self.fault_of(&format!("this value is not of type \"{only}\""));
                }
                allowed => {
                    let allowed = allowed.join(", ");
                    return self.fault_of(&format!("this value is not one of: {allowed}"));
                }
            }
        }
        self.fault_of(&self.kind.reason(VALUE))
    }

    /// The reason, if the value is the name of a member.
    pub(super) fn of_name(&self, name: &str) -> String {
        self.kind.reason(&Value::from(name).to_string())
    }

    fn fault_of(&self, reason: &str) -> Fault {
        Fault::new(&self.pointer, &reason)
    }

    /// The first problem of the intended alternative: the only one that matches the kind of the value.
    fn intended(&self) -> Option<&Self> {
        let (Kind::AnyOf(alternatives) | Kind::OneOf(alternatives)) = &self.kind else {
            return None;
        };
        let is_inside = |inner: &Self| inner.depth > self.depth;
        let fits = |problems: &&Vec<Self>| {
            problems.iter().all(|inner| {
                is_inside(inner) || !inner.kind.is_of_kind() || inner.intended().is_some()
            })
        };
        let mut fitting = alternatives.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(problems), None) => problems.first(),
            _ => None,
        }
    }
}

impl Kind<'_> {
    fn is_type(&self) -> bool {
        matches!(self, Self::Assertion(Assertion::Types(_)))
    }

    fn lists_choices(&self) -> bool {
        matches!(self, Self::AnyOf(_) | Self::OneOf(_) | Self::Assertion(Assertion::Enum(_)))
    }

    /// Whether the problem is about the kind of a value, not its content.
    fn is_of_kind(&self) -> bool {
        let is_const = matches!(self, Self::Assertion(Assertion::Const(_)));
        is_const || self.is_type() || self.lists_choices()
    }

    /// Collects the types and JSON values that the schema allows for a value. False if it allows others.
    fn collect(&self, allowed: &mut Vec<String>) -> bool {
        let mut add = |text: String| {
            // Null is an omitted optional param.
            if text != "null" && !allowed.contains(&text) {
                allowed.push(text);
            }
        };
        match self {
            Self::Assertion(Assertion::Types(types)) => {
                types.names().for_each(|name| add(name.to_owned()));
            }
            Self::Assertion(Assertion::Const(expected)) => add(expected.to_string()),
            Self::Assertion(Assertion::Enum(choices)) => {
                choices.values.iter().map(Value::to_string).for_each(add);
            }
            Self::AnyOf(alternatives) | Self::OneOf(alternatives) => {
                return alternatives.iter().all(|problems| {
                    // Prefer the values of an alternative to its type.
                    let mut kinds = problems.iter().map(|problem| &problem.kind);
                    let choices = kinds.clone().find(|kind| kind.lists_choices());
                    let telling = choices.or_else(|| kinds.find(|kind| kind.is_of_kind()));
                    telling.is_some_and(|kind| kind.collect(allowed))
                });
            }
            _ => return false,
        }
        true
    }

    /// The reason of a value that is called `subject`.
    fn reason(&self, subject: &str) -> String {
        let unexpected = |what: &str, names: &[&str]| {
            let verb = if names.len() == 1 { "was" } else { "were" };
            let names: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
            format!("{what} properties are not allowed ({} {verb} unexpected)", names.join(", "))
        };
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        match self {
            Self::Assertion(assertion) => assertion.reason(subject),
            Self::Missing(name) => {
                format!("{} is a required property", Value::from(*name))
            }
            Self::Pattern(pattern) => format!("{subject} does not match \"{pattern}\""),
            Self::NotUnique => format!("{subject} has non-unique elements"),
            Self::Additional(names) => unexpected("Additional", names),
            Self::UnevaluatedMembers(names) => unexpected("Unevaluated", names),
            Self::UnevaluatedElements(count) => {
                format!("Unevaluated items are not allowed ({count} item{})", plural(*count as u64))
            }
            Self::TooFewMatches(limit) => {
                format!("{subject} has less than {limit} matching item{}", plural(*limit))
            }
            Self::TooManyMatches(limit) => {
                format!("{subject} has more than {limit} matching item{}", plural(*limit))
            }
            Self::AnyOf(_) => {
                format!(
                    "{subject} is not valid under any of the schemas listed in the 'anyOf' keyword"
                )
            }
            Self::OneOf(_) => {
                format!(
                    "{subject} is not valid under any of the schemas listed in the 'oneOf' keyword"
                )
            }
            Self::MoreThanOne => format!(
                "{subject} is valid under more than one of the schemas listed in the 'oneOf' keyword"
            ),
            Self::Not(schema) => format!("{schema} is not allowed for {subject}"),
            Self::Name(reason) => reason.clone(),
        }
    }
}

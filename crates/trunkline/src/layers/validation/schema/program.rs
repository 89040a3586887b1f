//! A compiled schema.

use super::assertion::Assertion;
use super::number::values;
use super::pattern::Pattern;

/// A compiled schema: nodes that refer to each other.
pub(in super::super) struct Program {
    pub(super) nodes: Vec<Node>,
    /// Whether a `$dynamicRef` has several targets, so that the resources that a value has passed matter.
    pub(super) is_dynamic: bool,
}

/// The index of a node.
pub(super) type NodeId = usize;

/// A subschema.
#[derive(Default)]
pub(super) struct Node {
    /// The index of the schema with an `$id` around.
    pub(super) resource: usize,
    /// In the order of their evaluation.
    pub(super) keywords: Vec<Keyword>,
    /// Whether it has `unevaluatedProperties` or `unevaluatedItems`.
    pub(super) has_unevaluated: bool,
    /// Whether a `$ref` leads to it.
    pub(super) is_target: bool,
    /// The number of steps of an evaluation, without those of other nodes and of the size of the value.
    pub(super) steps: usize,
}

pub(super) enum Keyword {
    Assertion(Assertion),
    /// `required`
    Required(Vec<String>),
    /// `dependentRequired`: the names that a name requires.
    DependentRequired(Vec<(String, Vec<String>)>),
    Pattern(Pattern),
    /// `uniqueItems`
    Unique,
    Members(Members),
    /// `propertyNames`
    Names(NodeId),
    Elements(Elements),
    Contains(Contains),
    /// `dependentSchemas`: the schemas that a name requires.
    Dependent(Vec<(String, NodeId)>),
    All(Vec<NodeId>),
    Any(Vec<NodeId>),
    One(Vec<NodeId>),
    /// The JSON text of the schema is shortened.
    Not(NodeId, String),
    If(Condition),
    Ref(NodeId),
    DynamicRef(DynamicTarget),
    UnevaluatedMembers(NodeId),
    UnevaluatedElements(NodeId),
}

/// `properties`, `patternProperties` and `additionalProperties`.
#[derive(Default)]
pub(super) struct Members {
    /// Sorted by name.
    pub(super) properties: Vec<(String, NodeId)>,
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    pub(super) additional: Option<NodeId>,
}

/// `prefixItems` and `items`.
#[derive(Default)]
pub(super) struct Elements {
    pub(super) first: Vec<NodeId>,
    pub(super) others: Option<NodeId>,
}

pub(super) struct Contains {
    pub(super) schema: NodeId,
    pub(super) minimum: u64,
    pub(super) maximum: Option<u64>,
}

/// `if`, `then` and `else`.
pub(super) struct Condition {
    pub(super) test: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

/// The targets of a `$dynamicRef`.
pub(super) struct DynamicTarget {
    /// The resources that have the `$dynamicAnchor`, with its schema.
    pub(super) anchors: Vec<(usize, NodeId)>,
    /// If none of the resources was passed.
    pub(super) otherwise: NodeId,
}

impl Program {
    /// The first node: the whole schema.
    pub(super) const ROOT: NodeId = 0;

    /// The schemas of members in the whole schema.
    pub(super) fn properties(&self) -> &[(String, NodeId)] {
        let members = self.nodes[Self::ROOT].keywords.iter().find_map(|keyword| match keyword {
            Keyword::Members(members) => Some(members),
            _ => None,
        });
        members.map_or(&[], |members| &members.properties)
    }

    /// Whether a node is the schema `false`.
    pub(super) fn is_never(&self, id: NodeId) -> bool {
        matches!(self.nodes[id].keywords[..], [Keyword::Assertion(Assertion::Never)])
    }
}

impl Members {
    /// The schema of a member.
    pub(super) fn property(&self, name: &str) -> Option<NodeId> {
        let found = self.properties.binary_search_by(|(known, _)| known.as_str().cmp(name));
        found.ok().map(|index| self.properties[index].1)
    }
}

impl Keyword {
    /// The place in the order of evaluation: what is cheap is first, and what needs the results of others is last.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Assertion(Assertion::Never | Assertion::Types(_)) => 0,
            Self::Assertion(Assertion::Const(_) | Assertion::Enum(_)) => 1,
            Self::Assertion(_) => 2,
            Self::Required(_) => 3,
            Self::DependentRequired(_) => 4,
            Self::Pattern(_) => 5,
            Self::Unique => 6,
            Self::Members(_) => 7,
            Self::Names(_) => 8,
            Self::Elements(_) => 9,
            Self::Contains(_) => 10,
            Self::Dependent(_) => 11,
            Self::All(_) => 12,
            Self::Any(_) => 13,
            Self::One(_) => 14,
            Self::Not(..) => 15,
            Self::If(_) => 16,
            Self::Ref(_) => 17,
            Self::DynamicRef(_) => 18,
            Self::UnevaluatedMembers(_) => 19,
            Self::UnevaluatedElements(_) => 20,
        }
    }

    /// The steps of its evaluation, in addition to those of the schema and of the size of the value.
    pub(super) fn steps(&self) -> usize {
        match self {
            Self::Assertion(Assertion::Const(value)) => values(value),
            Self::Assertion(Assertion::Enum(choices)) => {
                let comparisons = choices.values.len().checked_ilog2().unwrap_or_default();
                choices.values.iter().map(values).max().unwrap_or_default() * comparisons as usize
            }
            Self::Required(names) => names.len() / 4,
            Self::DependentRequired(dependents) => {
                dependents.iter().map(|(_, names)| 1 + names.len()).sum::<usize>() / 4
            }
            Self::Dependent(schemas) => schemas.len() / 4,
            Self::Members(members) => members.properties.len() / 4,
            _ => 0,
        }
    }

    /// The nodes that are applied to the same value.
    pub(super) fn in_place(&self) -> Vec<NodeId> {
        match self {
            Self::Dependent(schemas) => schemas.iter().map(|(_, id)| *id).collect(),
            Self::All(ids) | Self::Any(ids) | Self::One(ids) => ids.clone(),
            Self::Not(id, _) | Self::Ref(id) => vec![*id],
            Self::If(Condition { test, then, otherwise }) => {
                [Some(*test), *then, *otherwise].into_iter().flatten().collect()
            }
            _ => Vec::new(),
        }
    }
}

use super::capability::CapabilityDescription;

/// What became of the tools between two moments.
#[derive(Debug, Clone, serde::Serialize, trunkline::JsonSchema)]
#[non_exhaustive]
pub struct Refreshed {
    /// Those that there are.
    pub tools: Vec<CapabilityDescription>,
    /// The names of those that are new.
    pub added: Vec<String>,
    /// Of those that do or take something else now.
    pub changed: Vec<String>,
    /// Of those that are gone.
    pub removed: Vec<String>,
}

impl Refreshed {
    pub(super) fn between(
        before: &[CapabilityDescription],
        tools: Vec<CapabilityDescription>,
    ) -> Self {
        let find = |tools: &[CapabilityDescription], name: &str| {
            tools.iter().find(|tool| tool.name == name).cloned()
        };
        let mut refreshed =
            Self { tools: Vec::new(), added: Vec::new(), changed: Vec::new(), removed: Vec::new() };
        for tool in &tools {
            match find(before, &tool.name) {
                None => refreshed.added.push(tool.name.clone()),
                Some(earlier) if earlier != *tool => refreshed.changed.push(tool.name.clone()),
                Some(_) => {}
            }
        }
        let gone = before.iter().filter(|tool| find(&tools, &tool.name).is_none());
        refreshed.removed = gone.map(|tool| tool.name.clone()).collect();
        Self { tools, ..refreshed }
    }
}

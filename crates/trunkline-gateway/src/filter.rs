//! The tools of an upstream that are offered.

use trunkline::Pattern;

/// The tools of an upstream that are offered: those that match a pattern of `allow`, or all if it is empty, and none of
/// `deny`. The names are those of the upstream, without a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// The patterns of offered tools. Default: none, so all tools are offered.
    pub allow: Vec<Pattern>,
    /// The patterns of tools that are not offered. Default: none. An upstream without a tool that is named here, without
    /// `*`, is not served, since the tool may have another name.
    pub deny: Vec<Pattern>,
}

impl ToolFilter {
    /// Whether the tool of this name is offered.
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        (self.allow.is_empty() || Pattern::any(&self.allow, tool))
            && !Pattern::any(&self.deny, tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters() {
        let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(text)).collect();
        let rows: [(&[&str], &[&str], &str, bool); 6] = [
            (&[], &[], "read", true),
            (&["read*"], &[], "read", true),
            (&["read*"], &[], "write", false),
            (&[], &["write*"], "write", false),
            (&[], &["write*"], "read", true),
            (&["*"], &["*_secret"], "read_secret", false),
        ];
        for (allow, deny, tool, expected) in rows {
            let filter = ToolFilter { allow: patterns(allow), deny: patterns(deny) };
            assert_eq!(filter.offers(tool), expected, "{allow:?} {deny:?} {tool}");
        }
    }
}

//! A configuration file to start with.

/// The content of a new file: the usual settings, most of them as comments.
pub(crate) const TEMPLATE: &str = include_str!("template.toml");

#[cfg(test)]
mod tests {
    use super::TEMPLATE;
    use crate::config::Config;

    fn parse(text: &str) -> Config {
        let parsed = Config::parse("t.toml".into(), text, &crate::arguments::command());
        parsed.unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn the_template_is_valid() {
        assert!(parse(TEMPLATE).path().is_some());
    }

    /// A comment that begins with a key or a section is an example.
    #[test]
    fn the_examples_of_the_template_are_valid() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "postgres://user@host/name").unwrap();
        let example = |line: &str| {
            let Some(comment) = line.strip_prefix("# ") else { return line.to_owned() };
            let is_example = comment.starts_with('[') || comment.contains(" = ");
            if is_example { comment.to_owned() } else { line.to_owned() }
        };
        let lines: Vec<String> = TEMPLATE.lines().map(example).collect();
        let text = lines.join("\n");
        // References to a secret that exists here.
        let reference = format!("{{ file = {:?} }}", secret.display().to_string());
        let mut parts = text.split("{ env = ");
        let mut text = parts.next().unwrap().replace("{ file = \"token\" }", &reference);
        for part in parts {
            let (_, rest) = part.split_once('}').unwrap();
            text += &(reference.clone() + &rest.replace("{ file = \"token\" }", &reference));
        }
        let config = parse(&text);
        assert_eq!(config.databases().len(), 2);
        assert_eq!(config.upstreams().len(), 2);
        assert_eq!(config.queries().len(), 1);
        assert!(config.flags.len() > 20, "{:?}", config.flags);
    }
}

use std::collections::BTreeSet;

/// The words of a text that may tell something: in lower case, without endings, each once.
pub(super) struct Words(BTreeSet<String>);

/// Words that stand in every message, whatever it asks for.
const EMPTY: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "be", "can", "could", "do", "does", "for",
    "from", "give", "have", "hello", "help", "here", "hi", "how", "i", "in", "is", "it", "me",
    "my", "now", "of", "on", "one", "or", "out", "please", "show", "tell", "that", "the", "their",
    "there", "thi", "this", "to", "use", "want", "wa", "we", "what", "which", "who", "why", "will",
    "with", "would", "you", "your",
];

impl Words {
    pub(super) fn of(text: &str) -> Self {
        let words = text.split(|c: char| !c.is_alphanumeric()).flat_map(humps);
        let words = words.map(|word| stem(&word.to_lowercase())).filter(|word| !word.is_empty());
        Self(words.filter(|word| !EMPTY.contains(&&**word)).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// `listTables` as `list`, `Tables`.
fn humps(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = word;
    while let Some(end) = hump(rest) {
        let (part, behind) = rest.split_at(end);
        parts.push(part);
        rest = behind;
    }
    parts.push(rest);
    parts
}

fn hump(word: &str) -> Option<usize> {
    let pairs = word.char_indices().zip(word.chars().skip(1));
    pairs
        .filter(|((_, one), next)| one.is_lowercase() && next.is_uppercase())
        .map(|((at, one), _)| at + one.len_utf8())
        .next()
}

/// What most forms of an English word have in common.
fn stem(word: &str) -> String {
    const SHORTEST: usize = 3;
    for ending in ["ing", "ies", "ed", "es", "s", "e", "y"] {
        if let Some(stem) =
            word.strip_suffix(ending).filter(|stem| stem.chars().count() >= SHORTEST)
        {
            return stem.to_owned();
        }
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::Words;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let words = Words::of(text);
        assert_eq!(words.iter().collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn words() {
        check("List the tables!", &["list", "tabl"]);
        check("list_table listTables", &["list", "tabl"]);
        check("Queries, querying", &["quer", "query"]);
        check("what is it?", &[]);
        check("Größe", &["größ"]);
    }
}

use syn::{Attribute, Expr, Lit, Meta};

/// The doc comment as text, without the space that follows each `///`.
pub(super) fn description(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes
        .iter()
        .filter_map(doc_line)
        .flat_map(|text| {
            let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
            // `"".lines()` is empty, and an empty comment is an empty line.
            let blank = text.is_empty().then_some("");
            lines.chain(blank).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else {
        return None;
    };
    match &meta.value {
        Expr::Lit(literal) if meta.path.is_ident("doc") => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

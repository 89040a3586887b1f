use syn::LitStr;

/// A message with its placeholders, such as `"{value} is out of range"` or `"cannot parse {0}"`.
pub(super) struct Message {
    /// The format string for `write!`, whose placeholders name bindings.
    pub(super) format: LitStr,
    pub(super) placeholders: Vec<Placeholder>,
}

/// The message for documentation: fields are written as `{value}`, without their style. Without fields, it is the
/// message itself.
pub(super) fn template(text: &str) -> String {
    let mut template = String::new();
    let mut has_fields = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        template.push(c);
        match (c, rest.peek()) {
            ('{', Some('{')) | ('}', Some('}')) => template.extend(rest.next()),
            ('{', _) => {
                has_fields = true;
                let inside: String = rest.by_ref().take_while(|c| *c != '}').collect();
                template.push_str(inside.split(':').next().unwrap_or_default().trim());
                template.push('}');
            }
            _ => {}
        }
    }
    match has_fields {
        true => template,
        false => unescaped(&template),
    }
}

fn unescaped(format: &str) -> String {
    format.replace("{{", "{").replace("}}", "}")
}

/// A field in a message.
pub(super) struct Placeholder {
    /// The position of the field.
    pub(super) field: usize,
    /// Whether the style requires `Debug`: `{value:?}`.
    pub(super) is_debug: bool,
}

impl Message {
    /// Parses `literal`, whose placeholders name `fields`. The names of tuple fields are their positions.
    ///
    /// Other invalid formats are left to `write!`, which has good error messages.
    pub(super) fn parse(literal: &LitStr, fields: &[FieldName]) -> syn::Result<Self> {
        let text = literal.value();
        let mut rest = text.as_str();
        let mut format = String::new();
        let mut placeholders = Vec::new();
        while let Some(brace) = rest.find('{') {
            let (before, after) = rest.split_at(brace + 1);
            format.push_str(before);
            if let Some(escaped) = after.strip_prefix('{') {
                format.push('{');
                rest = escaped;
                continue;
            }
            let Some(end) = after.find('}') else {
                rest = after;
                break;
            };
            let (inside, tail) = after.split_at(end);
            let (name, style) = inside.split_at(inside.find(':').unwrap_or(inside.len()));
            let field = position(name.trim(), fields)
                .map_err(|problem| syn::Error::new(literal.span(), problem))?;
            format.push_str(&fields[field].binding);
            format.push_str(style);
            placeholders.push(Placeholder { field, is_debug: style.trim_end().ends_with('?') });
            rest = tail;
        }
        format.push_str(rest);
        Ok(Self { format: LitStr::new(&format, literal.span()), placeholders })
    }

    /// The text, if it has no placeholders.
    pub(super) fn fixed(&self) -> Option<LitStr> {
        let text = unescaped(&self.format.value());
        self.placeholders.is_empty().then(|| LitStr::new(&text, self.format.span()))
    }

    pub(super) fn mentions(&self, field: usize) -> bool {
        self.placeholders.iter().any(|placeholder| placeholder.field == field)
    }
}

/// The names of a field in a message and in the expansion.
pub(super) struct FieldName {
    /// `value` or `0`.
    pub(super) name: String,
    /// `value` or `field0`.
    pub(super) binding: String,
}

fn position(name: &str, fields: &[FieldName]) -> Result<usize, String> {
    if name.is_empty() {
        return Err("a placeholder must name a field: `{0}` or `{value}`".to_owned());
    }
    fields
        .iter()
        .position(|field| field.name == name)
        .ok_or_else(|| format!("unknown field `{name}`"))
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    #[track_caller]
    fn check(text: &str, names: &[&str], expected: Result<&str, &str>) {
        let fields: Vec<_> = names
            .iter()
            .map(|name| FieldName {
                name: (*name).to_owned(),
                binding: match name.parse::<usize>() {
                    Ok(position) => format!("field{position}"),
                    Err(_) => (*name).to_owned(),
                },
            })
            .collect();
        let found = Message::parse(&LitStr::new(text, Span::call_site()), &fields)
            .map(|message| message.format.value())
            .map_err(|error| error.to_string());
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn templates_contain_field_names() {
        let check = |text, expected| assert_eq!(template(text), expected, "{text}");
        check("no placeholder", "no placeholder");
        check("{value:>3} is out of {limit :?}", "{value} is out of {limit}");
        check("{0:?}", "{0}");
        check("{{0}} is a brace", "{0} is a brace");
        check("{{0}} is a brace, {0} is not", "{{0}} is a brace, {0} is not");
        check("{{{0}}}", "{{{0}}}");
        check("{}", "{}");
        check("{0", "{0}");
    }

    #[test]
    fn placeholders_are_replaced_by_bindings() {
        check("no placeholder", &[], Ok("no placeholder"));
        check("{value} is out", &["value"], Ok("{value} is out"));
        check("{0}, then {1:>8?}", &["0", "1"], Ok("{field0}, then {field1:>8?}"));
        check("{{0}} is a brace", &["0"], Ok("{{0}} is a brace"));
        check("{{{0}}}", &["0"], Ok("{{{field0}}}"));
        check("{0", &["0"], Ok("{0"));
        check("{}", &["0"], Err("a placeholder must name a field: `{0}` or `{value}`"));
        check("{1}", &["0"], Err("unknown field `1`"));
        check("{valeu}", &["value"], Err("unknown field `valeu`"));
    }
}

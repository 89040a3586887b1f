use syn::{LitStr, ext::IdentExt};

use super::field::Field;

/// A message with its placeholders, such as `"{value} is out of range"` or `"cannot parse {0}"`.
pub(super) struct Message {
    /// The format string for `write!`, whose placeholders name bindings.
    pub(super) format: LitStr,
    pub(super) placeholders: Vec<Placeholder>,
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
    pub(super) fn parse(literal: &LitStr, fields: &[Field]) -> syn::Result<Self> {
        let text = literal.value();
        let mut format = String::new();
        let mut placeholders = Vec::new();
        for piece in pieces(&text) {
            match piece {
                Piece::Text(text) => format += text,
                Piece::Field { name, style } => {
                    let field = position(name, fields)
                        .map_err(|problem| syn::Error::new(literal.span(), problem))?;
                    format += &format!("{{{}{style}}}", fields[field].binding.unraw());
                    let is_debug = style.trim_end().ends_with('?');
                    placeholders.push(Placeholder { field, is_debug });
                }
            }
        }
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

fn position(name: &str, fields: &[Field]) -> Result<usize, String> {
    if name.is_empty() {
        return Err("a placeholder must name a field: `{0}` or `{value}`".to_owned());
    }
    fields
        .iter()
        .position(|field| field.name() == name)
        .ok_or_else(|| format!("unknown field `{name}`"))
}

/// The message for documentation: fields are written as `{value}`, without their style. Without fields, it is the
/// message itself.
pub(super) fn template(text: &str) -> String {
    let pieces = pieces(text);
    if pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
        return unescaped(text);
    }
    let written = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Field { name, .. } => format!("{{{name}}}"),
    };
    pieces.into_iter().map(written).collect()
}

fn unescaped(format: &str) -> String {
    format.replace("{{", "{").replace("}}", "}")
}

/// A part of a format string.
enum Piece<'t> {
    /// Text in which braces are doubled.
    Text(&'t str),
    /// A placeholder; the style begins with a colon.
    Field { name: &'t str, style: &'t str },
}

fn pieces(format: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut text, mut at) = (Vec::new(), format, 0);
    while let Some(brace) = text[at..].find('{').map(|brace| at + brace) {
        if text[brace + 1..].starts_with('{') {
            at = brace + 2;
            continue;
        }
        let Some(end) = text[brace..].find('}').map(|end| brace + end) else { break };
        let inside = &text[brace + 1..end];
        let (name, style) = inside.split_at(inside.find(':').unwrap_or(inside.len()));
        pieces.push(Piece::Text(&text[..brace]));
        pieces.push(Piece::Field { name: name.trim(), style });
        (text, at) = (&text[end + 1..], 0);
    }
    pieces.push(Piece::Text(text));
    pieces
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    #[track_caller]
    fn check(text: &str, names: &[&str], expected: Result<&str, &str>) {
        let is_tuple = names.iter().all(|name| name.parse::<usize>().is_ok());
        let fields: syn::Fields = match is_tuple {
            true => syn::Fields::Unnamed(
                syn::parse_str(&format!("({})", "u8,".repeat(names.len()))).unwrap(),
            ),
            false => syn::Fields::Named(
                syn::parse_str(&format!("{{ {}: u8 }}", names.join(": u8, "))).unwrap(),
            ),
        };
        let fields: Vec<_> = fields.iter().enumerate().map(Field::of).collect();
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
        check("{0", "{0");
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

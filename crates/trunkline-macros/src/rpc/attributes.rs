//! The attributes `#[rpc]`, `#[notification]`, `#[example]`, `#[param]` and `#[extract]`, and doc comments.

use proc_macro2::TokenStream;
use syn::{Attribute, Expr, Lit, LitStr, Meta, Path, meta::ParseNestedMeta, parse::Parser};

use crate::diagnostics::Diagnostics;

/// `#[rpc(namespace = "math", server)]` on the `impl` block or the trait.
#[derive(Default)]
pub(super) struct ServiceAttributes {
    pub(super) namespace: Option<LitStr>,
    /// The path of `server`, which disables the client.
    pub(super) server: Option<Path>,
}

impl ServiceAttributes {
    pub(super) fn parse(arguments: TokenStream) -> syn::Result<Self> {
        let mut rpc = Self::default();
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("namespace") {
                set(&mut rpc.namespace, &meta, text(&meta)?)
            } else if meta.path.is_ident("server") {
                set(&mut rpc.server, &meta, meta.path.clone())
            } else {
                Err(meta.error("expected `namespace = \"…\"` or `server`"))
            }
        });
        parser.parse2(arguments)?;
        Ok(rpc)
    }
}

/// `#[rpc(skip, name = "…", blocking, …)]`, `#[notification]` and `#[example(…)]` on a method.
#[derive(Default)]
pub(super) struct MethodAttributes {
    pub(super) name: Option<LitStr>,
    pub(super) skip: bool,
    pub(super) blocking: bool,
    pub(super) notification: bool,
    pub(super) traits: Traits,
    pub(super) examples: Vec<Attribute>,
}

/// The properties of a method that protocols publish.
#[derive(Default)]
pub(crate) struct Traits {
    pub(crate) title: Option<LitStr>,
    /// The tool name for language models.
    pub(crate) tool: Option<LitStr>,
    pub(crate) effect: Option<Effect>,
    pub(crate) idempotent: bool,
    pub(crate) closed_world: bool,
}

/// The effect of a call on data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    ReadOnly,
    Additive,
    Destructive,
}

impl MethodAttributes {
    pub(super) fn is_helper(attribute: &Attribute) -> bool {
        ["rpc", "notification", "example"].iter().any(|helper| attribute.path().is_ident(helper))
    }

    pub(super) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut diagnostics = Diagnostics::default();
        let mut method = Self::default();
        for attribute in attributes {
            if attribute.path().is_ident("rpc") {
                diagnostics.take(attribute.parse_nested_meta(|meta| method.set(&meta)));
            } else if attribute.path().is_ident("notification") {
                diagnostics.take(attribute.meta.require_path_only());
                method.notification = true;
            } else if attribute.path().is_ident("example") {
                method.examples.push(attribute.clone());
            }
        }
        diagnostics.finish(method)
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if meta.path.is_ident("name") {
            return set(&mut self.name, meta, text(meta)?);
        }
        if meta.path.is_ident("skip") {
            self.skip = true;
        } else if meta.path.is_ident("blocking") {
            self.blocking = true;
        } else if !self.traits.set(meta)? {
            return Err(meta.error(
                "expected `name = \"…\"`, `skip`, `blocking`, `idempotent`, `read_only`, `additive`, \
                 `destructive`, `closed_world`, `title = \"…\"` or `tool = \"…\"`",
            ));
        }
        Ok(())
    }
}

impl Traits {
    /// Sets a property. Returns false if `meta` is not a property.
    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<bool> {
        let is = |name| meta.path.is_ident(name);
        if is("title") {
            set(&mut self.title, meta, text(meta)?)?;
        } else if is("tool") {
            set(&mut self.tool, meta, tool(meta)?)?;
        } else if is("idempotent") {
            self.idempotent = true;
        } else if is("closed_world") {
            self.closed_world = true;
        } else if let Some(effect) = Effect::ALL.into_iter().find(|effect| is(effect.name())) {
            if self.effect.is_some_and(|given| given != effect) {
                return Err(
                    meta.error("`read_only`, `additive` and `destructive` are mutually exclusive")
                );
            }
            self.effect = Some(effect);
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

impl Effect {
    const ALL: [Self; 3] = [Self::ReadOnly, Self::Additive, Self::Destructive];

    /// The name of the attribute, and of the method of `Operation`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Additive => "additive",
            Self::Destructive => "destructive",
        }
    }
}

/// `#[param(name = "…", default = …, variadic)]` and `#[extract]` on an argument.
#[derive(Default)]
pub(super) struct ArgumentAttributes {
    pub(super) name: Option<LitStr>,
    pub(super) default: Option<Expr>,
    pub(super) variadic: bool,
    pub(super) extract: bool,
}

impl ArgumentAttributes {
    pub(super) fn is_helper(attribute: &Attribute) -> bool {
        ["param", "extract"].iter().any(|helper| attribute.path().is_ident(helper))
    }

    pub(super) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut diagnostics = Diagnostics::default();
        let mut argument = Self::default();
        let mut param = None;
        for attribute in attributes {
            if attribute.path().is_ident("param") {
                param = Some(attribute);
                diagnostics.take(attribute.parse_nested_meta(|meta| argument.set(&meta)));
            } else if attribute.path().is_ident("extract") {
                diagnostics.take(attribute.meta.require_path_only());
                argument.extract = true;
            }
        }
        if let (Some(attribute), true) = (param, argument.extract) {
            diagnostics.at(attribute, "`#[param]` and `#[extract]` are mutually exclusive");
        } else if let (Some(attribute), Some(_), true) =
            (param, &argument.default, argument.variadic)
        {
            diagnostics.at(
                attribute,
                "a variadic param cannot have a default; without values it is empty",
            );
        }
        diagnostics.finish(argument)
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if meta.path.is_ident("name") {
            return set(&mut self.name, meta, text(meta)?);
        }
        if meta.path.is_ident("default") {
            return set(&mut self.default, meta, meta.value()?.parse()?);
        }
        if meta.path.is_ident("variadic") {
            self.variadic = true;
            return Ok(());
        }
        Err(meta.error("expected `name = \"…\"`, `default = …` or `variadic`"))
    }
}

/// A name on the wire, or a display name.
fn text(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let text: LitStr = meta.value()?.parse()?;
    if text.value().is_empty() {
        return Err(syn::Error::new_spanned(text, "the name must not be empty"));
    }
    Ok(text)
}

/// A tool name.
fn tool(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let text: LitStr = meta.value()?.parse()?;
    let name = text.value();
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !(1..=128).contains(&name.len()) || !name.chars().all(allowed) {
        let message = "a tool name must consist of 1 to 128 of the characters `A-Z a-z 0-9 _ - .`";
        return Err(syn::Error::new_spanned(text, message));
    }
    Ok(text)
}

fn set<T>(slot: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> syn::Result<()> {
    if slot.replace(value).is_some() {
        return Err(meta.error("duplicate argument"));
    }
    Ok(())
}

/// The doc comment as text, without the space that follows each `///`.
pub(super) fn description(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes
        .iter()
        .filter_map(doc_line)
        .flat_map(|text| {
            let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
            // `"".lines()` is empty, but an empty comment is an empty line.
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

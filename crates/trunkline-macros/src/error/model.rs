use std::{collections::HashMap, ops::RangeInclusive};

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Fields, Generics};

use super::{
    attributes::{CodeLiteral, VariantAttributes, display_text},
    field::Field,
    message::{Message, template},
};
use crate::diagnostics::{Diagnostics, join};

/// The codes that JSON-RPC 2.0 reserves for the protocol (section 5.1). -32099 to -32000 are for servers.
const PROTOCOL: RangeInclusive<i64> = -32768..=-32100;

/// The codes for servers that Trunkline uses, as listed in `trunkline::code`: a client that receives -32005 considers
/// the server busy and retries.
const USED: RangeInclusive<i64> = -32014..=-32000;

/// An error type: an enum or a struct.
pub(super) struct ErrorType {
    pub(super) ident: Ident,
    pub(super) generics: Generics,
    /// The variants. A struct has one.
    pub(super) variants: Vec<Variant>,
}

pub(super) struct Variant {
    pub(super) ident: Ident,
    /// `Self::OutOfRange`, or `Self` for a struct.
    pub(super) path: TokenStream,
    pub(super) style: Style,
    pub(super) fields: Vec<Field>,
    pub(super) reply: Reply,
    pub(super) message: Option<Message>,
    /// The message without the values of its fields, if it is known from the attributes.
    pub(super) template: Option<String>,
}

#[derive(Clone, Copy)]
pub(super) enum Style {
    Named,
    Tuple,
    Unit,
}

/// The error that a client gets.
pub(super) enum Reply {
    Code(CodeLiteral),
    /// An internal error without details.
    Internal,
}

impl ErrorType {
    pub(super) fn parse(input: &DeriveInput) -> syn::Result<Self> {
        if let Some(lifetime) = input.generics.lifetimes().next() {
            return Err(syn::Error::new_spanned(
                lifetime,
                "an error type cannot have lifetimes, since clients deserialize it",
            ));
        }
        let (_, variants) = join(check_placement(input), variants(input))?;
        let mut diagnostics = Diagnostics::default();
        check_codes(&variants, &mut diagnostics);
        check_messages(&variants, &mut diagnostics);
        diagnostics.finish(Self {
            ident: input.ident.clone(),
            generics: input.generics.clone(),
            variants,
        })
    }

    /// The message of each variant, unless the type implements `Display` itself.
    pub(super) fn messages(&self) -> Option<Vec<&Message>> {
        self.variants.iter().map(|variant| variant.message.as_ref()).collect()
    }
}

fn check_placement(input: &DeriveInput) -> syn::Result<()> {
    let misplaced = match input.data {
        Data::Enum(_) => input.attrs.iter().find(|attr| attr.path().is_ident("rpc")),
        _ => None,
    };
    match misplaced {
        Some(attribute) => {
            Err(syn::Error::new_spanned(attribute, "`#[rpc(…)]` must be on each variant"))
        }
        None => Ok(()),
    }
}

fn variants(input: &DeriveInput) -> syn::Result<Vec<Variant>> {
    match &input.data {
        Data::Struct(data) => {
            let variant = Variant::parse(&input.ident, quote!(Self), &input.attrs, &data.fields)?;
            Ok(vec![variant])
        }
        Data::Enum(data) if data.variants.is_empty() => {
            Err(syn::Error::new_spanned(&input.ident, "an error type must have a variant"))
        }
        Data::Enum(data) => {
            let mut diagnostics = Diagnostics::default();
            let variants = data
                .variants
                .iter()
                .filter_map(|variant| {
                    let ident = &variant.ident;
                    let path = quote!(Self::#ident);
                    let parsed = Variant::parse(ident, path, &variant.attrs, &variant.fields);
                    diagnostics.take(parsed)
                })
                .collect();
            diagnostics.finish(variants)
        }
        Data::Union(data) => Err(syn::Error::new_spanned(
            data.union_token,
            "an error type must be an enum or a struct",
        )),
    }
}

impl Variant {
    fn parse(
        ident: &Ident,
        path: TokenStream,
        attributes: &[Attribute],
        fields: &Fields,
    ) -> syn::Result<Self> {
        let helpers = VariantAttributes::parse(attributes)?;
        let members: Vec<Field> = fields.iter().enumerate().map(Field::of).collect();
        let text = helpers.message.clone().or_else(|| display_text(attributes));
        let message = helpers.message.map(|literal| Message::parse(&literal, &members)).transpose();
        let reply = Reply::of(ident, helpers.code, helpers.internal);
        let (reply, message) = join(reply, message)?;
        Ok(Self {
            ident: ident.clone(),
            path,
            style: match fields {
                Fields::Named(_) => Style::Named,
                Fields::Unnamed(_) => Style::Tuple,
                Fields::Unit => Style::Unit,
            },
            fields: members,
            reply,
            message,
            template: text.map(|text| template(&text.value())),
        })
    }

    /// The variant with its fields bound to variables, as a pattern or an expression.
    pub(super) fn with_fields(&self) -> TokenStream {
        let path = &self.path;
        let fields = self.fields.iter().map(Field::in_variable);
        quote!(#path { #(#fields),* })
    }

    /// A pattern of the variant that ignores its fields.
    pub(super) fn with_any_fields(&self) -> TokenStream {
        let path = &self.path;
        quote!(#path { .. })
    }
}

impl Reply {
    fn of(variant: &Ident, code: Option<CodeLiteral>, internal: bool) -> syn::Result<Self> {
        match (code, internal) {
            (Some(code), false) if PROTOCOL.contains(&code.value) => Err(syn::Error::new_spanned(
                code.literal,
                "JSON-RPC 2.0 reserves the codes -32768 to -32100 for the protocol (section 5.1)",
            )),
            (Some(code), false) if USED.contains(&code.value) => Err(syn::Error::new_spanned(
                code.literal,
                "Trunkline uses the codes -32014 to -32000; see `trunkline::code`",
            )),
            (Some(code), false) => Ok(Self::Code(code)),
            (None, true) => Ok(Self::Internal),
            (Some(code), true) => Err(syn::Error::new_spanned(
                code.literal,
                "an `internal` error always has the code -32603",
            )),
            (None, false) => Err(syn::Error::new_spanned(
                variant,
                "missing `#[rpc(code = …)]`; use `#[rpc(internal)]` to hide the error from clients",
            )),
        }
    }
}

fn check_codes(variants: &[Variant], diagnostics: &mut Diagnostics) {
    let mut first = HashMap::new();
    for variant in variants {
        let Reply::Code(code) = &variant.reply else {
            continue;
        };
        if let Some(taken) = first.insert(code.value, &variant.ident) {
            diagnostics.at(
                &code.literal,
                format_args!("duplicate code `{}`, already used by `{taken}`", code.value),
            );
        }
    }
}

fn check_messages(variants: &[Variant], diagnostics: &mut Diagnostics) {
    if variants.iter().all(|variant| variant.message.is_none()) {
        return;
    }
    for variant in variants.iter().filter(|variant| variant.message.is_none()) {
        diagnostics.at(
            &variant.ident,
            "missing `message`: either all variants have one, or none and the type implements \
             `Display`",
        );
    }
}

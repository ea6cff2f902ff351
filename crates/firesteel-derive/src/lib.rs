//! Derives for enums: the names of variants, their text, and notes for the log. `firesteel_protocol` exports them.
//!
//! The text has the syntax of `format!`. It can use the variant's fields: by their names, or as `_0`, `_1` in a tuple.
//! Expressions follow the text: `#[display("{worker} has {}", counted(cores.0, "core"))]`.

use proc_macro::TokenStream;
use proc_macro2::{TokenStream as Tokens, TokenTree};
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Ident, LitStr, Result, parse_macro_input};

/// Implements `Kind`. `#[kind("master event")]` sets the enum's name. The default is the name in its declaration. If an
/// event contains a message in a field marked `#[kind(label)]`, the event has the message's label.
#[proc_macro_derive(Kind, attributes(kind))]
pub fn derive_kind(input: TokenStream) -> TokenStream {
    expand(input, kind)
}

/// Implements `Display`. Each variant has a `#[display("text")]`. A tuple of one field without this attribute is
/// displayed as its field.
#[proc_macro_derive(Display, attributes(display))]
pub fn derive_display(input: TokenStream) -> TokenStream {
    expand(input, |input, variants| {
        let text = |variant: &Variant<'_>| match (variant.said("display"), &*variant.fields) {
            (Err(_), [(field, _)]) if *field == "_0" => Ok(quote!("{_0}")),
            (text, _) => text,
        };
        let texts: Result<Vec<Tokens>> = variants.iter().map(text).collect();
        Ok(display(&input.ident, variants, &texts?))
    })
}

/// Implements a line of the log: `Display`, `level()` and `mentions()`. Each variant has a `#[note(Info, "text")]` or
/// `#[note(Warn, "text")]`; the level may be an expression. A note mentions its fields that are named `app`,
/// `executor`, `worker`, `driver` and `peer`, and everything that fields marked `#[mentions]` mention.
#[proc_macro_derive(Note, attributes(note, mentions))]
pub fn derive_note(input: TokenStream) -> TokenStream {
    expand(input, note)
}

fn kind(input: &DeriveInput, variants: &[Variant<'_>]) -> Result<Tokens> {
    let name = &input.ident;
    let title = match attribute(&input.attrs, "kind") {
        Some(attribute) => attribute.parse_args::<LitStr>()?.value(),
        None => name.to_string(),
    };
    let carriers = variants.iter().filter_map(|Variant { pattern, fields, .. }| {
        let (message, _) = fields.iter().find(|(_, field)| attribute(&field.attrs, "kind").is_some())?;
        Some(quote!(#pattern => #message.label(),))
    });
    let names: Vec<&Ident> = variants.iter().map(|variant| &variant.declared.ident).collect();
    let indices = 0..variants.len();
    Ok(quote! {
        #[automatically_derived]
        impl ::firesteel_protocol::Kind for #name {
            const ENUM: &'static str = #title;
            const NAMES: &'static [&'static str] = &[#(stringify!(#names)),*];
            fn index(&self) -> usize {
                match self { #(Self::#names { .. } => #indices),* }
            }
            #[allow(unused_variables)]
            fn label(&self) -> ::firesteel_protocol::machine::kind::Label {
                match self { #(#carriers)* _ => ::firesteel_protocol::machine::kind::Label::of(self) }
            }
        }
    })
}

fn note(input: &DeriveInput, variants: &[Variant<'_>]) -> Result<Tokens> {
    let name = &input.ident;
    let (mut levels, mut texts, mut mentions) = (Vec::new(), Vec::new(), Vec::new());
    for variant in variants {
        let mut tokens = variant.said("note")?.into_iter();
        let is_level = |token: &TokenTree| !matches!(token, TokenTree::Punct(it) if it.as_char() == ',');
        levels.push(tokens.by_ref().take_while(is_level).collect::<Tokens>());
        texts.push(tokens.collect());
        let named = variant.fields.iter().filter_map(|(name, field)| {
            let own = attribute(&field.attrs, "mentions").map(|_| quote!(.and(#name.mentions())));
            let is_id = ["app", "executor", "worker", "driver", "peer"].iter().any(|id| name == id);
            own.or_else(|| is_id.then(|| quote!(.and(#name))))
        });
        mentions.push(named.collect::<Tokens>());
    }
    let display = display(name, variants, &texts);
    let patterns: Vec<&Tokens> = variants.iter().map(|variant| &variant.pattern).collect();
    Ok(quote! {
        #display
        #[allow(unused_variables, unused_imports)]
        impl #name {
            /// The level at which the note is logged.
            #[must_use]
            pub fn level(&self) -> ::firesteel_protocol::NoteLevel {
                use ::firesteel_protocol::NoteLevel::{Info, Warn};
                match self { #(#patterns => #levels),* }
            }
            /// The ids that the note names.
            #[must_use]
            pub fn mentions(&self) -> ::firesteel_protocol::Mentions<'_> {
                match self { #(#patterns => ::firesteel_protocol::Mentions::NONE #mentions),* }
            }
        }
    })
}

fn display(name: &Ident, variants: &[Variant<'_>], texts: &[Tokens]) -> Tokens {
    let patterns = variants.iter().map(|variant| &variant.pattern);
    quote! {
        #[allow(unused_variables)]
        impl ::std::fmt::Display for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self { #(#patterns => ::std::write!(f, #texts)),* }
            }
        }
    }
}

struct Variant<'a> {
    declared: &'a syn::Variant,
    /// The fields, each with the variable that `pattern` binds to it.
    fields: Vec<(Ident, &'a Field)>,
    pattern: Tokens,
}

impl<'a> Variant<'a> {
    fn new(declared: &'a syn::Variant) -> Self {
        let variable = |(at, field): (usize, &Field)| field.ident.clone().unwrap_or(format_ident!("_{at}"));
        let variables: Vec<Ident> = declared.fields.iter().enumerate().map(variable).collect();
        let pattern = match declared.fields {
            Fields::Named(_) => quote!({ #(#variables),* }),
            Fields::Unnamed(_) => quote!((#(#variables),*)),
            Fields::Unit => Tokens::new(),
        };
        let name = &declared.ident;
        let fields = variables.into_iter().zip(&declared.fields).collect();
        Self { declared, fields, pattern: quote!(Self::#name #pattern) }
    }

    /// The text of an attribute of the variant.
    fn said(&self, name: &str) -> Result<Tokens> {
        let missing = || Error::new_spanned(self.declared, format!("it has no #[{name}(..)] with its text"));
        let attribute = attribute(&self.declared.attrs, name).ok_or_else(missing)?;
        attribute.meta.require_list().map(|list| list.tokens.clone())
    }
}

fn expand(input: TokenStream, derive: fn(&DeriveInput, &[Variant<'_>]) -> Result<Tokens>) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let Data::Enum(data) = &input.data else { panic!("it is for enums") };
    let variants: Vec<Variant<'_>> = data.variants.iter().map(Variant::new).collect();
    derive(&input, &variants).unwrap_or_else(Error::into_compile_error).into()
}

fn attribute<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attributes.iter().find(|attribute| attribute.path().is_ident(name))
}

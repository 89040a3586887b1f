//! The modules of a crate, with the names that each defines, re-exports and uses.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

/// The modules of a crate by path, like `router::registry`; the root is "".
pub(super) type Tree = BTreeMap<String, Module>;

pub(super) struct Module {
    /// Relative to the root file's folder.
    pub(super) file: PathBuf,
    pub(super) children: HashSet<String>,
    /// The names of defined items.
    pub(super) items: HashSet<String>,
    pub(super) imports: Vec<Import>,
    /// The paths in the code.
    pub(super) mentions: Vec<Mention>,
}

/// A name that a `use` imports.
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// `*` for all names.
    pub(super) name: String,
    pub(super) is_public: bool,
    pub(super) line: usize,
}

pub(super) struct Mention {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// Reads the modules of the crate with this root file, except for test modules.
pub(super) fn read(root: &Path, read: &impl Fn(&Path) -> Result<String>) -> Result<Tree> {
    let mut tree = Tree::new();
    let folder = root.parent().context("a root file lies in a folder")?;
    let items = parse(root, read)?;
    let name = root.file_name().context("a root file has a name")?;
    let place = Place { module: "", file: Path::new(name), children: Path::new("") };
    add(&mut tree, place, &items, &|file| parse(&folder.join(file), read).ok())?;
    Ok(tree)
}

fn parse(path: &Path, read: &impl Fn(&Path) -> Result<String>) -> Result<Vec<Item>> {
    let file = syn::parse_file(&read(path)?);
    Ok(file.with_context(|| format!("{} does not parse", path.display()))?.items)
}

#[derive(Clone, Copy)]
struct Place<'a> {
    module: &'a str,
    file: &'a Path,
    /// The folder of the files of its children.
    children: &'a Path,
}

fn add(
    tree: &mut Tree,
    place: Place<'_>,
    items: &[Item],
    open: &impl Fn(&Path) -> Option<Vec<Item>>,
) -> Result<()> {
    let mut module = Module {
        file: place.file.to_owned(),
        children: HashSet::new(),
        items: HashSet::new(),
        imports: Vec::new(),
        mentions: Vec::new(),
    };
    for item in items {
        if is_test(attributes(item)) {
            continue;
        }
        if let Item::Mod(child) = item {
            let name = child.ident.to_string();
            let path = join(place.module, &name);
            let folder = place.children.join(&name);
            if let Some((_, items)) = &child.content {
                let place = Place { module: &path, file: place.file, children: &folder };
                add(tree, place, items, open)?;
            } else {
                let files = [folder.join("mod.rs"), folder.with_extension("rs")];
                let Some((file, items)) = files.iter().find_map(|file| Some((file, open(file)?)))
                else {
                    bail!("the file of the module {path} is missing or invalid");
                };
                let place = Place { module: &path, file, children: &folder };
                add(tree, place, &items, open)?;
            }
            module.children.insert(name);
        } else {
            module.items.extend(name(item));
            module.visit_item(item);
        }
    }
    tree.insert(place.module.to_owned(), module);
    Ok(())
}

/// The path of a module or an item in another module.
pub(super) fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_public = !matches!(item.vis, Visibility::Inherited);
        self.import(&item.tree, Vec::new(), is_public);
    }

    // A module inside of a function.
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let line = path.span().start().line;
        let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_none() {
            self.mentions.push(Mention { path: segments, line });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        visit::visit_macro(self, item);
        self.tokens(item.tokens.clone());
    }
}

impl Module {
    fn import(&mut self, tree: &UseTree, mut path: Vec<String>, is_public: bool) {
        let line = tree.span().start().line;
        let (last, name) = match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                return self.import(&part.tree, path, is_public);
            }
            UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|tree| self.import(tree, path.clone(), is_public));
            }
            UseTree::Glob(_) => (None, "*".to_owned()),
            UseTree::Name(name) => (Some(name.ident.to_string()), name.ident.to_string()),
            UseTree::Rename(both) => (Some(both.ident.to_string()), both.rename.to_string()),
        };
        let of_self = last.as_deref() == Some("self") && !path.is_empty();
        let name = match path.last() {
            Some(last) if of_self && name == "self" => last.clone(),
            _ => name,
        };
        path.extend(last.filter(|_| !of_self));
        self.imports.push(Import { path, name, is_public, line });
    }

    /// Finds paths in the arguments of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.mention(&mut path, line);
                    }
                    if path.is_empty() {
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.mention(&mut path, line);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.mention(&mut path, line);
    }

    fn mention(&mut self, path: &mut Vec<String>, line: usize) {
        if !path.is_empty() {
            self.mentions.push(Mention { path: std::mem::take(path), line });
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        attribute.path().is_ident("cfg")
            && list.is_ok_and(|list| matches!(&*list.tokens.to_string(), "test" | "doctest"))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

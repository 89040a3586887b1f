//! The modules of a crate, with the names that each defines, re-exports and uses.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

/// The modules of a crate by path, like `router::registry`; the root is "".
pub(super) type Tree = BTreeMap<String, Module>;

#[derive(Default)]
pub(super) struct Module {
    /// Relative to the root file's folder.
    pub(super) file: PathBuf,
    pub(super) children: HashSet<String>,
    /// The names of defined items.
    pub(super) items: HashSet<String>,
    pub(super) imports: Vec<Use>,
    /// The paths in the code.
    pub(super) mentions: Vec<Use>,
}

#[derive(Default)]
pub(super) struct Use {
    pub(super) path: Vec<String>,
    /// The name that is imported, `*` for all. `None` for a path in the code.
    pub(super) import: Option<String>,
    pub(super) is_public: bool,
    pub(super) line: usize,
}

/// Reads the modules of the crate with this root file, except for test modules.
pub(super) fn read(root: &Path, read: &impl Fn(&Path) -> Result<String>) -> Result<Tree> {
    let folder = root.parent().context("a root file lies in a folder")?;
    let file = root.strip_prefix(folder)?;
    let parse = |file: &Path| {
        let parsed = syn::parse_file(&read(&folder.join(file))?);
        Ok(parsed.with_context(|| format!("{} does not parse", file.display()))?.items)
    };
    let mut tree = Tree::new();
    add(&mut tree, "", (file, Path::new("")), &parse(file)?, &parse)?;
    Ok(tree)
}

/// Adds a module with its items. `children` is the folder of the files of its children.
fn add(
    tree: &mut Tree,
    path: &str,
    (file, children): (&Path, &Path),
    items: &[Item],
    parse: &impl Fn(&Path) -> Result<Vec<Item>>,
) -> Result<()> {
    let mut module = Module { file: file.to_owned(), ..Module::default() };
    for item in items {
        let (attributes, name) = parts(item);
        if is_test(attributes) {
            continue;
        }
        let Item::Mod(child) = item else {
            module.items.extend(name.map(Ident::to_string));
            module.visit_item(item);
            continue;
        };
        let name = child.ident.to_string();
        let (inner, folder) = (join(path, &name), children.join(&name));
        if let Some((_, items)) = &child.content {
            add(tree, &inner, (file, &folder), items, parse)?;
        } else {
            let (nested, flat) = (folder.join("mod.rs"), folder.with_extension("rs"));
            let (file, items) = match parse(&nested) {
                Ok(items) => (nested, items),
                Err(_) => (flat.clone(), parse(&flat)?),
            };
            add(tree, &inner, (&file, &folder), &items, parse)?;
        }
        module.children.insert(name);
    }
    tree.insert(path.to_owned(), module);
    Ok(())
}

/// The path of a module or an item in another module.
pub(super) fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
    }

    // A module inside of a function.
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string());
            self.mention(segments.collect(), path.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        visit::visit_macro(self, item);
        self.tokens(item.tokens.clone());
    }
}

impl Module {
    fn import(&mut self, tree: &UseTree, path: &[String], is_public: bool) {
        let longer = |ident: &Ident| [path, &[ident.to_string()]].concat();
        let (path, name) = match tree {
            UseTree::Path(part) => return self.import(&part.tree, &longer(&part.ident), is_public),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, path, is_public));
            }
            UseTree::Glob(_) => (path.to_vec(), "*".to_owned()),
            UseTree::Name(name) if name.ident == "self" => {
                (path.to_vec(), path.last().cloned().unwrap_or_default())
            }
            UseTree::Name(name) => (longer(&name.ident), name.ident.to_string()),
            UseTree::Rename(both) if both.ident == "self" => {
                (path.to_vec(), both.rename.to_string())
            }
            UseTree::Rename(both) => (longer(&both.ident), both.rename.to_string()),
        };
        let line = tree.span().start().line;
        self.imports.push(Use { path, import: Some(name), is_public, line });
    }

    /// Finds paths in the arguments of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut line, mut colons) = (Vec::new(), 0, 0);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.mention(std::mem::take(&mut path), line);
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                }
                other => {
                    self.mention(std::mem::take(&mut path), line);
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
            colons = 0;
        }
        self.mention(path, line);
    }

    fn mention(&mut self, path: Vec<String>, line: usize) {
        if !path.is_empty() {
            self.mentions.push(Use { path, line, ..Use::default() });
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

/// The attributes of an item, and the name that it defines.
fn parts(item: &Item) -> (&[Attribute], Option<&Ident>) {
    macro_rules! parts {
        ($($named:ident)*) => {
            match item {
                $(Item::$named(item) => (&item.attrs, Some(&item.ident)),)*
                Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
                Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
                Item::Impl(item) => (&item.attrs, None),
                Item::Use(item) => (&item.attrs, None),
                _ => (&[], None),
            }
        };
    }
    parts!(Const Enum Mod Static Struct Trait Type)
}

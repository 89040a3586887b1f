//! Limits the number of items that rustdoc lists on the page of a module.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::metadata::{Metadata, Package};
use crate::workspace::Workspace;

/// The maximum number of rows of an index, about one screen.
const MOST: usize = 55;

/// Counts the rows of every module of our libraries, whose documentation has just been built.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let metadata = Metadata::load(workspace)?;
    let docs = Path::new(&metadata.target_directory).join("doc");
    let is_library = |package: &&Package| package.has("lib") || package.has("proc-macro");
    for package in metadata.members().filter(is_library) {
        // Only linked pages: the folder keeps pages of removed modules.
        let mut modules = vec![package.name.replace('-', "_")];
        while let Some(module) = modules.pop() {
            let page = docs.join(&module).join("index.html");
            let page = std::fs::read_to_string(&page)
                .with_context(|| format!("cannot read {}", page.display()))?;
            let rows = rows(&page);
            ensure!(rows <= MOST, "{module} lists {rows} items; the maximum is {MOST}");
            modules.extend(inner_modules(&page).map(|inner| format!("{module}/{inner}")));
        }
    }
    Ok(())
}

/// Every row starts with a term of a definition list, which Markdown does not generate.
fn rows(page: &str) -> usize {
    let lists = page.split("<dl class=\"item-table").skip(1);
    lists.map(|list| list.split("</dl>").next().unwrap_or(list).matches("<dt").count()).sum()
}

fn inner_modules(page: &str) -> impl Iterator<Item = &str> {
    let links = page.split("<a class=\"mod\" href=\"").skip(1);
    links.filter_map(|link| link.split_once("/index.html\"")).map(|(name, _)| name).filter(|name| {
        // Other links lead to other crates, or upwards.
        name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = concat!(
        "<dl><dt>prose</dt></dl>",
        "<dl class=\"item-table reexports\"><dt id=\"a\"><code>pub use a;</code></dt></dl>",
        "<dl class=\"item-table\"><dt><a class=\"mod\" href=\"http/index.html\" title=\"\">http</a>",
        "</dt><dd>A link to <a class=\"mod\" href=\"../other/index.html\">this</a></dd>",
        "<dt><a class=\"mod\" href=\"code/index.html\">code</a></dt></dl><dl><dt></dt></dl>",
    );

    #[test]
    fn counts_rows() {
        assert_eq!(rows(PAGE), 3);
        assert_eq!(inner_modules(PAGE).collect::<Vec<_>>(), ["http", "code"]);
        assert_eq!((rows(""), inner_modules("").count()), (0, 0));
    }
}

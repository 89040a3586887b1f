//! Third-party programs that the server is tested with, at pinned versions under `target/peers`.

mod node;
mod python;
mod stamp;

pub(crate) use self::node::{Node, install as install_packages};
pub(crate) use self::python::Python;
pub(crate) use self::stamp::create_once;

//! Third-party programs that the server is tested with, at pinned versions. They are installed once per machine, in
//! `$CARGO_HOME/trunkline-peers`.

mod node;
mod python;
mod stamp;

pub(crate) use self::node::{Node, install as install_packages};
pub(crate) use self::python::Python;
pub(crate) use self::stamp::create_once;
use self::stamp::provide;

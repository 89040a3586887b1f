#![allow(unused_variables)]

use std::borrow::Cow;
use std::path::Path;

use trunkline::rpc;

struct Service;

#[rpc]
impl Service {
    fn text(&self, text: &str) {}

    fn slice(&self, bytes: &[u8], path: &Path) {}

    fn inside(&self, texts: Vec<&str>, text: Cow<'static, str>) {}
}

fn main() {}

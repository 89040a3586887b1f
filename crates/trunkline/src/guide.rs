//! The chapters of the guide.

#[doc = include_str!("docs/methods.md")]
pub mod methods {}

#[doc = include_str!("docs/params.md")]
pub mod params {}

#[doc = include_str!("docs/errors.md")]
pub mod errors {}

#[doc = include_str!("docs/layers.md")]
pub mod layers {}

#[doc = include_str!("docs/batch.md")]
pub mod batch {}

#[doc = include_str!("docs/clients.md")]
pub mod clients {}

#[doc = include_str!("docs/access.md")]
pub mod access {}

#[doc = include_str!("docs/edn.md")]
pub mod edn {}

#[doc = include_str!("docs/testing.md")]
pub mod testing {}

#[doc = include_str!("docs/from_jsonrpsee.md")]
pub mod from_jsonrpsee {}

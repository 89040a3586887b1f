//! The names by which this crate's types tell its serializer and deserializer what they are. Other
//! formats do not look at names of newtype structs.

pub(super) const VALUE: &str = "$trunkline_edn::Value";
/// A key that other formats refuse.
pub(super) const KEY: &str = "$trunkline_edn::Key";
/// A string that stays one where it is the key of a map.
pub(super) const STRING: &str = "$trunkline_edn::String";
pub(super) const KEYWORD: &str = "$trunkline_edn::Keyword";
pub(super) const SYMBOL: &str = "$trunkline_edn::Symbol";
pub(super) const INST: &str = "$trunkline_edn::Inst";
pub(super) const UUID: &str = "$trunkline_edn::Uuid";
pub(super) const INTEGER: &str = "$trunkline_edn::Integer";
pub(super) const DECIMAL: &str = "$trunkline_edn::Decimal";
pub(super) const RATIO: &str = "$trunkline_edn::Ratio";

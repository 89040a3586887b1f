use crate::parts::{Kind, Parts};
use crate::sequence::sequence;
use crate::unnesting;
use crate::value::Value;
use crate::writer;

sequence! {
    /// Values in parentheses. As in Clojure, it equals the [`Vector`](crate::Vector) of the same values
    /// once both are [`Value`]s.
    List
}

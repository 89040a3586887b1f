use crate::parts::{Kind, Parts};
use crate::sequence::sequence;
use crate::unnesting;
use crate::value::Value;
use crate::writer;

sequence! {
    /// Values in brackets: what arrays of JSON become.
    Vector
}

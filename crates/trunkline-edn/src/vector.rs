use crate::sequence::sequence;
use crate::unnesting;
use crate::value::Value;

sequence! {
    /// Values in brackets: what arrays of JSON become.
    Vector
}

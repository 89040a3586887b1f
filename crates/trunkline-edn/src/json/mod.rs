//! JSON both ways.
//!
//! | EDN | JSON |
//! |---|---|
//! | `nil`, booleans, strings | as they are |
//! | characters | a string of one character |
//! | keywords, symbols | their text without the colon: `namespace/name` |
//! | integers, decimals | the same number, digit by digit |
//! | floats | the number; `##Inf`, `##-Inf` and `##NaN` are errors |
//! | ratios | the nearest float |
//! | lists, vectors, sets | arrays, in the order of the source |
//! | maps | objects, in the order of the source |
//! | keys: strings, keywords, symbols, integers, booleans, characters, `#inst`, `#uuid` | their text |
//! | other keys, and two keys with the same text | an error |
//! | `#inst`, `#uuid` | their text as a string |
//! | other tags | an error |
//!
//! Back from JSON, arrays are vectors and objects are maps. Their keys are keywords where every reader
//! of EDN takes them for those, else strings. Strings stay strings, whatever they look like. Integers
//! stay exact. A number with a fraction or an exponent is a float, or, if it is too large or too small
//! for one, a decimal, of which the exponent has 32 bits: `1e2147483648` is an error. `-0` is the
//! integer 0.
//!
//! ```
//! use trunkline_edn::json;
//!
//! let order = json::from_str(r#"{"id": 7, "due date": null, "shop/lines": [1.0, 2e400]}"#)?;
//! assert_eq!(order.to_string(), r#"{:id 7, "due date" nil, :shop/lines [1.0 2E+400M]}"#);
//!
//! assert_eq!(json::to_string(&"{:a/b #{1 2}, 3 \\c}".parse()?)?, r#"{"a/b":[1,2],"3":"c"}"#);
//! # Ok::<(), trunkline_edn::Error>(())
//! ```
//!
//! Neither way needs a stack for what is nested.

mod duplicate;
mod key;
mod number;
mod options;
mod read;
mod text;
mod token;
mod transcription;
mod write;

pub use key::key_text;
pub use options::{FromJson, Keys, ToJson};
pub use read::{Reader, from_str, from_str_with};
pub use transcription::to_edn;
pub use write::{to_string, to_string_with, write};

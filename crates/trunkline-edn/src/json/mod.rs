//! Conversion to and from JSON.
//!
//! | EDN | JSON |
//! |---|---|
//! | `nil`, booleans, strings | `null`, booleans, strings |
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
//! From JSON, arrays become vectors and objects maps. A key becomes a keyword if every reader of EDN accepts
//! it, else a string. Strings remain strings, and integers are exact. A number with a fraction or an exponent is
//! a float, or a decimal if it is out of the range of floats. Its exponent has at most 32 bits: `1e2147483648` is
//! an error. `-0` is the integer 0.
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
//! Depth is limited in both directions: to [`FromJson::depth`], and to 1,024 when JSON is written.

mod reader;
mod writer;

pub use reader::{FromJson, Keys, Reader, from_str, from_str_with, to_edn};
pub use writer::{ToJson, key_text, to_string, to_string_with, write};

//! EDN, the data notation of Clojure: exact values, a strict reader, writers, serde, and conversion to and from
//! JSON.
//!
//! ```
//! use trunkline_edn::{Value, edn, json};
//!
//! let config: Value = "{:enabled? true, :features [:a :b], :since #inst \"2024\"}".parse()?;
//! assert_eq!(config.get("enabled?"), Some(&Value::Bool(true)));
//! assert_eq!(config, edn!({:since #inst "2024", :enabled? true, :features [:a :b]}));
//! assert_eq!(
//!     json::to_string(&config)?,
//!     r#"{"enabled?":true,"features":["a","b"],"since":"2024-01-01T00:00:00Z"}"#,
//! );
//! # Ok::<(), trunkline_edn::Error>(())
//! ```
//!
//! [`Value`] is any form: maps and sets keep their order, integers, decimals and ratios their digits, and a value
//! with an unknown tag is [`Tagged`]. [`read`] reads one form of text, and [`Reader`] several. `Display` writes a
//! value: on one line with `{}`, and indented with `{:#}`.
//!
//! The reader accepts the same text as `clojure.edn` (the few exceptions are listed at [`read_with`]), within
//! [`Limits`]. Depth is limited to 1,024 by default, which fits the stack of a thread: values recurse when they are
//! cloned, compared, written and dropped. An [`Error`] has the line, the column, the path and the [`Reason`].
//!
//! Other types are read and written with serde:
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use trunkline_edn::{Inst, Keyword};
//!
//! #[derive(Serialize, Deserialize)]
//! #[serde(rename_all = "kebab-case")]
//! struct Job {
//!     queue: Keyword,
//!     run_at: Option<Inst>,
//! }
//!
//! let job: Job = trunkline_edn::from_str("{:queue :mail/out, :run-at #inst \"2024-02\"}")?;
//! assert_eq!(
//!     trunkline_edn::to_string(&job)?,
//!     "{:queue :mail/out, :run-at #inst \"2024-02-01T00:00:00Z\"}",
//! );
//! # Ok::<(), trunkline_edn::Error>(())
//! ```
//!
//! [`json`] converts between EDN and JSON; [`edn!`] creates values in Rust code.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod edn_macro;
mod error;
pub mod json;
mod location;
#[cfg(feature = "rpc")]
pub mod rpc;
mod scanner;
mod serde;
mod syntax;
mod text;
mod value;

pub use self::serde::{from_ref, from_str, from_value, to_string, to_string_pretty, to_value};
pub use error::{Error, Reason};
pub use location::{Path, Position, Step};
pub use text::{Limits, Reader, read, read_with};
pub use value::{
    Decimal, Inst, Integer, Keyword, List, Map, Ratio, Set, Symbol, Tagged, Uuid, Value, Vector,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! Conversion of messages between formats.

use bytes::Bytes;

#[cfg(feature = "edn")]
use super::edn;
use super::kind::Format;
use crate::error::ErrorObject;
use crate::limits::calls::Limits;

impl Format {
    /// Converts a message in this format to JSON text, for protocols with messages that are not calls. JSON is
    /// returned unchanged and not validated.
    ///
    /// ```
    /// # #[cfg(feature = "edn")] {
    /// use trunkline::protocol::Format;
    /// use trunkline::Limits;
    ///
    /// let json = Format::Edn.read("{:ids [1 2]}".into(), &Limits::default())?;
    /// assert_eq!(json, r#"{"ids":[1,2]}"#);
    /// assert_eq!(Format::Edn.write(json.into())?, b"{:ids [1 2]}");
    /// # }
    /// # Ok::<(), trunkline::ErrorObject>(())
    /// ```
    ///
    /// # Errors
    /// As for a call in EDN: -32700 if the text is not EDN or nested deeper than the limit, -32603 if it cannot be
    /// represented in JSON.
    #[cfg_attr(
        not(feature = "edn"),
        expect(unused_variables, reason = "JSON is parsed by the caller")
    )]
    pub fn read(self, text: Bytes, limits: &Limits) -> Result<Bytes, ErrorObject> {
        match self {
            Self::Json => Ok(text),
            #[cfg(feature = "edn")]
            Self::Edn => edn::to_json(&text, limits),
        }
    }

    /// Converts JSON text to a message in this format, the inverse of [`read`](Self::read).
    ///
    /// # Errors
    /// -32603 if the text is not JSON or cannot be represented in EDN, such as an object with duplicate keys. Text
    /// that serde has written from a type or a [`Value`](serde_json::Value) can be represented, unless it is nested
    /// more than 1,024 deep.
    pub fn write(self, json: Vec<u8>) -> Result<Vec<u8>, ErrorObject> {
        match self {
            Self::Json => Ok(json),
            #[cfg(feature = "edn")]
            Self::Edn => edn::from_json(&json),
        }
    }
}

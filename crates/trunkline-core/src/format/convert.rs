//! Messages in one format as messages in another.

use bytes::Bytes;

#[cfg(feature = "edn")]
use super::edn;
use super::kind::Format;
use crate::error::ErrorObject;
use crate::limits::calls::Limits;

impl Format {
    /// A message in this format as JSON text, for a protocol of JSON messages that are not calls. JSON
    /// is passed on as it is, and not checked: whoever reads the result does that.
    ///
    /// ```
    /// # #[cfg(feature = "edn")] {
    /// use trunkline::protocol::Format;
    /// use trunkline::Limits;
    ///
    /// let json = Format::Edn.read("{:say [1 2]}".into(), &Limits::default())?;
    /// assert_eq!(json, r#"{"say":[1,2]}"#);
    /// assert_eq!(Format::Edn.write(json.into())?, b"{:say [1 2]}");
    /// # }
    /// # Ok::<(), trunkline::ErrorObject>(())
    /// ```
    ///
    /// # Errors
    /// As of a call in EDN: -32700 if it is no EDN, or nested deeper than the limits allow; -32603 if
    /// it has no JSON.
    #[cfg_attr(not(feature = "edn"), expect(unused_variables, reason = "JSON is read elsewhere"))]
    pub fn read(self, text: Bytes, limits: &Limits) -> Result<Bytes, ErrorObject> {
        match self {
            Self::Json => Ok(text),
            #[cfg(feature = "edn")]
            Self::Edn => edn::to_json(&text, limits),
        }
    }

    /// JSON text as a message in this format: the other way of [`read`](Self::read).
    ///
    /// # Errors
    /// -32603 if it is no JSON, or has no EDN, like an object with two keys of one name. Text that serde
    /// wrote from a type or a [`Value`](serde_json::Value) has, unless it is nested over 1,024 deep.
    pub fn write(self, json: Vec<u8>) -> Result<Vec<u8>, ErrorObject> {
        match self {
            Self::Json => Ok(json),
            #[cfg(feature = "edn")]
            Self::Edn => edn::from_json(&json),
        }
    }
}

//! A service trait with examples of everything that a client omits, renames or passes on.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use trunkline::{CallId, ErrorObject, RpcError, code, rpc};

/// The calls that the shop has recorded.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, what: impl Into<String>) -> usize {
        let mut seen = self.0.lock().unwrap();
        seen.push(what.into());
        seen.len()
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[derive(Debug, PartialEq, RpcError)]
pub(super) enum ShopError {
    #[rpc(code = 1, message = "no {item} left")]
    OutOfStock { item: String },
    #[rpc(code = 2, message = "closed")]
    Closed,
}

/// An alias hides the error from the macro.
pub(super) type Result<T> = std::result::Result<T, ShopError>;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Receipt {
    pub(super) items: Vec<String>,
    pub(super) total: u64,
}

/// Sells things.
#[rpc(namespace = "shop")]
pub(super) trait Shop {
    /// The price of several items.
    async fn price(
        &self,
        item: String,
        #[param(default = 10)] count: u64,
    ) -> std::result::Result<u64, ShopError>;

    async fn buy(&self, #[param(variadic)] items: Vec<String>) -> Result<Receipt>;

    fn caller(
        &self,
        #[extract] id: CallId,
        r#type: Option<String>,
        #[param(name = "for")] recipient: u8,
    ) -> String;

    fn currencies(&self) -> Vec<&'static str>;

    /// Has the name of a method of `Clone`, which clients implement.
    fn clone(&self, item: String) -> String;

    fn refuse(&self) -> std::result::Result<(), ErrorObject>;

    #[rpc(idempotent)]
    fn busy_once(&self) -> std::result::Result<usize, ErrorObject>;

    #[rpc(read_only)]
    fn look_once(&self) -> std::result::Result<usize, ErrorObject>;

    fn pay_once(&self) -> std::result::Result<usize, ErrorObject>;

    #[notification]
    async fn ring(&self, line: String);

    #[rpc(skip)]
    fn unit<T: From<u8>>(&self) -> T {
        T::from(3)
    }

    #[cfg(any())]
    fn absent(&self, of: NoSuchType) -> NoSuchType;
}

pub(super) struct Corner {
    pub(super) seen: Seen,
}

impl Corner {
    /// Fails the first time.
    fn once(&self) -> std::result::Result<usize, ErrorObject> {
        match self.seen.note("came") {
            1 => Err(ErrorObject::new(code::BUSY, "come back")),
            times => Ok(times),
        }
    }
}

impl Shop for Corner {
    async fn price(&self, item: String, count: u64) -> std::result::Result<u64, ShopError> {
        match item.as_str() {
            "apple" => Ok(self.unit::<u64>() * count),
            _ => Err(ShopError::OutOfStock { item }),
        }
    }

    async fn buy(&self, items: Vec<String>) -> Result<Receipt> {
        match items.is_empty() {
            true => Err(ShopError::Closed),
            false => Ok(Receipt { total: 3 * items.len() as u64, items }),
        }
    }

    fn caller(&self, id: CallId, r#type: Option<String>, recipient: u8) -> String {
        format!("{} {type:?} {recipient}", id.0.is_some())
    }

    fn currencies(&self) -> Vec<&'static str> {
        vec!["EUR"]
    }

    fn clone(&self, item: String) -> String {
        item.repeat(2)
    }

    fn refuse(&self) -> std::result::Result<(), ErrorObject> {
        Err(ErrorObject::new(7, "no").with_data(&"data"))
    }

    fn busy_once(&self) -> std::result::Result<usize, ErrorObject> {
        self.once()
    }

    fn look_once(&self) -> std::result::Result<usize, ErrorObject> {
        self.once()
    }

    fn pay_once(&self) -> std::result::Result<usize, ErrorObject> {
        self.once()
    }

    async fn ring(&self, line: String) {
        self.seen.note(line);
    }
}

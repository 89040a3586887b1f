use trunkline::__private::serde::{Deserialize, Serialize};
use trunkline::rpc;

/// A type that servers can read and clients cannot send.
#[derive(Deserialize)]
#[serde(crate = "trunkline::__private::serde")]
struct ReadOnly;

/// A type that servers can send and clients cannot read.
#[derive(Serialize)]
#[serde(crate = "trunkline::__private::serde")]
struct WriteOnly;

#[rpc]
trait Service {
    fn sends(&self, read_only: ReadOnly, #[param(default = None)] maybe: Option<ReadOnly>);

    fn reads(&self) -> WriteOnly;

    async fn reads_many(&self) -> Result<Vec<WriteOnly>, trunkline::ErrorObject>;

    #[notification]
    fn log(&self, #[param(default = ReadOnly)] read_only: ReadOnly);
}

/// A trait without a client has no such requirements.
#[rpc(server)]
trait Served {
    fn takes_and_gives(&self, read_only: ReadOnly) -> WriteOnly;
}

fn main() {}

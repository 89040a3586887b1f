use serde::{Deserialize, Serialize};
use trunkline::rpc;

/// Is read by servers, and written by nobody.
#[derive(Deserialize)]
struct ReadOnly;

/// Is written by servers, and read by nobody.
#[derive(Serialize)]
struct WriteOnly;

#[rpc]
trait Service {
    fn sends(&self, read_only: ReadOnly, #[param(default = None)] maybe: Option<ReadOnly>);

    fn reads(&self) -> WriteOnly;

    async fn reads_many(&self) -> Result<Vec<WriteOnly>, trunkline::ErrorObject>;

    #[notification]
    fn tells(&self, #[param(default = ReadOnly)] read_only: ReadOnly);
}

/// Nothing of this is asked of what a server does.
#[rpc(server)]
trait Served {
    fn takes_and_gives(&self, read_only: ReadOnly) -> WriteOnly;
}

fn main() {}

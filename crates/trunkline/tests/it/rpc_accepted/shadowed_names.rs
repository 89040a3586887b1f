//! The generated code does not depend on names that the user may have shadowed.

#![expect(dead_code, non_snake_case, reason = "the names are those that generated code could use")]

mod core {}
mod std {}
mod serde {}

struct Result;
struct Option;
struct Send;
struct Sync;
struct Future;
struct Router;
struct Arc;
struct Json;

struct Service;

#[::trunkline::rpc]
impl Service {
    fn service(&self, router: u8, service: u8, params: u8) -> u8 {
        router + service + params
    }
}

#[::trunkline::rpc]
trait Trait {
    async fn method(&self, formatter: String) -> u8 {
        formatter.len() as u8
    }
}

#[derive(Debug, ::trunkline::RpcError)]
enum Error {
    #[rpc(code = 1, message = "{formatter} {error} {Data}")]
    Named { formatter: u8, error: u8, Data: u8 },
    #[rpc(code = 2, message = "{0}")]
    Tuple(u8, u8),
}

#[test]
fn is_accepted() {
    let _: ::trunkline::Router = Service.into_router();
}

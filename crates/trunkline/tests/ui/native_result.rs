use trunkline::edn::{Edn, Value, edn};
use trunkline::{ErrorObject, Router, rpc};

struct Jobs;

#[rpc]
impl Jobs {
    fn exact(&self) -> Result<Edn<Value>, ErrorObject> {
        Ok(Edn(edn!({:queue :mail})))
    }

    fn either(&self) -> Result<Value, ErrorObject> {
        Ok(edn!({:queue :mail}))
    }
}

fn main() {
    let value = || edn!(:mail);
    let _: Router = Router::new()
        .method("value", value)
        .method("exact", move || Ok::<_, ErrorObject>(Edn(value())))
        .method("later", move || async move { Ok::<_, ErrorObject>(Edn(value())) })
        .method("struct", || Ok::<_, ErrorObject>(trunkline::server::Config { port: 0, handlers: Router::new() }.port))
        .method("either", move || Ok::<_, ErrorObject>(value()));
}

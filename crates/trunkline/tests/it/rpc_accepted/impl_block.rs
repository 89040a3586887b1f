//! All attributes on an `impl` block, in a module that imports only the macro.

/// A service.
pub struct Service;

#[trunkline::rpc(namespace = "all")]
impl Service {
    const LIMIT: u8 = 3;

    /// Documented.
    pub fn sync(&self, a: u8, b: Option<u8>) -> u8 {
        a + b.unwrap_or(Self::LIMIT)
    }

    #[rpc(name = "Async")]
    async fn asynchronous(
        &self,
        #[param(name = "from", default = 1)] mut a: u8,
    ) -> Result<u8, trunkline::ErrorObject> {
        a = std::future::ready(a + 1).await;
        Ok(a)
    }

    #[rpc(blocking)]
    fn blocking(
        &self,
        #[extract] _id: trunkline::CallId,
        #[param(variadic)] rest: Vec<u8>,
    ) -> usize {
        rest.len()
    }

    #[notification]
    fn notification(&self) {}

    #[rpc(skip)]
    fn generic<T>(self, value: &T) -> &T {
        value
    }
}

#[test]
fn is_accepted() {
    assert_eq!(Service.generic(&1), &1);
    let _: trunkline::Router = Service.into_router();
}

#[allow(clippy::needless_pass_by_value, reason = "params are owned")]
impl<D, S> Search<D, S>
where
    D: Database,
{
    async fn find(&self, query: String) -> Result<Vec<Row>, DatabaseError> {
        self.database.find(query).await
    }
}
impl<D, S> Search<D, S>
where
    D: Database,
{
    /// Registers the methods: `find`.
    pub fn into_rpc<RouterState>(self) -> ::trunkline::Router<RouterState>
    where
        Self: ::core::marker::Send + ::core::marker::Sync + 'static,
        RouterState: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync
            + 'static,
    {
        let service = ::std::sync::Arc::new(self);
        let router = ::trunkline::Router::new();
        let router = {
            #[derive(::trunkline::__private::serde::Deserialize)]
            #[serde(crate = "::trunkline::__private::serde")]
            struct FindParams {
                query: String,
            }
            let service = ::std::sync::Arc::clone(&service);
            router
                .operation(
                    ::trunkline::Operation::new(
                        "find",
                        move |
                            ::trunkline::Params(params): ::trunkline::Params<FindParams>|
                        {
                            let service = ::std::sync::Arc::clone(&service);
                            async move {
                                ::trunkline::IntoOutcome::into_outcome(
                                    Self::find(&service, params.query).await,
                                )
                            }
                        },
                    ),
                )
        };
        router
    }
}

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
    pub fn into_router<RouterState>(self) -> ::trunkline::Router<RouterState>
    where
        Self: ::core::marker::Send + ::core::marker::Sync + 'static,
        RouterState: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync
            + 'static,
    {
        let service = ::std::sync::Arc::new(self);
        let router = ::trunkline::Router::new();
        let router = {
            use ::trunkline::__private::Unprobed as _;
            #[derive(::trunkline::__private::serde::Deserialize)]
            #[serde(crate = "::trunkline::__private::serde")]
            struct FindParams {
                query: ::trunkline::__private::Param<String>,
            }
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "find",
                    move |::trunkline::Params(params): ::trunkline::Params<FindParams>| {
                        let service = ::std::sync::Arc::clone(&service);
                        async move {
                            ::trunkline::IntoOutcome::into_outcome(
                                Self::find(&service, params.query.0).await,
                            )
                        }
                    },
                )
                .input_schema(
                    ::trunkline::__private::ObjectSchema::of_params()
                        .member(
                            "query",
                            ::trunkline::__private::Probe::<String>::new().schema(),
                        )
                        .optional_if(
                            ::trunkline::__private::Probe::<String>::new()
                                .may_be_absent(),
                        ),
                )
                .strict_strings();
            let operation = ::trunkline::__private::Probe::<Vec<Row>>::new()
                .output(operation);
            let operation = ::trunkline::__private::Probe::<DatabaseError>::new()
                .errors(operation);
            router.operation(operation)
        };
        router
    }
}

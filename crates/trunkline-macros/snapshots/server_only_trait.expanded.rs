trait Store<K> {
    fn rows(&self) -> Vec<K>;
    /// Registers the methods: `rows`.
    fn into_router<S>(self) -> ::trunkline::Router<S>
    where
        Self: ::core::marker::Sized + ::core::marker::Send + ::core::marker::Sync
            + 'static,
        S: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        let service = ::std::sync::Arc::new(self);
        let router = ::trunkline::Router::new();
        let router = {
            use ::trunkline::__private::Unprobed as _;
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "rows",
                    move || {
                        ::trunkline::IntoOutcome::into_outcome(
                            ::trunkline::Json(Self::rows(&service)),
                        )
                    },
                )
                .input_schema(::trunkline::__private::ObjectSchema::of_params())
                .strict_strings();
            let operation = ::trunkline::__private::Probe::<Vec<K>>::new()
                .output(operation);
            router.operation(operation)
        };
        router
    }
}

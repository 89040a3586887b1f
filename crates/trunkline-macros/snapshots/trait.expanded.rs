/// Arithmetic.
pub trait Math: Display {
    /// Divides.
    fn divide(
        &self,
        dividend: f64,
        divisor: f64,
    ) -> impl ::core::future::Future<
        Output = Result<f64, MathError>,
    > + ::core::marker::Send;
    fn sum(
        &self,
        numbers: Vec<i64>,
    ) -> impl ::core::future::Future<Output = i64> + ::core::marker::Send
    where
        Self: ::core::marker::Sync,
    {
        async move { numbers.iter().sum() }
    }
    fn log(
        &self,
        line: String,
    ) -> impl ::core::future::Future<Output = ()> + ::core::marker::Send;
    fn version(&self) -> &'static str;
    /// Registers the methods: `math.divide`, `math.sum`, `math.log`, `math.version`.
    fn into_rpc<S>(self) -> ::trunkline::Router<S>
    where
        Self: ::core::marker::Sized + ::core::marker::Send + ::core::marker::Sync
            + 'static,
        S: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        let service = ::std::sync::Arc::new(self);
        let router = ::trunkline::Router::new();
        let router = {
            #[derive(::trunkline::__private::serde::Deserialize)]
            #[serde(crate = "::trunkline::__private::serde")]
            struct DivideParams {
                dividend: f64,
                #[serde(default = "DivideParams::default_divisor")]
                divisor: f64,
            }
            impl DivideParams {
                fn default_divisor() -> f64 {
                    1.0
                }
            }
            let service = ::std::sync::Arc::clone(&service);
            router
                .operation(
                    ::trunkline::Operation::new(
                            "math.divide",
                            move |
                                ::trunkline::Params(
                                    params,
                                ): ::trunkline::Params<DivideParams>|
                            {
                                let service = ::std::sync::Arc::clone(&service);
                                async move {
                                    ::trunkline::IntoOutcome::into_outcome(
                                        Self::divide(&service, params.dividend, params.divisor)
                                            .await,
                                    )
                                }
                            },
                        )
                        .description("Divides."),
                )
        };
        let router = {
            #[derive(::trunkline::__private::serde::Deserialize)]
            #[serde(crate = "::trunkline::__private::serde")]
            struct SumParams {
                numbers: Vec<i64>,
            }
            let service = ::std::sync::Arc::clone(&service);
            router
                .operation(
                    ::trunkline::Operation::new(
                        "math.sum",
                        move |
                            ::trunkline::VariadicParams(
                                params,
                            ): ::trunkline::VariadicParams<SumParams>|
                        {
                            let service = ::std::sync::Arc::clone(&service);
                            async move {
                                ::trunkline::IntoOutcome::into_outcome(
                                    ::trunkline::Json(Self::sum(&service, params.numbers).await),
                                )
                            }
                        },
                    ),
                )
        };
        let router = {
            #[derive(::trunkline::__private::serde::Deserialize)]
            #[serde(crate = "::trunkline::__private::serde")]
            struct LogParams {
                line: String,
            }
            let service = ::std::sync::Arc::clone(&service);
            router
                .operation(
                    ::trunkline::Operation::new(
                        "math.log",
                        move |
                            ::trunkline::Params(params): ::trunkline::Params<LogParams>|
                        {
                            let service = ::std::sync::Arc::clone(&service);
                            async move {
                                Self::log(&service, params.line).await;
                                ::trunkline::Json(())
                            }
                        },
                    ),
                )
        };
        let router = {
            let service = ::std::sync::Arc::clone(&service);
            router
                .operation(
                    ::trunkline::Operation::new(
                        "math.version",
                        move || {
                            ::trunkline::IntoOutcome::into_outcome(
                                ::trunkline::Json(Self::version(&service)),
                            )
                        },
                    ),
                )
        };
        router
    }
}

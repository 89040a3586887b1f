#[allow(clippy::needless_pass_by_value, reason = "params are owned")]
impl Calculator {
    /// Adds two numbers.
    ///
    /// The sum wraps around.
    pub async fn add(&self, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
    fn divide(&self, dividend: f64, divisor: f64) -> Result<f64, MathError> {
        checked(dividend / divisor)
    }
    fn factor(&self, number: u64) -> Vec<u64> {
        factors(number)
    }
    /// Forgets everything.
    async fn clear(&self) {
        self.memory.lock().await.clear();
    }
    #[cfg(feature = "debug")]
    async fn dump(&self, peer: Peer) -> String {
        format!("{peer}")
    }
    fn new() -> Self {
        Self::default()
    }
}
impl Calculator {
    /// Registers the methods: `math.add`, `math.Divide`, `math.factor`, `math.clear`, `math.dump`.
    pub fn into_router<S>(self) -> ::trunkline::Router<S>
    where
        S: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        let service = ::std::sync::Arc::new(self);
        let router = ::trunkline::Router::new();
        let router = {
            use ::trunkline::__private::Unprobed as _;
            #[derive(::trunkline::__private::serde::Deserialize)]
            #[serde(crate = "::trunkline::__private::serde")]
            struct AddParams {
                a: ::trunkline::__private::Param<i64>,
                b: ::trunkline::__private::Param<i64>,
            }
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "math.add",
                    move |::trunkline::Params(params): ::trunkline::Params<AddParams>| {
                        let service = ::std::sync::Arc::clone(&service);
                        async move {
                            ::trunkline::IntoOutcome::into_outcome(
                                ::trunkline::Json(
                                    Self::add(&service, params.a.0, params.b.0).await,
                                ),
                            )
                        }
                    },
                )
                .description("Adds two numbers.\n\nThe sum wraps around.")
                .input_schema(
                    ::trunkline::__private::ObjectSchema::of_params()
                        .member(
                            "a",
                            ::trunkline::__private::Probe::<i64>::new().schema(),
                        )
                        .optional_if(
                            ::trunkline::__private::Probe::<i64>::new().may_be_absent(),
                        )
                        .member(
                            "b",
                            ::trunkline::__private::Probe::<i64>::new().schema(),
                        )
                        .optional_if(
                            ::trunkline::__private::Probe::<i64>::new().may_be_absent(),
                        ),
                )
                .strict_strings();
            let operation = ::trunkline::__private::Probe::<i64>::new()
                .output(operation);
            router.operation(operation)
        };
        let router = {
            use ::trunkline::__private::Unprobed as _;
            #[derive(::trunkline::__private::serde::Deserialize)]
            #[serde(crate = "::trunkline::__private::serde")]
            struct DivideParams {
                dividend: ::trunkline::__private::Param<f64>,
                #[serde(default = "DivideParams::default_divisor")]
                divisor: ::trunkline::__private::Param<f64>,
            }
            impl DivideParams {
                fn default_divisor() -> ::trunkline::__private::Param<f64> {
                    ::trunkline::__private::Param(1.0)
                }
            }
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "math.Divide",
                    move |
                        ::trunkline::Params(params): ::trunkline::Params<DivideParams>|
                    {
                        ::trunkline::IntoOutcome::into_outcome(
                            Self::divide(&service, params.dividend.0, params.divisor.0),
                        )
                    },
                )
                .input_schema(
                    ::trunkline::__private::ObjectSchema::of_params()
                        .member(
                            "dividend",
                            ::trunkline::__private::Probe::<f64>::new().schema(),
                        )
                        .optional_if(
                            ::trunkline::__private::Probe::<f64>::new().may_be_absent(),
                        )
                        .member(
                            "divisor",
                            ::trunkline::__private::Probe::<f64>::new().schema(),
                        )
                        .optional()
                        .default_value(
                            ::trunkline::__private::Probe::<f64>::new()
                                .json(DivideParams::default_divisor),
                        ),
                )
                .strict_strings();
            let operation = ::trunkline::__private::Probe::<f64>::new()
                .output(operation);
            let operation = ::trunkline::__private::Probe::<MathError>::new()
                .errors(operation);
            router.operation(operation)
        };
        let router = {
            use ::trunkline::__private::Unprobed as _;
            #[derive(::trunkline::__private::serde::Deserialize)]
            #[serde(crate = "::trunkline::__private::serde")]
            struct FactorParams {
                number: ::trunkline::__private::Param<u64>,
            }
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "math.factor",
                    ::trunkline::blocking(move |
                        ::trunkline::Params(params): ::trunkline::Params<FactorParams>|
                    {
                        ::trunkline::IntoOutcome::into_outcome(
                            ::trunkline::Json(Self::factor(&service, params.number.0)),
                        )
                    }),
                )
                .input_schema(
                    ::trunkline::__private::ObjectSchema::of_params()
                        .member(
                            "number",
                            ::trunkline::__private::Probe::<u64>::new().schema(),
                        )
                        .optional_if(
                            ::trunkline::__private::Probe::<u64>::new().may_be_absent(),
                        ),
                )
                .strict_strings();
            let operation = ::trunkline::__private::Probe::<Vec<u64>>::new()
                .output(operation);
            router.operation(operation)
        };
        let router = {
            use ::trunkline::__private::Unprobed as _;
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "math.clear",
                    move || {
                        let service = ::std::sync::Arc::clone(&service);
                        async move {
                            Self::clear(&service).await;
                            ::trunkline::Json(())
                        }
                    },
                )
                .description("Forgets everything.")
                .notification()
                .input_schema(::trunkline::__private::ObjectSchema::of_params())
                .strict_strings();
            router.operation(operation)
        };
        #[cfg(feature = "debug")]
        let router = {
            use ::trunkline::__private::Unprobed as _;
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "math.dump",
                    move |peer: Peer| {
                        let service = ::std::sync::Arc::clone(&service);
                        async move {
                            ::trunkline::IntoOutcome::into_outcome(
                                ::trunkline::Json(Self::dump(&service, peer).await),
                            )
                        }
                    },
                )
                .input_schema(::trunkline::__private::ObjectSchema::of_params())
                .strict_strings();
            let operation = ::trunkline::__private::Probe::<String>::new()
                .output(operation);
            router.operation(operation)
        };
        router
    }
}

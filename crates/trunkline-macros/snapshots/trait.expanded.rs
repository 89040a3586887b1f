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
        peer: Peer,
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
    /// Writes everything to a file.
    #[cfg(feature = "file")]
    fn write(&self) -> io::Result<()>;
    fn version(&self) -> &'static str;
    fn local<T>(&self, value: &T) -> &T;
    /// Registers the methods: `math.divide`, `math.sum`, `math.log`, `math.write`, `math.version`.
    fn into_router<S>(self) -> ::trunkline::Router<S>
    where
        Self: ::core::marker::Sized + ::core::marker::Send + ::core::marker::Sync
            + 'static,
        S: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static,
        Peer: ::trunkline::FromCall<S>,
    {
        let service = ::std::sync::Arc::new(self);
        let router = ::trunkline::Router::new();
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
                    "math.divide",
                    move |
                        ::trunkline::Params(params): ::trunkline::Params<DivideParams>|
                    {
                        let service = ::std::sync::Arc::clone(&service);
                        async move {
                            ::trunkline::IntoOutcome::into_outcome(
                                Self::divide(&service, params.dividend.0, params.divisor.0)
                                    .await,
                            )
                        }
                    },
                )
                .description("Divides.")
                .title("Divide")
                .tool("divide")
                .idempotent()
                .input_schema(
                    ::trunkline::__private::ObjectSchema::of_params()
                        .member(
                            "dividend",
                            ::trunkline::__private::Probe::<f64>::new().schema(),
                        )
                        .optional_if(
                            ::trunkline::__private::Probe::<f64>::new().may_be_absent(),
                        )
                        .described("The number to divide.")
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
                .example(
                    ::trunkline::openrpc::Example::new(
                        "a half",
                        [
                            ("dividend", ::trunkline::__private::serde_json::json!(1)),
                            ("divisor", ::trunkline::__private::serde_json::json!(2)),
                        ],
                        ::trunkline::__private::serde_json::json!(0.5),
                    ),
                )
                .example(
                    ::trunkline::openrpc::Example::new(
                        "dividend = -7.5",
                        [("dividend", ::trunkline::__private::serde_json::json!(- 7.5))],
                        ::trunkline::__private::serde_json::json!(- 7.5),
                    ),
                );
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
            struct SumParams {
                #[serde(rename = "of")]
                numbers: ::trunkline::__private::Param<Vec<i64>>,
            }
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "math.sum",
                    move |
                        peer: Peer,
                        ::trunkline::VariadicParams(
                            params,
                        ): ::trunkline::VariadicParams<SumParams>|
                    {
                        let service = ::std::sync::Arc::clone(&service);
                        async move {
                            ::trunkline::IntoOutcome::into_outcome(
                                ::trunkline::Json(
                                    Self::sum(&service, peer, params.numbers.0).await,
                                ),
                            )
                        }
                    },
                )
                .read_only()
                .closed_world()
                .input_schema(
                    ::trunkline::__private::ObjectSchema::of_params()
                        .member(
                            "of",
                            ::trunkline::__private::Probe::<Vec<i64>>::new().schema(),
                        )
                        .optional(),
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
            struct LogParams {
                line: ::trunkline::__private::Param<String>,
            }
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "math.log",
                    move |::trunkline::Params(params): ::trunkline::Params<LogParams>| {
                        let service = ::std::sync::Arc::clone(&service);
                        async move {
                            Self::log(&service, params.line.0).await;
                            ::trunkline::Json(())
                        }
                    },
                )
                .notification()
                .input_schema(
                    ::trunkline::__private::ObjectSchema::of_params()
                        .member(
                            "line",
                            ::trunkline::__private::Probe::<String>::new().schema(),
                        )
                        .optional_if(
                            ::trunkline::__private::Probe::<String>::new()
                                .may_be_absent(),
                        ),
                )
                .strict_strings();
            router.operation(operation)
        };
        #[cfg(feature = "file")]
        let router = {
            use ::trunkline::__private::Unprobed as _;
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "math.write",
                    move || {
                        ::trunkline::IntoOutcome::into_outcome(Self::write(&service))
                    },
                )
                .description("Writes everything to a file.")
                .destructive()
                .input_schema(::trunkline::__private::ObjectSchema::of_params())
                .strict_strings();
            let operation = ::trunkline::__private::Probe::<
                <io::Result<()> as ::trunkline::__private::Fallible>::Value,
            >::new()
                .output(operation);
            let operation = ::trunkline::__private::Probe::<
                <io::Result<()> as ::trunkline::__private::Fallible>::Error,
            >::new()
                .errors(operation);
            router.operation(operation)
        };
        let router = {
            use ::trunkline::__private::Unprobed as _;
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "math.version",
                    move || {
                        ::trunkline::IntoOutcome::into_outcome(
                            ::trunkline::Json(Self::version(&service)),
                        )
                    },
                )
                .input_schema(::trunkline::__private::ObjectSchema::of_params())
                .strict_strings();
            let operation = ::trunkline::__private::Probe::<&'static str>::new()
                .output(operation);
            router.operation(operation)
        };
        router
    }
}
/// A client of [`Math`], over any transport.
///
/// Arithmetic.
#[derive(::core::clone::Clone, ::core::fmt::Debug)]
#[allow(dead_code, reason = "the client may be unused")]
pub struct MathClient {
    client: ::trunkline::client::Client,
}
#[allow(
    dead_code,
    clippy::needless_pass_by_value,
    reason = "methods may be unused; params have their declared types"
)]
impl MathClient {
    /// Creates a client from a transport or a configured `Client`.
    pub fn new(client: impl ::core::convert::Into<::trunkline::client::Client>) -> Self {
        Self {
            client: ::core::convert::Into::into(client),
        }
    }
    /// The underlying client, for batches and for other methods.
    pub fn client(&self) -> &::trunkline::client::Client {
        &self.client
    }
    /// Divides.
    pub fn divide(
        &self,
        dividend: f64,
        divisor: impl ::core::convert::Into<::core::option::Option<f64>>,
    ) -> ::trunkline::client::Pending<f64, MathError> {
        ::trunkline::__private::typed(
            self
                .client
                .call(
                    "math.divide",
                    ::trunkline::__private::Members::new()
                        .with(
                            "dividend",
                            ::core::option::Option::Some(
                                ::trunkline::__private::param(&dividend),
                            ),
                        )
                        .with(
                            "divisor",
                            ::core::convert::Into::<
                                ::core::option::Option<f64>,
                            >::into(divisor)
                                .as_ref()
                                .map(::trunkline::__private::param),
                        ),
                )
                .idempotent(),
        )
    }
    /// Calls `math.sum`.
    pub fn sum(
        &self,
        numbers: Vec<i64>,
    ) -> ::trunkline::client::Pending<i64, ::core::convert::Infallible> {
        ::trunkline::__private::typed(
            self
                .client
                .call(
                    "math.sum",
                    ::trunkline::__private::Members::new()
                        .with(
                            "of",
                            ::core::option::Option::Some(
                                ::trunkline::__private::param(&numbers),
                            ),
                        ),
                )
                .idempotent(),
        )
    }
    /// Calls `math.log`.
    pub fn log(&self, line: String) -> ::trunkline::client::Notification {
        self.client
            .notify(
                "math.log",
                ::trunkline::__private::Members::new()
                    .with(
                        "line",
                        ::core::option::Option::Some(
                            ::trunkline::__private::param(&line),
                        ),
                    ),
            )
    }
    #[cfg(feature = "file")]
    /// Writes everything to a file.
    pub fn write(
        &self,
    ) -> ::trunkline::client::Pending<
        <io::Result<()> as ::trunkline::__private::Fallible>::Value,
        <io::Result<()> as ::trunkline::__private::Fallible>::Error,
    > {
        ::trunkline::__private::typed(self.client.call("math.write", ()))
    }
    /// Calls `math.version`.
    pub fn version(
        &self,
    ) -> ::trunkline::client::Pending<
        ::std::string::String,
        ::core::convert::Infallible,
    > {
        ::trunkline::__private::typed(self.client.call("math.version", ()))
    }
}

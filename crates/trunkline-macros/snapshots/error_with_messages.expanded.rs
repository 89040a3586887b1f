impl ::trunkline::RpcError for MathError {
    fn into_error_object(self) -> ::trunkline::ErrorObject {
        match &self {
            Self::DivisionByZero {} => {
                ::trunkline::ErrorObject::new(1, "division by zero")
            }
            Self::OutOfRange { value, limit } => {
                ::trunkline::ErrorObject::new(2, ::std::format!("{self}"))
                    .with_data(
                        &::trunkline::__private::Members::new()
                            .with(
                                "value",
                                ::core::option::Option::Some(
                                    ::trunkline::__private::error_data(value),
                                ),
                            )
                            .with(
                                "limit",
                                ::core::option::Option::Some(
                                    ::trunkline::__private::error_data(limit),
                                ),
                            ),
                    )
            }
            Self::Parse { 0: field0 } => {
                ::trunkline::ErrorObject::new(3, ::std::format!("{self}"))
                    .with_data(&::trunkline::__private::error_data(field0))
            }
            Self::Pair { 0: field0, 1: field1 } => {
                ::trunkline::ErrorObject::new(-1, ::std::format!("{self}"))
                    .with_data(
                        &(
                            ::trunkline::__private::error_data(field0),
                            ::trunkline::__private::error_data(field1),
                        ),
                    )
            }
            Self::Store { .. } => ::trunkline::ErrorObject::internal_error(&self),
        }
    }
    fn from_error_object(
        error: &::trunkline::ErrorObject,
    ) -> ::core::option::Option<Self> {
        match error.code() {
            1 => ::core::option::Option::Some(Self::DivisionByZero {}),
            2 => {
                #[derive(::trunkline::__private::serde::Deserialize)]
                #[serde(crate = "::trunkline::__private::serde")]
                struct Data<T0, T1> {
                    value: T0,
                    limit: T1,
                }
                let Data {
                    value: ::trunkline::__private::Received(value),
                    limit: ::trunkline::__private::Received(limit),
                } = ::trunkline::__private::serde_json::from_str(error.data()?.get())
                    .ok()?;
                ::core::option::Option::Some(Self::OutOfRange { value, limit })
            }
            3 => {
                let ::trunkline::__private::Received(field0) = ::trunkline::__private::serde_json::from_str(
                        error.data()?.get(),
                    )
                    .ok()?;
                ::core::option::Option::Some(Self::Parse { 0: field0 })
            }
            -1 => {
                let (
                    ::trunkline::__private::Received(field0),
                    ::trunkline::__private::Received(field1),
                ) = ::trunkline::__private::serde_json::from_str(error.data()?.get())
                    .ok()?;
                ::core::option::Option::Some(Self::Pair { 0: field0, 1: field1 })
            }
            _ => ::core::option::Option::None,
        }
    }
    fn descriptions() -> ::std::vec::Vec<::trunkline::ErrorDescription> {
        use ::trunkline::__private::Unprobed as _;
        ::std::vec::Vec::from([
            ::trunkline::ErrorDescription::new(1, "division by zero"),
            ::trunkline::ErrorDescription::new(2, "{value} is out of range")
                .with_data(
                    ::core::option::Option::Some(
                        ::trunkline::__private::ObjectSchema::of_data()
                            .member(
                                "value",
                                ::trunkline::__private::Probe::<i64>::new().schema(),
                            )
                            .member(
                                "limit",
                                ::trunkline::__private::Probe::<i64>::new().schema(),
                            )
                            .into(),
                    ),
                ),
            ::trunkline::ErrorDescription::new(3, "cannot parse {0}")
                .with_data(
                    ::trunkline::__private::Probe::<String>::new().schema_of_output(),
                ),
            ::trunkline::ErrorDescription::new(-1, "{1} of {{0}}")
                .with_data(
                    ::trunkline::__private::Probe::<(u8, u8)>::new().schema_of_output(),
                ),
        ])
    }
}
impl ::core::fmt::Display for MathError {
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        match self {
            Self::DivisionByZero { .. } => formatter.write_str("division by zero"),
            Self::OutOfRange { value, .. } => {
                ::core::write!(formatter, "{value} is out of range")
            }
            Self::Parse { 0: field0 } => {
                ::core::write!(formatter, "cannot parse {field0:?}")
            }
            Self::Pair { 1: field1, .. } => {
                ::core::write!(formatter, "{field1} of {{0}}")
            }
            Self::Store { 0: field0 } => {
                ::core::write!(formatter, "the store failed: {field0}")
            }
        }
    }
}
impl ::core::error::Error for MathError {}

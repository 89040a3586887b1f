impl ::trunkline::RpcError for FindError {
    fn into_error_object(self) -> ::trunkline::ErrorObject {
        match &self {
            Self::NoTable { table } => {
                ::trunkline::ErrorObject::new(10, ::std::format!("{self}"))
                    .with_data(
                        &::trunkline::__private::Members::new()
                            .with(
                                "table",
                                ::core::option::Option::Some(
                                    ::trunkline::__private::error_data(table),
                                ),
                            ),
                    )
            }
            Self::Interrupted {} => {
                ::trunkline::ErrorObject::new(11, ::std::format!("{self}"))
            }
            Self::BadQuery { 0: field0 } => {
                ::trunkline::ErrorObject::new(12, ::std::format!("{self}"))
                    .with_data(&::trunkline::__private::error_data(field0))
            }
            Self::Busy {} => ::trunkline::ErrorObject::new(13, ::std::format!("{self}")),
            Self::Database { .. } => ::trunkline::ErrorObject::internal_error(&self),
        }
    }
    fn from_error_object(
        error: &::trunkline::ErrorObject,
    ) -> ::core::option::Option<Self> {
        match error.code() {
            10 => {
                #[derive(::trunkline::__private::serde::Deserialize)]
                #[serde(crate = "::trunkline::__private::serde")]
                struct Data<T0> {
                    table: T0,
                }
                let Data { table: ::trunkline::__private::Received(table) } = ::trunkline::__private::serde_json::from_str(
                        error.data()?.get(),
                    )
                    .ok()?;
                ::core::option::Option::Some(Self::NoTable { table })
            }
            11 => ::core::option::Option::Some(Self::Interrupted {}),
            12 => {
                let ::trunkline::__private::Received(field0) = ::trunkline::__private::serde_json::from_str(
                        error.data()?.get(),
                    )
                    .ok()?;
                ::core::option::Option::Some(Self::BadQuery { 0: field0 })
            }
            13 => ::core::option::Option::Some(Self::Busy {}),
            _ => ::core::option::Option::None,
        }
    }
    fn descriptions() -> ::std::vec::Vec<::trunkline::ErrorDescription> {
        use ::trunkline::__private::Unprobed as _;
        ::std::vec::Vec::from([
            ::trunkline::ErrorDescription::new(10, "no table {table}")
                .with_data(
                    ::core::option::Option::Some(
                        ::trunkline::__private::ObjectSchema::of_data()
                            .member(
                                "table",
                                ::trunkline::__private::Probe::<String>::new().schema(),
                            )
                            .into(),
                    ),
                ),
            ::trunkline::ErrorDescription::new(11, "interrupted"),
            ::trunkline::ErrorDescription::new(12, "bad query")
                .with_data(
                    ::trunkline::__private::Probe::<ParseError>::new().schema_of_output(),
                ),
            ::trunkline::ErrorDescription::new(
                13,
                ::trunkline::RpcError::into_error_object(Self::Busy).message(),
            ),
        ])
    }
}

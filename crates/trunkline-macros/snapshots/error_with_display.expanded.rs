impl ::trunkline::RpcError for FindError {
    fn into_error_object(self) -> ::trunkline::ErrorObject {
        match &self {
            Self::NoTable { table } => {
                #[derive(::trunkline::__private::serde::Serialize)]
                #[serde(crate = "::trunkline::__private::serde")]
                struct Data<T0> {
                    table: T0,
                }
                ::trunkline::ErrorObject::new(10, ::std::format!("{self}"))
                    .with_data(&Data { table })
            }
            Self::Database(..) => ::trunkline::ErrorObject::internal_error(&self),
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
                let Data { table } = ::trunkline::__private::serde_json::from_str(
                        error.data()?.get(),
                    )
                    .ok()?;
                ::core::option::Option::Some(Self::NoTable { table })
            }
            _ => ::core::option::Option::None,
        }
    }
}

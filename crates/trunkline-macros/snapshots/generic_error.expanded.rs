impl<K> ::trunkline::RpcError for Conflict<K>
where
    K: ::trunkline::__private::serde::Serialize
        + ::trunkline::__private::serde::de::DeserializeOwned,
    Vec<
        K,
    >: ::trunkline::__private::serde::Serialize
        + ::trunkline::__private::serde::de::DeserializeOwned,
    Self: ::core::fmt::Display,
{
    fn into_error_object(self) -> ::trunkline::ErrorObject {
        match &self {
            Self { key, other, place } => {
                ::trunkline::ErrorObject::new(7, ::std::format!("{self}"))
                    .with_data(
                        &::trunkline::__private::Members::new()
                            .with(
                                "key",
                                ::core::option::Option::Some(
                                    ::trunkline::__private::error_data(key),
                                ),
                            )
                            .with(
                                "other",
                                ::core::option::Option::Some(
                                    ::trunkline::__private::error_data(other),
                                ),
                            )
                            .with(
                                "place",
                                ::core::option::Option::Some(
                                    ::trunkline::__private::error_data(place),
                                ),
                            ),
                    )
            }
        }
    }
    fn from_error_object(
        error: &::trunkline::ErrorObject,
    ) -> ::core::option::Option<Self> {
        match error.code() {
            7 => {
                #[derive(::trunkline::__private::serde::Deserialize)]
                #[serde(crate = "::trunkline::__private::serde")]
                struct Data<T0, T1, T2> {
                    key: T0,
                    other: T1,
                    place: T2,
                }
                let Data {
                    key: ::trunkline::__private::Received(key),
                    other: ::trunkline::__private::Received(other),
                    place: ::trunkline::__private::Received(place),
                } = ::trunkline::__private::serde_json::from_str(error.data()?.get())
                    .ok()?;
                ::core::option::Option::Some(Self { key, other, place })
            }
            _ => ::core::option::Option::None,
        }
    }
    fn descriptions() -> ::std::vec::Vec<::trunkline::ErrorDescription> {
        use ::trunkline::__private::Unprobed as _;
        ::std::vec::Vec::from([
            ::trunkline::ErrorDescription::new(7, "{key} conflicts with {other}")
                .with_data(
                    ::core::option::Option::Some(
                        ::trunkline::__private::ObjectSchema::of_data()
                            .member(
                                "key",
                                ::trunkline::__private::Probe::<K>::new().schema(),
                            )
                            .member(
                                "other",
                                ::trunkline::__private::Probe::<Vec<K>>::new().schema(),
                            )
                            .member(
                                "place",
                                ::trunkline::__private::Probe::<u8>::new().schema(),
                            )
                            .into(),
                    ),
                ),
        ])
    }
}
impl<K> ::core::fmt::Display for Conflict<K>
where
    K: ::core::fmt::Display,
    Vec<K>: ::core::fmt::Debug,
{
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        match self {
            Self { key, other, .. } => {
                ::core::write!(formatter, "{key} conflicts with {other:?}")
            }
        }
    }
}
impl<K> ::core::error::Error for Conflict<K>
where
    Self: ::core::fmt::Debug + ::core::fmt::Display,
{}

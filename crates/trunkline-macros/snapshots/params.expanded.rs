#[allow(clippy::needless_pass_by_value, reason = "params are owned")]
impl Mail {
    fn send(
        &self,
        State(outbox): State<Outbox>,
        sender: Address,
        r#type: Option<SendParams>,
        mut priority: u8,
        urgency: Priority,
        peer: Peer,
        recipients: Vec<Address>,
    ) {
        outbox.push(sender, recipients);
    }
}
impl Mail {
    /// Registers the methods: `mail.send`.
    pub fn into_router<S>(self) -> ::trunkline::Router<S>
    where
        S: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static,
        State<Outbox>: ::trunkline::FromCall<S>,
        Peer: ::trunkline::FromCall<S>,
    {
        let service = ::std::sync::Arc::new(self);
        let router = ::trunkline::Router::new();
        let router = {
            use ::trunkline::__private::Unprobed as _;
            #[derive(::trunkline::__private::serde::Deserialize)]
            #[serde(crate = "::trunkline::__private::serde")]
            struct SendParams_ {
                #[serde(rename = "from")]
                sender: ::trunkline::__private::Param<Address>,
                r#type: ::trunkline::__private::Param<Option<SendParams>>,
                priority: ::trunkline::__private::Param<u8>,
                #[serde(default = "SendParams_::default_urgency")]
                urgency: ::trunkline::__private::Param<Priority>,
                #[serde(rename = "to")]
                recipients: ::trunkline::__private::Param<Vec<Address>>,
            }
            impl SendParams_ {
                fn default_urgency() -> ::trunkline::__private::Param<Priority> {
                    ::trunkline::__private::Param(Priority::normal())
                }
            }
            let service = ::std::sync::Arc::clone(&service);
            let operation = ::trunkline::Operation::new(
                    "mail.send",
                    move |
                        extracted0: State<Outbox>,
                        peer: Peer,
                        ::trunkline::VariadicParams(
                            params,
                        ): ::trunkline::VariadicParams<SendParams_>|
                    {
                        Self::send(
                            &service,
                            extracted0,
                            params.sender.0,
                            params.r#type.0,
                            params.priority.0,
                            params.urgency.0,
                            peer,
                            params.recipients.0,
                        );
                        ::trunkline::Json(())
                    },
                )
                .input_schema(
                    ::trunkline::__private::ObjectSchema::of_params()
                        .member(
                            "from",
                            ::trunkline::__private::Probe::<Address>::new().schema(),
                        )
                        .optional_if(
                            ::trunkline::__private::Probe::<Address>::new()
                                .may_be_absent(),
                        )
                        .member(
                            "type",
                            ::trunkline::__private::Probe::<Option<SendParams>>::new()
                                .schema(),
                        )
                        .optional_if(
                            ::trunkline::__private::Probe::<Option<SendParams>>::new()
                                .may_be_absent(),
                        )
                        .member(
                            "priority",
                            ::trunkline::__private::Probe::<u8>::new().schema(),
                        )
                        .optional_if(
                            ::trunkline::__private::Probe::<u8>::new().may_be_absent(),
                        )
                        .member(
                            "urgency",
                            ::trunkline::__private::Probe::<Priority>::new().schema(),
                        )
                        .optional()
                        .default_value(
                            ::trunkline::__private::Probe::<Priority>::new()
                                .json(SendParams_::default_urgency),
                        )
                        .member(
                            "to",
                            ::trunkline::__private::Probe::<Vec<Address>>::new().schema(),
                        )
                        .optional(),
                )
                .strict_strings();
            let operation = ::trunkline::__private::Probe::<()>::new().output(operation);
            router.operation(operation)
        };
        router
    }
}

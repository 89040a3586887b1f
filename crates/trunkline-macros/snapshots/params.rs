#[rpc(namespace = "mail")]
impl Mail {
    fn send(
        &self,
        #[extract] State(outbox): State<Outbox>,
        #[param(name = "from")] sender: Address,
        r#type: Option<SendParams>,
        mut priority: u8,
        #[param(default = Priority::normal())] urgency: Priority,
        #[extract] peer: Peer,
        #[param(variadic, name = "to")] recipients: Vec<Address>,
    ) {
        outbox.push(sender, recipients);
    }
}

//! EDN handlers in OpenRPC documents and in `#[rpc]`.

use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline::edn::{Edn, FORMAT, Inst, Keyword, Value, edn};
use trunkline::protocol::Formats;
use trunkline::{ErrorObject, Extensions, JsonSchema, Operation, Router, rpc};

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct Job {
    /// The queue of the job.
    #[schemars(with = "String")]
    queue: Keyword,
    #[schemars(with = "Option<String>")]
    run_at: Option<Inst>,
}

#[test]
fn describes_the_declared_fields() {
    let create = || Operation::new("job.create", |Edn(job): Edn<Job>| Edn(job));
    let any = |name| json!({ "name": name, "schema": true });
    let queue = json!({
        "name": "queue",
        "description": "The queue of the job.",
        "required": true,
        "schema": { "type": "string" },
    });
    let run_at = json!({ "name": "run-at", "schema": { "type": "string" } });
    for (operation, params) in [
        (create(), json!([any("queue"), any("run-at")])),
        (create().input::<Job>(), json!([queue, run_at])),
    ] {
        let rpc = Router::new().operation(operation).build().unwrap();
        let document = serde_json::to_value(rpc.openrpc()).unwrap();
        let method = &document["methods"][0];
        assert_eq!(method["paramStructure"], "either");
        assert_eq!(method["params"], params);
    }
}

struct Jobs;

#[rpc(namespace = "job")]
impl Jobs {
    fn create(&self, #[extract] Edn(job): Edn<Job>) -> Result<Edn<Job>, ErrorObject> {
        Ok(Edn(job))
    }

    fn find(&self, queue: Keyword) -> Result<Edn<Value>, ErrorObject> {
        Ok(Edn(edn!({:queue ~queue, :tags #{:a}})))
    }

    fn first(&self, #[extract] Edn(params): Edn<Value>) -> Result<Edn<Value>, ErrorObject> {
        let none = || ErrorObject::new(7, "none");
        params.as_sequence().and_then(<[Value]>::first).cloned().map(Edn).ok_or_else(none)
    }
}

#[tokio::test]
async fn methods_of_a_type_take_and_return_edn() {
    let rpc = Jobs.into_router().build().unwrap();
    let rows = [
        (
            "job.create",
            r#"{:queue :a/b, :run-at #inst "2024"}"#,
            r#":result {:queue :a/b, :run-at #inst "2024-01-01T00:00:00Z"}"#,
        ),
        ("job.create", "[:a/b]", ":result {:queue :a/b, :run-at nil}"),
        ("job.find", "[:a/b]", ":result {:queue :a/b, :tags #{:a}}"),
        ("job.first", "[#{:a}]", ":result #{:a}"),
        ("job.first", "[]", r#":error {:code 7, :message "none"}"#),
    ];
    for (method, params, expected) in rows {
        let body = format!(r#"{{:jsonrpc "2.0", :method "{method}", :params {params}, :id 1}}"#);
        let formats = Formats::both(FORMAT);
        let reply = rpc.handle_in(formats, body.into(), Extensions::new()).await;
        let reply = String::from_utf8(reply.into_text().unwrap()).unwrap();
        assert_eq!(reply, format!(r#"{{:jsonrpc "2.0", {expected}, :id 1}}"#), "{method} {params}");
    }
}

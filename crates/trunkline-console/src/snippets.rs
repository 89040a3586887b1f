//! Calls of an operation, as commands and code of clients.

use serde_json::{Map, Value, json};

use crate::text::shell_word;

/// A snippet of a client.
pub(crate) struct Snippet {
    pub(crate) title: &'static str,
    pub(crate) code: String,
}

/// The server of the snippets.
pub(crate) struct Target<'a> {
    /// The URL of the server, without a path.
    pub(crate) base: &'a str,
    /// The path of the endpoint.
    pub(crate) path: &'a str,
    pub(crate) needs_token: bool,
    /// The name of the operation as a tool of MCP.
    pub(crate) tool: Option<&'a str>,
}

/// The snippets of a call.
pub(crate) fn snippets(
    target: &Target<'_>,
    method: &str,
    params: &Map<String, Value>,
) -> Vec<Snippet> {
    let Target { base, path, needs_token, tool } = *target;
    let url = format!("{base}{path}");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let params = Value::from(params.clone());
    let token =
        if needs_token { " \\\n  -H \"Authorization: Bearer $TRUNKLINE_TOKEN\"" } else { "" };
    let curl = format!(
        "curl -s {} \\\n  -H 'Content-Type: application/json'{token} \\\n  -d {}",
        shell_word(&url),
        shell_word(&body)
    );
    // The command reads the token from `TRUNKLINE_TOKEN`.
    let shell = format!(
        "trunkline call {} {} {}",
        shell_word(&url),
        shell_word(method),
        shell_word(&params.to_string())
    );
    let token = if needs_token {
        "\n               \"Authorization\": \"Bearer \" + os.environ[\"TRUNKLINE_TOKEN\"],"
    } else {
        ""
    };
    let import = if needs_token { "json, os" } else { "json" };
    let python = format!(
        "import {import}, urllib.request\n\nbody = {}\nrequest = urllib.request.Request(\n    {}, body.encode(),\n    headers={{\"Content-Type\": \"application/json\",{token}}})\nwith urllib.request.urlopen(request) as response:\n    print(json.load(response))",
        quoted(&body),
        quoted(&url),
    );
    let token = if needs_token {
        "\n    \"Authorization\": `Bearer ${process.env.TRUNKLINE_TOKEN}`,"
    } else {
        ""
    };
    let javascript = format!(
        "const response = await fetch({}, {{\n  method: \"POST\",\n  headers: {{\n    \"Content-Type\": \"application/json\",{token}\n  }},\n  body: JSON.stringify({}),\n}});\nconsole.log(await response.json());",
        quoted(&url),
        body,
    );
    let mut snippets = vec![
        Snippet { title: "curl", code: curl },
        Snippet { title: "trunkline", code: shell },
        Snippet { title: "Python", code: python },
        Snippet { title: "JavaScript", code: javascript },
    ];
    if let Some(tool) = tool {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": params } });
        let code = serde_json::to_string_pretty(&call).unwrap_or_default();
        snippets.push(Snippet { title: "MCP", code });
    }
    snippets
}

/// A string of JSON, which is also one of Python and JavaScript.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

//! Requests other than calls of the database's tools, to the example `conformance_server`.

pub(super) struct Feature {
    pub(super) method: &'static str,
    pub(super) flags: &'static [&'static str],
    /// A JSON pointer into the result, and a part of the text there.
    pub(super) result: (&'static str, &'static str),
}

pub(super) const FEATURES: [Feature; 6] = [
    feature(
        "tools/call",
        &["--tool-name", "test_image_content"],
        ("/content/0/mimeType", "image/png"),
    ),
    feature("resources/list", &[], ("/resources/0/uri", "test://static-text")),
    feature(
        "resources/templates/list",
        &[],
        ("/resourceTemplates/0/uriTemplate", "test://template/{id}/data"),
    ),
    feature(
        "resources/read",
        &["--uri", "test://template/42/data"],
        ("/contents/0/text", "Data for ID: 42"),
    ),
    feature("prompts/list", &[], ("/prompts/0/name", "test_simple_prompt")),
    feature(
        "prompts/get",
        &["--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"],
        ("/messages/0/content/text", "arg1='a', arg2='b'"),
    ),
];

const fn feature(
    method: &'static str,
    flags: &'static [&'static str],
    result: (&'static str, &'static str),
) -> Feature {
    Feature { method, flags, result }
}

#!/bin/sh
# Generates text with an OpenAI-compatible endpoint. Arguments on one line of stdin:
# {"prompt":"…","max_tokens":100}
#
# JSON strings are copied unchanged from the arguments to the request and from the reply to the result, so that nothing
# has to be escaped.
set -eu

fail() {
    echo "$1" >&2
    exit 1
}

# Prints the first string at this path in the JSON on stdin, with its quotes. Parts of the path are names of members, and
# empty for arrays: /choices//message/content
string() {
    awk -v wanted="$1" '
        { json = json $0 "\n" }
        END {
            token = "^[ \t\r\n]*(\"([^\"\\\\]|\\\\.)*\"|[][{},:]|[^][{},:\" \t\r\n]+)"
            depth = 0
            while (match(json, token)) {
                found = substr(json, 1, RLENGTH)
                json = substr(json, RLENGTH + 1)
                sub(/^[ \t\r\n]*/, "", found)
                if (found == "{" || found == "[") {
                    depth++
                    is_object[depth] = found == "{"
                    is_name = is_object[depth]
                    name[depth] = ""
                } else if (found == "}" || found == "]") {
                    depth--
                } else if (found == ",") {
                    is_name = is_object[depth]
                } else if (found == ":") {
                    is_name = 0
                } else if (is_name) {
                    name[depth] = substr(found, 2, length(found) - 2)
                } else if (substr(found, 1, 1) == "\"") {
                    path = ""
                    for (i = 1; i <= depth; i++) path = path "/" name[i]
                    if (path == wanted) {
                        print found
                        exit
                    }
                }
            }
        }'
}

[ -n "${TRUNKLINE_AGENT_URL:-}" ] && [ -n "${TRUNKLINE_AGENT_MODEL:-}" ] ||
    fail "no model is configured: set TRUNKLINE_AGENT_URL and TRUNKLINE_AGENT_MODEL where the server is started"
command -v curl >/dev/null || fail "curl is not installed: apt install curl"
case "$TRUNKLINE_AGENT_MODEL${TRUNKLINE_AGENT_KEY:-}" in
*[\"\\]*) fail "quotes and backslashes are not allowed in the name of the model and the key" ;;
esac

read -r arguments
prompt=$(printf '%s\n' "$arguments" | string /prompt)
[ -n "$prompt" ] || fail "the prompt is missing"
tokens=$(printf '%s\n' "$arguments" | sed -n 's/.*"max_tokens":\([0-9][0-9]*\).*/\1/p')

authorization=
[ -z "${TRUNKLINE_AGENT_KEY:-}" ] || authorization="header = \"Authorization: Bearer $TRUNKLINE_AGENT_KEY\""

# The key is passed in a pipe, since other users of the machine can read command lines.
reply=$(
    printf '{"model":"%s","max_tokens":%s,"messages":[{"role":"user","content":%s}]}' \
        "$TRUNKLINE_AGENT_MODEL" "${tokens:-512}" "$prompt" |
        curl -q --silent --show-error --fail --max-time 110 --config /dev/fd/3 --data-binary @- \
            "${TRUNKLINE_AGENT_URL%/}/chat/completions" 3<<HEADERS
header = "Content-Type: application/json"
$authorization
HEADERS
) || fail "the model at $TRUNKLINE_AGENT_URL did not answer"

text=$(printf '%s\n' "$reply" | string /choices//message/content)
[ -n "$text" ] || fail "the reply of the model has no text"
printf '{"text":%s}\n' "$text"

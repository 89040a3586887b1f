#!/bin/sh
# Posts the arguments, {"query":"…","max_results":5}, to a search endpoint, and prints the JSON of the response.
set -eu

fail() {
    echo "$1" >&2
    exit 1
}

[ -n "${WEB_SEARCH_URL:-}" ] ||
    fail "no search endpoint is configured: set WEB_SEARCH_URL where the server is started"
command -v curl >/dev/null || fail "curl is not installed: apt install curl"
case "${WEB_SEARCH_KEY:-}" in
*[\"\\]*) fail "quotes and backslashes are not allowed in the key" ;;
esac

authorization=
[ -z "${WEB_SEARCH_KEY:-}" ] || authorization="header = \"Authorization: Bearer $WEB_SEARCH_KEY\""

# The key is passed in a pipe, since other users of the machine can read command lines.
curl -q --silent --show-error --fail --max-time 15 --config /dev/fd/3 --data-binary @- "$WEB_SEARCH_URL" 3<<HEADERS || {
header = "Content-Type: application/json"
header = "Accept: application/json"
$authorization
HEADERS
    case $? in
    5 | 6 | 7 | 28) fail "the search endpoint cannot be reached: this machine may be offline" ;;
    *) fail "the search endpoint returned an error" ;;
    esac
}

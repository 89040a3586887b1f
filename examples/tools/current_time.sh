#!/bin/sh
# The time, as JSON. The arguments stand on one line: {"timezone":"Europe/Berlin"}
set -eu

zone=$(sed -n 's/.*"timezone":"\([^"]*\)".*/\1/p')
zone=${zone:-UTC}
# `date` takes what is no zone for UTC: zones are files of their own format, below one folder.
is_zone() {
    case "$1" in
    /* | *..*) return 1 ;;
    esac
    [ -f "/usr/share/zoneinfo/$1" ] && [ "$(head -c 4 "/usr/share/zoneinfo/$1")" = TZif ]
}
if [ "$zone" != UTC ] && ! is_zone "$zone"; then
    echo "there is no time zone $zone on this machine (package tzdata)" >&2
    exit 1
fi

now=$(date +%s)
show() {
    LC_ALL=C TZ="$1" date -d "@$now" "$2"
}
printf '{"utc":"%s","unix":%s,"weekday":"%s","timezone":"%s","local":"%s"}\n' \
    "$(show UTC +%Y-%m-%dT%H:%M:%SZ)" "$now" "$(show "$zone" +%A)" "$zone" \
    "$(show "$zone" +%Y-%m-%dT%H:%M:%S%:z)"

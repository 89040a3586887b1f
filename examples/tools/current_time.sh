#!/bin/sh
# Prints the time as JSON. Arguments on one line of stdin: {"timezone":"Europe/Berlin"}
set -eu

zone=$(sed -n 's/.*"timezone":"\([^"]*\)".*/\1/p')
zone=${zone:-UTC}
# `date` uses UTC for unknown zones, so check that the zone is a file in the TZif format.
is_zone() {
    case "$1" in
    /* | *..*) return 1 ;;
    esac
    [ -f "/usr/share/zoneinfo/$1" ] && [ "$(head -c 4 "/usr/share/zoneinfo/$1")" = TZif ]
}
if [ "$zone" != UTC ] && ! is_zone "$zone"; then
    echo "unknown time zone $zone (package tzdata has the time zones)" >&2
    exit 1
fi

now=$(date +%s)
show() {
    LC_ALL=C TZ="$1" date -d "@$now" "$2"
}
printf '{"utc":"%s","unix":%s,"weekday":"%s","timezone":"%s","local":"%s"}\n' \
    "$(show UTC +%Y-%m-%dT%H:%M:%SZ)" "$now" "$(show "$zone" +%A)" "$zone" \
    "$(show "$zone" +%Y-%m-%dT%H:%M:%S%:z)"

#!/bin/sh
# Uses the service of the installed package, in a booted system. The last line is `passed`.
set -eux

if systemctl is-enabled --quiet trunkline; then exit 1; fi
# Type=notify: returns when the server accepts connections.
systemctl start trunkline
trunkline call todo.create title=first
trunkline call db.list_tables
test "$(systemctl show --property=StatusText trunkline)" = 'StatusText=listening on 127.0.0.1:8080'
# The user is dynamic, and no other can open the data.
test "$(stat --dereference --format='%a' /var/lib/trunkline)" = 700
test "$(stat --dereference --format='%U' /var/lib/trunkline)" != root
systemctl restart trunkline
trunkline call todo.list | grep first
systemctl stop trunkline
test "$(systemctl show --property=Result trunkline)" = Result=success
echo passed

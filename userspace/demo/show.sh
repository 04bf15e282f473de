#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# What the demo shows, where the module is loaded and has a worker id.
#
#	show.sh {ids|step}...

sysfs=/sys/class/misc/snowflake

attributes() {
	for name; do
		printf '  %-22s %s\n' "$name" "$(cat "$sysfs/$name")"
	done
}

show_ids() {
	echo "== Linux $(uname -r): three ids from /dev/snowflake, read by dd"
	dd if=/dev/snowflake bs=24 count=1 2>/dev/null | od -An -td8 -w8
	echo
	echo "== and two from the command, decoded"
	snowflake next -n 2 | snowflake decode
	echo
	echo "== $sysfs"
	attributes worker_id worker_count state last_timestamp_ms \
		stats/ids stats/refused stats/rewinds
}

show_step() {
	echo
	echo "== somebody sets the clock back by 3 s: the next read is refused"
	date -s "@$(($(date +%s) - 3))" >/dev/null
	snowflake next
	echo "  (exit status $?)"
	attributes state stats/rewinds stats/rewind_last_ms
	echo
	echo "== until the clock has caught up"
	while [ "$(cat $sysfs/state)" = behind ]; do
		sleep 1
	done
	attributes state
	snowflake next
}

for part; do
	"show_$part"
done 2>&1

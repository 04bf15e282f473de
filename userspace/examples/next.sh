#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# One id from /dev/snowflake, and what is in it: POSIX shell with dd and od.
#
#	sh next.sh [DEVICE]
#
# dd reads exactly what it is told to; most other tools read ahead, and take
# hundreds of ids to give one.

# The layout of the device, here Twitter's; see snowflake(4) for others.
epoch_ms=1288834974657
worker_bits=10
sequence_bits=12

# next_id DEVICE: prints an id, in a line of its own
next_id() {
	# The status of a pipe is od's, and od says nothing if dd gave nothing.
	dd if="$1" bs=8 count=1 status=none | od -An -td8 | grep -o '[0-9]*'
}

if ! id=$(next_id "${1:-/dev/snowflake}"); then
	echo "${1:-/dev/snowflake}: no id" >&2
	exit 1
fi
echo "id $id" \
	"unix_ms $(((id >> (worker_bits + sequence_bits)) + epoch_ms))" \
	"worker $((id >> sequence_bits & (1 << worker_bits) - 1))" \
	"sequence $((id & (1 << sequence_bits) - 1))"

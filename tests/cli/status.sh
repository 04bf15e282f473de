# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT

test_status_text() {
	local state words

	with_sysfs
	run status
	check "the state in words" 0 out_has '^state +running: ids are made$'
	check "the worker id" 0 out_has '^worker id +77, pooled$'
	check "the ceiling" 0 out_has '^ceiling +4,096,000 ids/s$'
	check "the rate, over 200 ms" 0 out_has \
		'^rate +0 ids/s, 0.0 % of it, over 2[0-9]{2} ms$'
	check "the ids" 0 out_has '^ids +123,456$'
	check "refused reads" 0 out_has '^refused +5 reads$'
	check "the last id" 0 out_has '^last id +2026-12-01T00:46:40.000Z, '
	check "an open window" 0 out_has '^window +open$'
	check "the end" 0 out_has '^layout ends +2080-07-10T17:30:30.208Z, in '
	check "steps back" 0 out_has \
		'^clock +3 steps back \(last 1.500 s, largest 1 h 0 min, in'
	check "steps ahead" 0 out_has '2 steps ahead \(largest 60.000 s\)'
	check "it fits 80 columns" 0 test -z "$(grep -E '.{81}' "$tmp/out")"

	attribute worker_count 8
	attribute not_before_ms 1000000000000
	attribute not_after_ms 1000000001000
	run status -i 0
	check "a range" 0 out_has '^worker ids +77 to 84, pooled$'
	check "its ceiling" 0 out_has '^ceiling +32,768,000 ids/s$'
	check "no rate where none is asked for" 0 \
		test -z "$(grep '^rate' "$tmp/out")"
	check "the window" 0 out_has \
		'^window until +2001-09-09T01:46:41.000Z, .* ago$'
	attribute worker_id -1
	run status -i 0
	check "no worker id" 0 out_has '^worker id +none$'

	while read -r state words; do
		attribute state "$state"
		run status -i 0
		check "state $state in words" 0 out_has "^state +$state: $words"
		check "and what to do" 0 test \
			"$(grep -A 1 '^state' "$tmp/out" | grep -c '^  ')" -eq 1
	done <<-'END'
		no-worker this host has no worker id
		cloned this machine is a clone
		ended the clock is past the last timestamp
		jumped the clock jumped ahead
		expired the window of the worker id has ended
		behind the clock is behind the last id
		not-yet the clock is before the window
	END
	attribute state dreaming
	run status -i 0
	check "a state of a later module" 0 out_has '^state +dreaming$'
	printf 'x\033[31my\n' >"$tmp/sysfs/state"
	run status -i 0
	check "no escape sequence comes through" 0 \
		test -z "$(grep '^state' "$tmp/out")"
}

# The counter goes up by 1000 each 10 ms, more or less.
test_rate() {
	local rate

	with_sysfs
	(
		ids=0
		while sleep 0.01; do
			ids=$((ids + 1000))
			echo "$ids" >"$tmp/new"
			mv "$tmp/new" "$tmp/sysfs/stats/ids"
		done
	) 2>/dev/null &
	sleep 0.1
	run status -j -i 0.5
	kill $!
	wait $! 2>/dev/null
	rate=$(jq .rate_per_second "$tmp/out" 2>/dev/null)
	check "the rate is measured" 0 test "${rate:-0}" -gt 10000 -a \
		"${rate:-0}" -le 101000
}

test_status_json() {
	local name

	with_sysfs
	run status --json
	check "JSON is one object on one line" 0 test "$(wc -l <"$tmp/out")" -eq 1
	check "with text and numbers" 0 json '.[0].state == "running" and
		.[0].worker_id == 77 and .[0].stats.ids == 123456 and
		.[0].layout.preset == "twitter" and
		.[0].layout.ends_ms == 3487858230208 and
		.[0].ceiling_per_second == 4096000'
	for name in $(cd "$tmp/sysfs" && find . -type f | sed 's,^\./,,' |
		      grep -v accept_jump); do
		check "it has $name" 0 json ".[0].${name//\//.} != null"
	done
	rm "$tmp/sysfs/stats/clones"
	echo x >"$tmp/sysfs/generation"
	run status --json
	check "what an older module lacks is left out" 0 json \
		'.[0].stats | has("clones") | not'
	check "and what is no number" 0 json '.[0] | has("generation") | not'
	attribute worker_id -1
	run status --json
	check "no worker id is -1" 0 json '.[0].worker_id == -1'
}

test_metrics() {
	with_sysfs
	run status --metrics
	check "OpenMetrics are well formed" 0 python3 "$here/openmetrics.py" \
		"$tmp/out"
	check "ids" 0 out_has '^snowflake_ids_total 123456$'
	check "seconds" 0 out_has '^snowflake_rewind_last_seconds 1.500$'
	check "the state" 0 out_has '^snowflake_state\{.*="running"\} 1$'
	check "and no other" 0 test "$(grep -c '^snowflake_state{.* 1$' \
		"$tmp/out")" -eq 1
	check "an open window has no end" 0 test \
		-z "$(grep not_after "$tmp/out")"
	attribute worker_id -1
	attribute state no-worker
	attribute not_after_ms 1796100000000
	run status -m
	check "without a worker id they are, too" 0 python3 \
		"$here/openmetrics.py" "$tmp/out"
	check "it is -1" 0 out_has '^snowflake_worker_id -1$'
	check "the window's end" 0 out_has \
		'^snowflake_not_after_timestamp_seconds 1796100000.000$'
}

test_status_check() {
	local state want

	with_sysfs
	while read -r state want; do
		attribute state "$state"
		run status --check
		check "--check, $state: $want" "$want" silent_out
	done <<-'END'
		running 0
		no-worker 4
		cloned 4
		ended 3
		jumped 3
		expired 3
		behind 3
		not-yet 3
		dreaming 1
	END
	check "it complains" 1 complains 'state is not known'
}

# Nothing but the device node, as in a container without /sys.
test_status_device() {
	no_sysfs
	run status
	check "without device and sysfs" 1 complains 'not a snowflake device'
	run FAKE_OPEN=2 status
	check "no device: 5" 5 complains ENOENT
	run FAKE_OPEN=13 status -j
	check "no permission: 6" 6 complains EACCES
	run FAKE_IDS="$tmp/three" FAKE_INFO_ERRNO=1 status
	check "a device that may not be asked" 1 complains '/dev/null: '
	run FAKE_IDS="$tmp/three" status
	check "the device itself" 0 out_has '^state +running: '
	check "its worker id" 0 out_has '^worker id +1, pooled$'
	check "its ceiling" 0 out_has '^ceiling +4,096,000 ids/s$'
	check "no counter is made up" 0 test \
		-z "$(grep -E '^(ids|refused|clock|rate)' "$tmp/out")"
	run FAKE_IDS="$tmp/empty" FAKE_ERRNO=127 status -j
	check "its state" 0 json '.[0].state == "expired"'
	run FAKE_IDS="$tmp/empty" FAKE_ERRNO=6 FAKE_WORKER=-1 status -c
	check "--check of it" 4 complains ENXIO
	run FAKE_IDS="$tmp/three" status -m
	check "OpenMetrics of it" 0 python3 "$here/openmetrics.py" "$tmp/out"
}

test_status() {
	test_status_text
	test_rate
	test_status_json
	test_metrics
	test_status_check
	test_status_device
}

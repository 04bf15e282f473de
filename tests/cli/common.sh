# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# What the tests of the command share; sourced by run. $tmp is a folder of their
# own, $snowflake the command under test, $kind what it was built as.

number=0
failures=0
kind=
snowflake=
status=0

# ok NAME: a test has passed
ok() {
	number=$((number + 1))
	echo "ok $number $kind: $1"
}

# not_ok NAME: it has failed; shows what the command did
not_ok() {
	number=$((number + 1))
	failures=$((failures + 1))
	echo "not ok $number $kind: $1"
	echo "# status $status"
	sed 's/^/# stdout: /' "$tmp/out" | head -n 40
	sed 's/^/# stderr: /' "$tmp/err" | head -n 40
}

# skip NAME REASON
skip() {
	number=$((number + 1))
	echo "ok $number $kind: $1 # SKIP $2"
}

# run ARGUMENT...: the command; sets $status, and fills $tmp/out and $tmp/err.
# Before it, FAKE_...=VALUE tells the fake device what to do.
run() {
	local fake=()

	while [[ ${1-} = FAKE_* ]]; do
		fake+=("$1")
		shift
	done
	status=0
	${fake[0]:+env "${fake[@]}"} timeout 10 "$snowflake" "$@" >"$tmp/out" \
		2>"$tmp/err" </dev/null || status=$?
}

# run_on TEXT ARGUMENT...: the same with TEXT, a format of printf, as its input
run_on() {
	local text=$1

	shift
	status=0
	# shellcheck disable=SC2059 # a format is what is asked for
	printf "$text" | timeout 10 "$snowflake" "$@" >"$tmp/out" \
		2>"$tmp/err" || status=$?
}

# check NAME STATUS [CONDITION...]: the last run's status, and a condition
check() {
	local name=$1 want=$2

	shift 2
	if [ "$status" -eq "$want" ] && { [ $# -eq 0 ] || "$@"; }; then
		ok "$name"
	else
		not_ok "$name"
	fi
}

silent_out() { [ ! -s "$tmp/out" ]; }
silent_err() { [ ! -s "$tmp/err" ]; }
out_is() { silent_err && printf '%s\n' "$@" | cmp -s - "$tmp/out"; }
out_has() { silent_err && grep -qE -- "$1" "$tmp/out"; }
# complains PATTERN: nothing on standard output, the pattern on the other
complains() { silent_out && grep -qE -- "$1" "$tmp/err"; }
# json EXPRESSION: the output is JSON of which this is true
json() { silent_err && jq -se "$1" "$tmp/out" >/dev/null 2>&1; }

# ids FILE ID...: what the device would give
ids() {
	local file=$1 id shift

	shift
	for id; do
		for ((shift = 0; shift < 64; shift += 8)); do
			# shellcheck disable=SC2059 # made here
			printf "\\x$(printf %x $(((id >> shift) & 255)))"
		done
	done >"$file"
}

# attribute NAME VALUE: what sysfs says
attribute() {
	local file=$tmp/sysfs/$1

	[ -d "${file%/*}" ] || mkdir -p "${file%/*}"
	echo "$2" >"$file"
}

no_sysfs() {
	rm -rf "$tmp/sysfs"
}

# with_layout T W S TICK EPOCH ORDER [PRESET]: as if the device had it
with_layout() {
	no_sysfs
	attribute layout/preset "${7:-custom}"
	attribute layout/timestamp_bits "$1"
	attribute layout/worker_bits "$2"
	attribute layout/sequence_bits "$3"
	attribute layout/tick_ms "$4"
	attribute layout/epoch_ms "$5"
	attribute layout/order "$6"
}

# with_sysfs: a device that is running, with all its attributes
with_sysfs() {
	local name value

	with_layout 41 10 12 1 1288834974657 worker-sequence twitter
	while read -r name value; do
		attribute "$name" "$value"
	done <<-'END'
		layout/ends_ms 3487858230208
		worker_id 77
		worker_count 1
		sharing pooled
		cpu_block 64
		sequence_start zero
		rewind_policy refuse
		rewind_wait_ms 10
		lead_limit_ms 10000
		forward_limit_ms 0
		not_before_ms 0
		not_after_ms 0
		accept_jump
		state running
		generation 3
		clone_detection 1
		lead_ms 0
		last_timestamp_ms 1796086000000
		stats/ids 123456
		stats/refused 5
		stats/exhausted 6
		stats/rewinds 3
		stats/rewind_last_ms 1500
		stats/rewind_max_ms 3600000
		stats/rewind_total_ms 3601500
		stats/forward_steps 2
		stats/forward_max_ms 60000
		stats/clones 1
	END
}

# as_nobody COMMAND...: without rights
as_nobody() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# out_to FILE ARGUMENT...: the command writes there
out_to() {
	local file=$1

	shift
	: >"$tmp/out"
	status=0
	timeout 10 "$snowflake" "$@" >"$file" 2>"$tmp/err" </dev/null ||
		status=$?
}

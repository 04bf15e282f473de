# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT

# set_writes NAME=VALUE...: sets, and has what was written in $writes
set_writes() {
	local fake=()

	while [[ $1 = FAKE_* ]]; do
		fake+=("$1")
		shift
	done
	rm -f "$tmp/writes"
	run FAKE_WRITES="$tmp/writes" "${fake[@]}" set "$@"
	writes=$([ ! -e "$tmp/writes" ] || xargs <"$tmp/writes")
}

test_order() {
	local writes

	with_sysfs
	attribute worker_id -1
	set_writes worker_id=5 not_after_ms=2000 cpu_block=16 not_before_ms=1000 \
		worker_count=2 layout/worker_bits=9 layout/preset=discord \
		rewind_policy=slew
	check "the window before the worker id, a preset before its parts" 0 \
		test "$writes" = "layout/preset=discord layout/worker_bits=9 worker_count=2 cpu_block=16 rewind_policy=slew not_before_ms=1000 not_after_ms=2000 worker_id=5"
	check "nothing is said" 0 silent_err

	with_sysfs
	set_writes layout/preset=js53 worker_id=7
	check "-1 first where what shapes ids changes" 0 \
		test "$writes" = "worker_id=-1 layout/preset=js53 worker_id=7"
	with_sysfs
	set_writes worker_id=78 not_after_ms=2000
	check "-1 first where the old worker id must not see the window" 0 \
		test "$writes" = "worker_id=-1 not_after_ms=2000 worker_id=78"
	with_sysfs
	set_writes worker_id=78
	check "a worker id alone is one write: readers wait, none fails" 0 \
		test "$writes" = "worker_id=78"
	with_sysfs
	set_writes not_after_ms=2000
	check "the window is extended while minting" 0 \
		test "$writes" = "not_after_ms=2000"
	with_sysfs
	set_writes cpu_block=1 worker_id=-1
	check "-1 is written first and stays" 0 \
		test "$writes" = "worker_id=-1 cpu_block=1"
	set_writes worker_id=00005
	check "numbers are written without zeros in front" 0 \
		test "$writes" = "worker_id=5"
	check "and are there" 0 test "$(<"$tmp/sysfs/worker_id")" = 5
	set_writes accept_jump=1
	check "a jump is accepted" 0 test "$writes" = "accept_jump=1"

	with_sysfs
	set_writes layout/preset=twitter cpu_block=64 worker_id=77 \
		rewind_wait_ms=10
	check "what is so already is left alone" 0 test -z "$writes"
	set_writes layout/preset=twitter cpu_block=32 worker_id=77
	check "but of what shapes ids all is written or none" 0 test "$writes" = \
		"worker_id=-1 layout/preset=twitter cpu_block=32 worker_id=77"
	with_sysfs
	rm -f "$tmp/writes"
	run FAKE_WRITES="$tmp/writes" set --dry-run cpu_block=32 worker_id=77
	check "--dry-run prints the writes" 0 out_is worker_id=-1 cpu_block=32 \
		worker_id=77
	check "and makes none" 0 test ! -e "$tmp/writes"
}

# All is refused, whatever stands beside it.
test_wrong() {
	local operand writes

	with_sysfs
	for operand in x=1 worker=1 Worker_id=1 worker_id worker_id= \
		       worker_id=x worker_id=-2 worker_id=1.5 'worker_id= 1' \
		       worker_id=9223372036854775808 state=running \
		       stats/ids=0 layout=twitter layout/preset=x \
		       layout/preset= layout/order=up \
		       layout/timestamp_bits=0 layout/worker_bits=63 \
		       layout/sequence_bits=-1 layout/tick_ms=0 \
		       layout/tick_ms=1001 layout/epoch_ms=9223372036855 \
		       worker_count=0 sharing=none cpu_block=0 \
		       cpu_block=1073741825 sequence_start=one \
		       rewind_policy=jump rewind_wait_ms=3600001 \
		       rewind_wait_ms=1e3 lead_limit_ms=-1 \
		       forward_limit_ms=0x10 not_before_ms=now \
		       not_after_ms=9223372036855 accept_jump=0 accept_jump=2 \
		       =5 = '' ../state=x lead_limit_ms=5; do
		set_writes lead_limit_ms=4 worker_id=-1 "$operand"
		check "set '$operand' is refused" 2 complains '^Try .snowflake'
		check "and nothing is written" 2 test -z "$writes"
	done
	set_writes worker_id=$'\033[31m'
	check "no escape sequence comes through" 2 \
		test -z "$(grep $'\033' "$tmp/err")"

	# What does not go together.
	while read -ra words; do
		set_writes "${words[@]}"
		check "set ${words[*]} is refused" 2 complains \
			'^snowflake: nothing was changed: '
		check "and nothing is written" 2 test -z "$writes"
	done <<-'END'
		worker_id=1024
		worker_id=1023 worker_count=2
		worker_id=16 layout/preset=js53
		worker_id=1 layout/timestamp_bits=43
		worker_id=1 layout/epoch_ms=9223372036854
		worker_id=1 cpu_block=4097
		worker_id=1 sharing=bound worker_count=8193 layout/preset=sonyflake
	END
	set_writes cpu_block=1
	check "what shapes ids wants the worker id named" 2 complains \
		'add worker_id=77 to stop'
	check "and nothing is written" 2 test -z "$writes"
	attribute cpu_block 4096
	set_writes layout/sequence_bits=4 worker_id=1
	check "a block that was not asked for follows the layout" 0 \
		test "$writes" = "worker_id=-1 layout/sequence_bits=4 worker_id=1"
}

test_failures() {
	local err want words writes

	while read -r err want words; do
		with_sysfs
		set_writes FAKE_REFUSE="not_before_ms=1000 $err" \
			rewind_wait_ms=5 not_before_ms=1000 not_after_ms=2000
		check "errno $err is told in words" "$want" complains "$words"
		check "what was written" "$want" grep -q \
			'written before that: rewind_wait_ms=5$' "$tmp/err"
		check "what was not" "$want" grep -q \
			'not written: not_before_ms=1000 not_after_ms=2000$' \
			"$tmp/err"
		check "nothing comes after it" "$want" \
			test "$writes" = rewind_wait_ms=5
	done <<-'END'
		22 1 the module refuses the value
		16 3 not while there is a worker id
		125 3 found to be a clone
		13 6 only root
		12 1 Cannot allocate memory
	END
	with_sysfs
	set_writes FAKE_REFUSE="not_before_ms=1000 22" not_before_ms=1000
	check "where nothing was written before, nothing is said of it" 1 \
		test -z "$(grep before "$tmp/err" | grep -v not_before)"
	set_writes FAKE_REFUSE="cpu_block=1 22" cpu_block=1 worker_id=5
	check "a failure after the stop says that ids have stopped" 1 \
		complains 'no id is made until'
	check "and the worker id is not written" 1 \
		test "$(<"$tmp/sysfs/worker_id")" = -1

	no_sysfs
	run set worker_id=1
	check "no device: 5" 5 complains ENOENT
	with_sysfs
	rm "$tmp/sysfs/forward_limit_ms"
	set_writes lead_limit_ms=7 forward_limit_ms=8
	check "an attribute that the module lacks" 1 complains \
		'no such attribute'
	check "and nothing is written" 1 test -z "$writes"
	if [ "$(id -u)" -eq 0 ] && as_nobody true 2>/dev/null; then
		with_sysfs
		status=0
		as_nobody timeout 10 "$snowflake" set lead_limit_ms=7 \
			>"$tmp/out" 2>"$tmp/err" || status=$?
		check "no permission: 6" 6 complains 'only root'
		check "and nothing is written" 6 \
			test "$(<"$tmp/sysfs/lead_limit_ms")" = 10000
	else
		skip "no permission: 6" "cannot become nobody"
	fi
}

test_set() {
	test_order
	test_wrong
	test_failures
	no_sysfs
}

# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# The command as a whole: help, wrong calls, output that cannot be written.

commands="next decode range status set capacity watch bench"

test_help() {
	local command word

	for command in '' $commands; do
		for word in --help -h; do
			# shellcheck disable=SC2086 # one word or none
			run $command $word
			check "'$command $word': help on standard output" 0 \
				out_has "^usage: snowflake ${command:-COMMAND}"
		done
		check "'$command': it fits 80 columns" 0 \
			test -z "$(grep -E '.{81}' "$tmp/out")"
	done
	run --help
	check "--help lists all exit statuses" 0 out_has '^  6  no permission'
	for command in $commands; do
		check "--help lists $command" 0 out_has "^  $command  "
	done
	run --version
	check "--version is the module's" 0 out_is \
		"snowflake $(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' \
			     "$top/kmod/main.c")"
}

test_usage() {
	local words

	for words in '' nonsense --nonsense Next 'next --nonsense' 'next 5' \
		     'next -n' 'next -d' 'next -f' 'next -f octal' \
		     'next -n1 -n' 'next --help=1' 'decode --nonsense' \
		     'decode -x' 'decode -f octal' 'decode --layout nonsense' \
		     'decode --worker-bits 0' 'decode --worker-bits x' \
		     'decode --worker-bits 63' 'decode --tick-ms 1001' \
		     'decode --order up' 'decode --timestamp-bits 60' \
		     'range' 'range now' 'range now now' 'range -1h now now' \
		     'range --nonsense now now' 'range now --sql' \
		     'range --layout x -1h now' 'status x' 'status -x' \
		     'status -i' 'status -i x' 'status -i 3601' 'status -i -1' \
		     'status -i 0.0001' 'set' 'set -x' 'set --nonsense' \
		     'capacity x' 'capacity -x' 'capacity -w 0' \
		     'capacity -w x' 'capacity -w 1025' 'capacity --layout x' \
		     'capacity --timestamp-bits 63' 'watch x' 'watch -x' \
		     'watch -i 0' 'watch -i 0.09' 'bench x' 'bench -x' \
		     'bench -t 0' 'bench -T 0' 'bench -T 1025' 'bench -T x'; do
		# shellcheck disable=SC2086 # words
		run $words
		check "'$words': a wrong call" 2 complains '^Try .snowflake'
	done
}

test_output() {
	local words

	with_sysfs
	export FAKE_IDS=$tmp/many
	for words in --help --version 'next --help' 'decode 1' 'decode -j 1' \
		     'range -1h now' 'range -j -1h now' 'capacity' \
		     'capacity -j' 'status' 'status -j' 'status -m' \
		     'set -n worker_id=1' 'next -n 20000' 'next' \
		     'bench -t 0.01 -d local:9'; do
		# shellcheck disable=SC2086 # words
		out_to /dev/full $words
		check "'$words' to a full disk fails" 1 \
			complains '^snowflake: standard output: No space'
		check "and says so once" 1 test "$(wc -l <"$tmp/err")" -eq 1
	done

	status=0
	timeout 10 "$snowflake" next >&- 2>"$tmp/err" || status=$?
	check "closed standard output fails" 1 complains 'standard output'

	# With SIGPIPE ignored it is an error, otherwise it is the signal's end.
	for words in 'next -n 20000' "decode -l -" 'status -m'; do
		(
			trap '' PIPE
			# shellcheck disable=SC2086 # words
			timeout 10 "$snowflake" $words <"$tmp/lines" \
				2>"$tmp/err"
			echo $? >"$tmp/status"
		) | true
		status=$(<"$tmp/status")
		: >"$tmp/out"
		# What is short may have been written before the reader went.
		[ "$words" != 'status -m' ] || status=1
		check "'$words': a reader that went needs no words" 1 silent_err
	done
	unset FAKE_IDS
	no_sysfs
}

test_main() {
	test_help
	test_usage
	test_output
}

# What a rescue system or the guests of the tests carry along.
test_static() {
	run --version
	check "--version" 0 out_has '^snowflake [0-9]'
	run decode 2127481729571627013
	check "decode" 0 out_has '^time +2026-11-30T19:15:45.686Z$'
	run next -d local:5 -n 3
	check "a local engine" 0 test "$(grep -cE '^[0-9]{19}$' "$tmp/out")" -eq 3
	check "it needs no shared library" 0 \
		test -z "$(ldd "$snowflake" 2>/dev/null | grep '=>')"
}

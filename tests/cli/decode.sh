# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT

twitter_words() {
	cat <<-'END'
		id            2127481729571627013
		time          2026-11-30T19:15:45.686Z
		unix ms       1796066145686
		tick          507231171029
		worker id     2
		  datacenter  0
		  worker      2
		sequence      5

		  0 | 00111011000011001010101010111000111010101 | 0000000010 | 000000000101
		  |   timestamp                                   worker       sequence
		  sign
	END
}

twitter_line() {
	printf '2127481729571627013\t2026-11-30T19:15:45.686Z\t2\t5\n'
}

test_ids_apart() {
	run decode 2127481729571627013
	check "decode" 0 cmp -s "$tmp/out" <(twitter_words)
	check "it fits 80 columns" 0 test -z "$(grep -E '.{81}' "$tmp/out")"
	run decode 0x1d86555c75402005
	check "hexadecimal" 0 cmp -s "$tmp/out" <(twitter_words)
	run decode 0X1D86555C75402005
	check "hexadecimal in capitals" 0 cmp -s "$tmp/out" <(twitter_words)
	run decode --long 2127481729571627013
	check "--long is the same" 0 cmp -s "$tmp/out" <(twitter_words)
	run_on '2127481729571627013\n' decode -l
	check "--long of standard input" 0 cmp -s "$tmp/out" <(twitter_words)
	run_on '2127481729571627013\n' decode
	check "standard input" 0 cmp -s "$tmp/out" <(twitter_line)
	run_on '  2127481729571627013 \r\n' decode -
	check "'-', and blanks around" 0 cmp -s "$tmp/out" <(twitter_line)
	run_on '2127481729571627013' decode -
	check "no newline at the end" 0 cmp -s "$tmp/out" <(twitter_line)
	run_on '2\n' decode 1 - 3
	check "'-' among others" 0 test "$(cut -f 1 "$tmp/out" | xargs)" = "1 2 3"
	run_on '' decode
	check "empty input" 0 silent_out
	run decode --json 2127481729571627013 4096
	check "JSON" 0 json '. == [{id: "2127481729571627013",
		time: "2026-11-30T19:15:45.686Z", unix_ms: 1796066145686,
		tick: 507231171029, worker_id: 2, sequence: 5},
		{id: "4096", time: "2010-11-04T01:42:54.657Z",
		unix_ms: 1288834974657, tick: 0, worker_id: 1, sequence: 0}]'
	run decode -j 9223372036854775807
	check "in JSON an id above 2^53 is a string" 0 out_has \
		'^\{"id":"9223372036854775807",'
	# More than the buffer holds, so that lines lie across its end.
	seq 1000000000000000000 1000000000000039999 >"$tmp/ids"
	status=0
	timeout 20 "$snowflake" decode <"$tmp/ids" >"$tmp/out" 2>"$tmp/err" ||
		status=$?
	check "40,000 lines come through" 0 cmp -s "$tmp/ids" \
		<(cut -f 1 "$tmp/out")
	# Nobody waits for a second line to have the first one answered.
	status=0
	{ echo 4096; sleep 5; } | timeout 5 "$snowflake" decode 2>"$tmp/err" |
		timeout 4 head -n 1 >"$tmp/out" || :
	check "each line is answered when it comes" 0 test \
		"$(cut -f 1 "$tmp/out")" = 4096
	run decode 0
	check "the first instant" 0 out_has '^time +2010-11-04T01:42:54.657Z$'
	run decode 9223372036854775807
	check "the last instant" 0 out_has '^time +2080-07-10T17:30:30.208Z$'
	check "all of the worker id" 0 out_has '^worker id +1023$'
	check "its upper half" 0 out_has '^  datacenter +31$'
	check "all of the sequence" 0 out_has '^sequence +4095$'
	run decode 4096 8192
	check "two ids" 0 test "$(grep -c '^id ' "$tmp/out")" -eq 2
	run decode -- 131072
	check "worker id 32 is datacenter 1" 0 out_has '^  datacenter +1$'
	run decode 00000000000000000042
	check "zeros in front, to 20 digits" 0 out_has '^id +42$'
}

test_no_decode() {
	local id

	for id in -5 -9223372036854775808 9223372036854775808 \
		  18446744073709551615 18446744073709551616 \
		  18446744073709551617 184467440737095516170 \
		  0x8000000000000000 0xffffffffffffffff \
		  0x10000000000000000 1e3 1.5 '1 2' ' 1' '1 ' '' 0x 0xg x 5a \
		  +5 -0x5 $'1\n' $'1\n2' '٣' 1,000 1_000; do
		run decode "$id"
		check "decode $(printf %q "$id") is refused" 2 \
			complains 'is no id: it is'
	done
	run decode -5
	check "a negative number is told to be one" 2 complains 'negative'
	run decode 9223372036854775808
	check "a large number is told to be one" 2 complains 'above 2\^63-1'
	run decode 1 x 2
	check "the others are decoded all the same" 2 test \
		"$(sed -n 's/^id  *//p' "$tmp/out" | xargs)" = "1 2"
	check "and printed" 2 grep -q "'x' is no id" "$tmp/err"
	run decode -f base58 0
	check "a digit that the format lacks" 2 complains 'not of this format'
	run decode -f hex ffffffffffffffff
	check "too large in another format" 2 complains 'above 2\^63-1'
	run decode -f json 1
	check "JSON without its quotation marks" 2 complains 'not of this format'
	run_on '1\n\n2\n3 4\n' decode
	check "a bad line is told by its number" 2 grep -q "line 4: '3 4'" \
		"$tmp/err"
	check "an empty line too" 2 grep -q "line 2: ''" "$tmp/err"
	run_on '1\0002\n' decode
	check "a NUL does not end a line" 2 complains "'1\?2'"
	run_on '\033[31m\n' decode
	check "no escape sequence comes through" 2 complains "'\?\[31m'"
	run_on "$(printf '%0100000dx' 0)" decode
	check "a long line" 2 complains 'is no id'
	run_on "1\n%0200000d\n2\n" decode
	check "a line that is longer than the buffer" 2 test \
		"$(cut -f 1 "$tmp/out" | xargs)" = "1 2"
	check "it is told of once" 2 test "$(grep -c 'line 2: .*too long' \
		"$tmp/err")" -eq 1
	status=0
	timeout 10 "$snowflake" decode >"$tmp/out" 2>"$tmp/err" </ ||
		status=$?
	check "input that cannot be read" 1 complains 'standard input'
}

test_leaks() {
	export ASAN_OPTIONS=detect_leaks=1
	run --version
	if [ "$status" -ne 0 ]; then
		skip "no leak" "leaks cannot be looked for here"
		return
	fi
	run_on '1\n%02000dx\n2\n' decode -l 3 - 4
	check "no leak" 2 test "$(grep -c '^id ' "$tmp/out")" -eq 4
	run FAKE_IDS="$tmp/three" next -n 3
	check "none of a handle" 0 test "$(wc -l <"$tmp/out")" -eq 3
	run bench -t 0.01 -T 2 -d local:6
	check "none of threads" 0 out_has '^direct '
	export ASAN_OPTIONS=detect_leaks=0
}

test_decode() {
	test_ids_apart
	test_no_decode
}

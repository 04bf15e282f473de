# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT

sonyflake_words() {
	cat <<-'END'
		id            648500711889900084
		layout        sonyflake: 39 / 16 / 8 bits, 10 ms a tick, epoch 1409529600000
		time          2026-11-30T19:15:45.680Z
		unix ms       1796066145680
		tick          38653654568
		worker id     4660
		sequence      201

		  0 | 000100011111111111011111111011000101000 | 11001001 | 0001001000110100
		  |   timestamp                                 sequence   worker
		  sign
	END
}

# values NAME: what each id of the output has for it, in one line
values() {
	sed -n "s/^$1  *//p" "$tmp/out" | xargs
}

test_layout() {
	local words preset t w s tick epoch order worker sequence
	local worker_at sequence_at halves name

	with_layout 41 10 12 1 1288834974657 worker-sequence twitter
	run decode 2127481729571627013
	check "the device's layout: twitter" 0 cmp -s "$tmp/out" <(twitter_words)

	with_layout 41 13 10 1 1314220021721 worker-sequence instagram
	run decode $(((1387263000000 - 1314220021721) << 23 | 1341 << 10 | 1))
	check "another is named" 0 out_has '^layout +instagram: 41 / 13 / 10 bits'
	check "its worker id" 0 out_has '^worker id +1341$'
	check "its time" 0 out_has '^unix ms +1387263000000$'
	check "without halves" 0 test -z "$(grep datacenter "$tmp/out")"

	with_layout 42 10 12 1 1420070400000 worker-sequence discord
	run decode 9223372036854775807
	check "64 bits in use: the sign stays" 0 out_has '^  0 \| 1{41} \| 1{10} \|'

	with_layout 41 4 8 1 1577836800000 worker-sequence js53
	run decode 9007199254740991
	check "53 bits in use" 0 out_has '^  0 \| 0{10} \| 1{41} \| 1{4} \| 1{8}$'
	check "they have a label" 0 out_has '^  \|   unused +timestamp +worker +sequence$'
	check "they fit 80 columns" 0 test -z "$(grep -E '.{81}' "$tmp/out")"
	run decode 9007199254740992
	check "an id past its last timestamp" 2 complains 'past the last timestamp'

	with_layout 39 16 8 10 1409529600000 sequence-worker sonyflake
	run decode $(((1796066145680 - 1409529600000) / 10 << 24 | 201 << 16 | 4660))
	check "the sequence above the worker id" 0 cmp -s "$tmp/out" \
		<(sonyflake_words)
	check "they fit 80 columns, too" 0 test -z "$(grep -E '.{81}' "$tmp/out" |
						     grep -v '^layout')"
	run decode 9223372036854775807
	check "the last instant, in ticks of 10 ms" 0 out_has \
		'^time +2188-11-16T03:28:58.870Z$'

	# T W S of each preset, and an id of its epoch with its fields' highest
	# values, one by one.
	while read -r preset t w s tick epoch order; do
		with_layout "$t" "$w" "$s" "$tick" "$epoch" "$order" "$preset"
		sequence=$(((1 << s) - 1))
		worker=$(((1 << w) - 1))
		case $order in
		worker-*) worker_at=$s sequence_at=0 ;;
		*)	  worker_at=0 sequence_at=$w ;;
		esac
		run decode $((sequence << sequence_at)) $((worker << worker_at)) \
			$((1 << (w + s)))
		check "$preset: sequences" 0 \
			test "$(values sequence)" = "$sequence 0 0"
		check "$preset: worker ids" 0 \
			test "$(values 'worker id')" = "0 $worker 0"
		check "$preset: ticks" 0 test "$(values tick)" = "0 0 1"
		check "$preset: times" 0 test "$(values 'unix ms')" = \
			"$epoch $epoch $((epoch + tick))"
		case $preset in
		twitter) halves=3 name='' ;;
		*)	 halves=0 name=3 ;;
		esac
		check "$preset: halves of the worker id" 0 test \
			"$(grep -cE '^  (datacenter|worker) +[0-9]' "$tmp/out")" \
			-eq $((2 * halves))
		check "$preset: its name" 0 test \
			"$(grep -c "^layout  *$preset: " "$tmp/out")" -eq \
			"${name:-0}"
	done <<-'END'
		twitter   41 10 12 1  1288834974657 worker-sequence
		instagram 41 13 10 1  1314220021721 worker-sequence
		discord   42 10 12 1  1420070400000 worker-sequence
		sonyflake 39 16 8  10 1409529600000 sequence-worker
		js53      41 4  8  1  1577836800000 worker-sequence
	END
	with_layout 41 10 12 1 1288834974658 worker-sequence custom
	run decode 2127481729571627013
	check "the default's widths from another epoch have no halves" 0 \
		test -z "$(grep datacenter "$tmp/out")"

	with_layout 20 32 12 1000 0 worker-sequence
	run decode $((1 << 44 | 4294967295 << 12 | 7))
	check "a worker id of 32 bits" 0 out_has '^worker id +4294967295$'
	with_layout 1 62 1 1 0 worker-sequence
	run decode 9223372036854775807
	check "a worker id of 62 bits" 0 out_has '^worker id +4611686018427387903$'
	with_layout 1 1 62 1 0 sequence-worker
	run decode 9223372036854775806
	check "a sequence of 62 bits" 0 out_has '^sequence +4611686018427387903$'
	with_layout 61 1 1 1000 0 worker-sequence
	run decode $((1796066145 << 2 | 3))
	check "a timestamp of 61 bits of seconds" 0 out_has \
		'^time +2026-11-30T19:15:45.000Z$'
	run decode 9223372036854775807
	check "and what it has beyond 64 bits of ms" 2 complains 'beyond all clocks'

	with_layout 61 1 1 1 0 worker-sequence
	run decode 9223372036854775807
	check "a time that has no date" 0 out_has '^time +[0-9]+-|calendar'
	with_layout 1 31 31 1000 0 worker-sequence
	run decode 9223372036854775807
	check "a timestamp of one bit" 0 out_has '^  sign$'
	check "that has a label, too" 0 out_has '^      timestamp$'

	for words in '42 11 12 1 0 worker-sequence' \
		     '0 10 12 1 0 worker-sequence' \
		     '41 0 12 1 0 worker-sequence' \
		     '41 10 0 1 0 worker-sequence' \
		     '63 1 1 1 0 worker-sequence' \
		     '1 63 1 1 0 worker-sequence' \
		     '1 1 63 1 0 worker-sequence' \
		     '41 10 12 0 0 worker-sequence' \
		     '41 10 12 1001 0 worker-sequence' \
		     '41 10 12 1 9223372036854775807 worker-sequence' \
		     '41 10 x 1 0 worker-sequence' \
		     '41 10 12 1 0 sequence' \
		     '41 10 12 1 0 worker-sequence-worker'; do
		# shellcheck disable=SC2086 # words
		with_layout $words
		run decode 1
		check "layout $words is refused" 1 complains 'not known'
	done
	rm "$tmp/sysfs/layout/tick_ms"
	run decode 1
	check "a layout that lacks a part is refused" 1 complains 'not known'
	run decode --layout twitter 2127481729571627013
	check "but another can be asked for" 0 cmp -s "$tmp/out" <(twitter_words)

	with_layout 39 16 8 10 1409529600000 sequence-worker sonyflake
	run FAKE_IDS="$tmp/three" decode 2127481729571627013
	check "the device is asked before sysfs" 0 cmp -s "$tmp/out" \
		<(twitter_words)
	run FAKE_IDS="$tmp/three" FAKE_BITS="41 13 10" decode 2127481729571627013
	check "whatever it says" 0 out_has '^layout +custom: 41 / 13 / 10 bits'
	run FAKE_IDS="$tmp/three" FAKE_INFO_ERRNO=1 decode 648500711889900084
	check "where it may not be asked, sysfs is" 0 out_has 'sonyflake'

	no_sysfs
	run decode --layout sonyflake 648500711889900084
	check "--layout" 0 cmp -s "$tmp/out" <(sonyflake_words)
	run decode --timestamp-bits 39 --worker-bits 16 --sequence-bits 8 \
		--tick-ms 10 --epoch-ms 1409529600000 --order sequence-worker \
		648500711889900084
	check "each field by its own option" 0 cmp -s "$tmp/out" \
		<(sonyflake_words)
	run decode --worker-bits 9 --sequence-bits 13 --layout discord 8192
	check "fields differ from the preset, in any order" 0 \
		out_has 'custom: 42 / 9 / 13 bits, 1 ms a tick, epoch 1420070400000'
}

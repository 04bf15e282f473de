# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT

# first_ms: the time of the first id that range printed
first_ms() {
	"$snowflake" decode -j "$(head -n 1 "$tmp/out")" | jq .unix_ms
}

# around NAME MS: the first id is of so long ago, give or take 20 s
around() {
	local now off

	now=$(date +%s)000
	off=$(($(first_ms) - (now - $2)))
	check "$1" 0 test "$off" -ge -20000 -a "$off" -le 20000
}

test_instants() {
	local text

	for text in 2026-11-30T19:15:45.686Z 2026-11-30T20:15:45.686+01:00 \
		    '2026-11-30 19:15:45.686' @1796066145686; do
		run range "$text" @1796066145687
		check "from $text" 0 out_is 2127481729571618816 \
			2127481729575813119
	done
	run range -1h now
	around "from an hour ago" 3600000
	run range now-90m now
	around "from 90 minutes ago" 5400000
	run range -1d +1d
	around "from a day ago to tomorrow" 86400000
	run range -- -2w now
	around "from two weeks ago" $((14 * 86400000))
	run range -90000ms +0s
	around "from 90000 ms ago" 90000
	for text in '' yesterday 2026-13-01 2026-02-29 @ @x @-1 -1 -1y -h \
		    -1h5 now+ now5 @9223372036854775808 \
		    -99999999999999999999h -9223372036854775807w 0000-01-01; do
		run range -- "$text" now
		check "range '$text' is refused" 2 complains '^Try .snowflake'
	done
}

test_spans() {
	local both

	run range 2026-12-01 2026-12-02
	check "a day" 0 out_is 2127553260549046272 2127915648414646271
	mapfile -t both <"$tmp/out"
	run decode -j "${both[@]}"
	check "its first and last id" 0 json '.[0].time ==
		"2026-12-01T00:00:00.000Z" and .[0].worker_id == 0 and
		.[1].time == "2026-12-01T23:59:59.999Z" and
		.[1].worker_id == 1023 and .[1].sequence == 4095'
	run range --sql 2026-12-01 2026-12-02
	check "--sql" 0 out_is \
		'BETWEEN 2127553260549046272 AND 2127915648414646271'
	run range --json 2026-12-01 2026-12-02
	check "--json" 0 json '.[0].first == "2127553260549046272" and
		.[0].last == "2127915648414646271" and
		.[0].from == "2026-12-01T00:00:00.000Z" and
		.[0].layout.preset == "twitter"'
	run range --layout sonyflake @1409529600000 @1409529600020
	check "another layout" 0 out_is 0 33554431
	run range 2026-12-02 2026-12-01
	check "the wrong way round" 2 complains 'is not before'
	run range 1990-01-01 2000-01-01
	check "before the epoch there is none" 2 complains 'no id is of this time'
	run range 2100-01-01 2101-01-01
	check "nor after the end" 2 complains 'no id is of this time'
	run range --layout sonyflake @1409529600001 @1409529600009
	check "nor within a tick" 2 complains 'no id is of this time'
	run range 1990-01-01 9999-12-31
	check "what is beyond both ends" 0 out_is 0 9223372036854775807
}

test_range() {
	test_instants
	test_spans
}

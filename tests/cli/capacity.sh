# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT

test_presets() {
	local preset worker workers fleet ends years bits exact

	# By the formulas, on paper.
	while read -r preset worker workers fleet ends years bits exact; do
		run capacity --layout "$preset"
		check "$preset: ids of a worker" 0 out_has \
			"^per worker +$worker ids a second$"
		check "$preset: workers" 0 out_has "^workers +$workers$"
		check "$preset: ids of all" 0 out_has \
			"^fleet +$fleet ids a second$"
		check "$preset: its end" 0 out_has "^ends +$ends"
		check "$preset: years" 0 out_has "^lasts +$years years$"
		check "$preset: bits" 0 out_has "^ids +$bits bits"
		run capacity -j --layout "$preset"
		check "$preset: JSON" 0 json ".[0].layout.preset == \"$preset\"
			and .[0].ids_per_second == ${worker//,/}
			and .[0].workers == ${workers//,/}
			and .[0].fleet_per_second == ${fleet//,/}
			and .[0].exact_in_javascript == $exact"
	done <<-'END'
		twitter 4,096,000 1,024 4,194,304,000 2080-07-10 69.7 63 false
		instagram 1,024,000 8,192 8,388,608,000 2046-06-27 34.8 63 false
		discord 4,096,000 1,024 4,194,304,000 2084-09-06 69.7 63 false
		sonyflake 25,600 65,536 1,677,721,600 2188-11-16 174.2 63 false
		js53 256,000 16 4,096,000 2089-09-06 69.7 53 true
	END
}

test_custom() {
	run capacity
	check "the default is twitter" 0 out_has '^layout +twitter: 41 / 10 / 12'
	run capacity --workers 8
	check "a host of 8" 0 out_has \
		'^host +32,768,000 ids a second with 8 worker ids$'
	run capacity -w 8 --json
	check "in JSON" 0 json '.[0].host_per_second == 32768000'
	run capacity -w 3 --tick-ms 7 --sequence-bits 4
	check "rounded down once" 0 out_has \
		'^host +6,857 ids a second with 3 worker ids$'
	run capacity --timestamp-bits 31 --worker-bits 20 --sequence-bits 12 \
		--tick-ms 1000 --epoch-ms 0
	check "seconds" 0 out_has '^lasts +68.1 years$'
	check "their end" 0 out_has '^ends +2038-01-19T03:14:07.000Z$'
	run capacity --timestamp-bits 62 --worker-bits 1 --sequence-bits 1 \
		--tick-ms 1000
	check "what is beyond all clocks" 0 out_has '^ends +beyond the calendar$'
	run capacity --timestamp-bits 1 --worker-bits 1 --sequence-bits 62 -w 2
	check "what no number holds" 0 out_has '^fleet +more than 2\^64 ids'
	# The device has no say in what is going to be.
	with_layout 39 16 8 10 1409529600000 sequence-worker sonyflake
	run capacity
	check "not this host's" 0 out_has '^layout +twitter'
	no_sysfs
}

test_capacity() {
	test_presets
	test_custom
}

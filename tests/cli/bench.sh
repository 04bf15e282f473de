# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT

test_bench() {
	run bench -t 0.05 -d local:9
	check "cached and direct" 0 test \
		"$(grep -cE '^(cached|direct) +[0-9,]+ +[0-9.]+ %' "$tmp/out")" -eq 2
	check "the ceiling" 0 out_has '^ceiling +4,096,000$'
	run bench -t 0.05 -d local:9 --direct
	check "--direct alone" 0 test -z "$(grep '^cached' "$tmp/out")"
	run bench -t 0.05 -T 4 -j -d local:9,count=2
	check "JSON" 0 json '.[0].threads == 4 and .[0].cached.ids > 0 and
		.[0].direct.ids > 0 and .[0].direct.ids_per_second > 0 and
		.[0].ceiling_per_second == 8192000'
	run FAKE_OPEN=2 bench
	check "no device: 5" 5 complains ENOENT
	run FAKE_OPEN=13 bench
	check "no permission: 6" 6 complains EACCES
	run FAKE_IDS="$tmp/three" FAKE_ERRNO=6 bench -t 5
	check "an error ends it: 4" 4 complains ENXIO
	check "at once, by any thread" 4 silent_out
}

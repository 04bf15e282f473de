# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT

test_count() {
	local count

	for count in 0 -1 +1 1e3 0x10 ' 1' '1 ' '1 2' '' 1.0 7x \
		     9223372036854775808 18446744073709551616 \
		     18446744073709551617 100000000000000000000; do
		run FAKE_IDS="$tmp/three" next -n "$count"
		check "next -n '$count' is refused" 2 complains "^snowflake: -n"
	done
	run FAKE_IDS="$tmp/three" next -n 9223372036854775807
	check "next -n 2^63-1 is taken" 3 grep -q \
		'^snowflake: 3 of 9,223,372,036,854,775,807 ids' "$tmp/err"
}

test_formats() {
	local format text

	while read -r format text; do
		run FAKE_IDS="$tmp/three" next -f "$format"
		check "next -f $format" 0 out_is "$text"
		run decode -j -f "$format" "$text"
		check "decode -f $format takes it back" 0 \
			json '.[0].id == "2127481729571622912"'
	done <<-'END'
		decimal 2127481729571622912
		hex 1d86555c75401000
		base32 1V1JNBHTM0400
		base58 5wRmJTpKgKq
		base62 2X9t6twbJTM
		json "2127481729571622912"
	END
}

test_ids() {
	run FAKE_IDS="$tmp/three" next
	check "next prints one id" 0 out_is 2127481729571622912
	run FAKE_IDS="$tmp/three" next -n 3
	check "next -n 3 prints three" 0 out_is 2127481729571622912 \
		2127481729571622913 9223372036854775807
	run FAKE_IDS="$tmp/three" next --number=2 --device=/dev/null \
		--format=decimal
	check "long options" 0 out_is 2127481729571622912 2127481729571622913
	run FAKE_IDS="$tmp/many" next -n 20000
	check "20000 ids in more than one read" 0 cmp -s "$tmp/out" "$tmp/lines"
	run FAKE_IDS="$tmp/many" FAKE_MOST=7 next -n 20000
	check "short reads are gone on with" 0 cmp -s "$tmp/out" "$tmp/lines"
	run FAKE_IDS="$tmp/three" next -n 4
	check "an early end is an error, lines before it are whole" 3 \
		cmp -s "$tmp/out" <(printf '%s\n' 2127481729571622912 \
			2127481729571622913 9223372036854775807)
	check "it says how far it came" 3 \
		grep -q '^snowflake: 3 of 4 ids were printed' "$tmp/err"
	if command -v strace >/dev/null &&
	   strace -o "$tmp/trace" true 2>/dev/null; then
		FAKE_IDS=$tmp/three strace -f -o "$tmp/trace" -e trace=read \
			"$snowflake" next -n 3 >/dev/null 2>&1
		status=0
		check "reads 8 bytes for each id, no more" 0 \
			grep -q 'read(.*, 24) *= 24' "$tmp/trace"
	else
		skip "reads 8 bytes for each id, no more" "no strace"
	fi
	ids "$tmp/negative" $((1 << 63))
	run FAKE_IDS="$tmp/negative" next
	check "a number with the sign bit is no id" 1 complains 'no id'
}

# Each errno of a read: its exit status, its name, words of its cure.
test_refusals() {
	local err want name words

	while read -r err want name words; do
		run FAKE_IDS="$tmp/empty" FAKE_ERRNO="$err" next
		check "$name: $want" "$want" complains "\\($name\\)$"
		check "$name: what to do" "$want" complains "^snowflake: $words"
		check "$name: in two lines" "$want" \
			test "$(wc -l <"$tmp/err")" -eq 2
	done <<-'END'
		6 4 ENXIO give it one that no other host has
		89 4 EDESTADDRREQ bind the file to a worker id
		75 3 EOVERFLOW see whether the clock is right
		34 3 ERANGE set the clock right or, if it is right now
		127 3 EKEYEXPIRED have it extended
		125 3 ECANCELED no id is made until it has caught up
		11 3 EAGAIN try again
	END
	run FAKE_IDS="$tmp/empty" FAKE_ERRNO=5 next
	check "an errno without words of its own: 1" 1 complains '/dev/null: '
}

# How far the clock is behind comes from sysfs.
test_behind() {
	local now

	now=$(date +%s)
	with_sysfs
	attribute last_timestamp_ms "$((now + 60))000"
	run FAKE_IDS="$tmp/empty" FAKE_ERRNO=125 next
	check "behind the last id" 3 \
		complains 'the last id is of .*: [56][0-9]\.[0-9]{3} s to wait'
	attribute lead_ms 12345
	run FAKE_IDS="$tmp/empty" FAKE_ERRNO=125 next
	check "beyond the lead limit" 3 complains 'ids are 12\.345 s ahead'
	attribute not_before_ms "$((now + 3600))000"
	run FAKE_IDS="$tmp/empty" FAKE_ERRNO=125 next
	check "before the window" 3 \
		complains "window .* begins at .*: (59 min|1 h)"
	no_sysfs
}

test_open() {
	local err want name

	while read -r err want name; do
		run FAKE_OPEN="$err" next
		check "opening it gives $name: $want" "$want" \
			complains "/dev/null: .*\\($name\\)$"
	done <<-'END'
		2 5 ENOENT
		6 5 ENXIO
		19 5 ENODEV
		13 6 EACCES
		1 6 EPERM
	END
	run FAKE_OPEN=24 next
	check "another error: 1, in words" 1 complains 'too many open files'
	run next -d "$tmp/nonexistent"
	check "no device: 5" 5 complains 'ENOENT'
	check "it names the cure" 5 complains 'modprobe snowflake'
	run next -d "$tmp/three/x"
	check "a path that leads nowhere: 1" 1 complains 'no folder'
	run next -d "$tmp/three"
	check "a file is not the device" 1 complains 'not a snowflake device'
	run next -d "$tmp"
	check "a folder is not the device" 1 complains 'not a snowflake device'
	run next -d /dev/zero
	check "another device is not it" 1 complains 'not a snowflake device'
	run next -d local:x
	check "a local engine of a wrong name" 1 complains 'malformed'

	cp "$tmp/three" "$tmp/file"
	mkdir -p "$tmp/secret"
	chmod 700 "$tmp/secret"
	if as_nobody true 2>/dev/null; then
		status=0
		timeout 10 setpriv --reuid=65534 --regid=65534 --clear-groups \
			"$snowflake" next -d "$tmp/secret/x" >"$tmp/out" \
			2>"$tmp/err" || status=$?
		check "no permission: 6" 6 complains 'EACCES'
		status=0
		FAKE_IDS=$tmp/three timeout 10 setpriv --reuid=65534 \
			--regid=65534 --clear-groups "$snowflake" next \
			>"$tmp/out" 2>"$tmp/err" || status=$?
		check "as nobody, without sysfs" 0 out_is 2127481729571622912
	else
		skip "no permission: 6" "cannot become nobody"
		skip "as nobody, without sysfs" "cannot become nobody"
	fi
}

test_local() {
	run next -d local:5 -n 10000
	check "a local engine" 0 test "$(sort -nu "$tmp/out" | wc -l)" -eq 10000
	check "its ids rise" 0 sort -nc "$tmp/out"
	run decode "$(tail -n 1 "$tmp/out")"
	check "they have its worker id" 0 out_has '^worker id +5$'
}

test_next() {
	test_count
	test_formats
	test_ids
	test_refusals
	test_behind
	test_open
	test_local
}

# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT

# complete_to NAME WANT WORD...: what the last WORD is completed to
complete_to() {
	local name=$1 want=$2 got

	shift 2
	got=$(
		# shellcheck disable=SC1091 # it is there
		. "$top/userspace/completion/snowflake.bash"
		COMP_WORDS=(snowflake "$@")
		COMP_CWORD=$#
		COMPREPLY=()
		_snowflake snowflake "${*: -1}" "${COMP_WORDS[$# - 1]}"
		printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
	)
	status=0
	echo "$got" >"$tmp/out"
	: >"$tmp/err"
	check "$name" 0 test "$got" = "$want"
}

# options COMMAND: those that its help lists
options() {
	"$snowflake" "$@" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u | xargs
}

test_completion() {
	local command

	complete_to "subcommands" "bench capacity decode next range set status watch" ""
	complete_to "a begun one" "set status" s
	for command in next decode range status set capacity watch bench; do
		complete_to "$command: all its options" \
			"$(options "$command")" "$command" --
	done
	complete_to "options of the whole" "--help --version" --
	complete_to "formats" "base32 base58 base62" next -f b
	complete_to "formats of decode" "decimal" decode --format d
	complete_to "presets" "discord instagram js53 sonyflake twitter" \
		capacity --layout ""
	complete_to "a begun one" "sonyflake" range --layout s
	complete_to "orders" "sequence-worker worker-sequence" decode --order ""
	complete_to "attributes" "rewind_policy= rewind_wait_ms=" set rew
	complete_to "those of the layout" \
		"layout/sequence_bits=" set layout/s
	complete_to "their values" "slew" set rewind_policy = s
	complete_to "in one word" "refuse slew" set rewind_policy= ""
	complete_to "presets as a value" "js53" set layout/preset = j
	complete_to "no file for a number" "" set worker_id = ""
	complete_to "no file for a count" "" next -n ""
	status=0
	complete_to "instants" "now" range n

	# Each attribute that can be set is known to both.
	"$snowflake" set --help | grep -oE '[a-z_/]+=' | sort -u |
		xargs >"$tmp/names"
	complete_to "all attributes" "$(<"$tmp/names")" set ""
}

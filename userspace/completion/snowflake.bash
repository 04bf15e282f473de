# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# Completion of snowflake(1) for bash.

# _snowflake_words WORD CURRENT: those words that begin with CURRENT
_snowflake_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# The values that an attribute can have, if they are words.
_snowflake_values() {
	case $1 in
	layout/preset)	echo twitter instagram discord sonyflake js53 custom ;;
	layout/order)	echo worker-sequence sequence-worker ;;
	sharing)	echo pooled bound ;;
	sequence_start)	echo zero spread ;;
	rewind_policy)	echo refuse slew ;;
	accept_jump)	echo 1 ;;
	worker_id)	;;
	esac
}

# What can be set. "=" parts words on the command line.
_snowflake_set() {
	local current=$1 previous=$2 before=$3

	case $current:$previous in
	=:*)	_snowflake_words "$(_snowflake_values "$previous")" "" ;;
	*:=)	_snowflake_words "$(_snowflake_values "$before")" "$current" ;;
	*:*=)	_snowflake_words "$(_snowflake_values "${previous%=}")" \
			"$current" ;;
	*)
		_snowflake_words "worker_id= worker_count= sharing= cpu_block=
			sequence_start= rewind_policy= rewind_wait_ms=
			lead_limit_ms= forward_limit_ms= accept_jump=
			not_before_ms= not_after_ms= layout/preset=
			layout/timestamp_bits= layout/worker_bits=
			layout/sequence_bits= layout/order= layout/tick_ms=
			layout/epoch_ms=" "$current"
		compopt -o nospace 2>/dev/null
		;;
	esac
}

# The long options of a subcommand.
_snowflake_options() {
	local layout="--layout --timestamp-bits --worker-bits --sequence-bits
		--order --tick-ms --epoch-ms"

	case $1 in
	next)		echo --number --format --device --help ;;
	decode)		echo --long --json --format "$layout" --help ;;
	range)		echo --sql --json "$layout" --help ;;
	status)		echo --json --metrics --check --interval --help ;;
	set)		echo --dry-run --help ;;
	capacity)	echo "$layout" --workers --json --help ;;
	watch)		echo --interval --help ;;
	bench)		echo --time --threads --device --direct --json --help ;;
	*)		echo --help --version ;;
	esac
}

_snowflake() {
	local current=${COMP_WORDS[COMP_CWORD]} command=
	local previous=${COMP_WORDS[COMP_CWORD - 1]} before=

	COMPREPLY=()
	[ "$COMP_CWORD" -lt 2 ] || command=${COMP_WORDS[1]}
	[ "$COMP_CWORD" -lt 2 ] || before=${COMP_WORDS[COMP_CWORD - 2]}

	case $previous in
	-f|--format)
		_snowflake_words "decimal hex base32 base58 base62 json" \
			"$current"
		return
		;;
	--layout)
		_snowflake_words "twitter instagram discord sonyflake js53" \
			"$current"
		return
		;;
	--order)
		_snowflake_words "worker-sequence sequence-worker" "$current"
		return
		;;
	-d|--device)
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	-[niwtT]|--number|--interval|--workers|--time|--threads|--*-bits|--*-ms)
		# A number; but set has an -n that takes none.
		[ "$command:$previous" = set:-n ] || return
		;;
	esac

	case $command:$current in
	*:-*)	_snowflake_words "$(_snowflake_options "$command")" "$current" ;;
	:*)	_snowflake_words "next decode range status set capacity watch
			bench" "$current" ;;
	set:*)	_snowflake_set "$current" "$previous" "$before" ;;
	range:*) _snowflake_words now "$current" ;;
	esac
}

complete -F _snowflake snowflake

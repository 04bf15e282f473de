#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# Runs selftests one by one in a guest that has busybox and little else, each
# with a time limit, and fails if any of them fails, crashes or hangs.
#
#	in_vm.sh [PROGRAM...]		default: all beside this script

limit=${SNOWFLAKE_TIME_LIMIT:-180}
here=$(dirname "$0")
failed=

[ $# -gt 0 ] || set -- "$here"/*_test

for program; do
	name=${program##*/}
	echo "# selftests: $name"
	began=$(date +%s)
	timeout -s KILL "$limit" "$program"
	status=$?
	case $status in
	0 | 4)
		;;
	1)
		failed="$failed $name"
		;;
	*)
		# It did not get to say so itself. 137 is the limit's own KILL.
		[ $status -ne 137 ] || status="$status, the limit is $limit s"
		echo "not ok - $name did not end in order (status $status)"
		failed="$failed $name"
		;;
	esac
	echo "# selftests: $name took $(($(date +%s) - began)) s"
done

[ -z "$failed" ] || {
	echo "# selftests: failed:$failed"
	exit 1
}

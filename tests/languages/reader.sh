#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# Reads ids in a manner of the shell, as reader.c does in one of C.
#
#	reader.sh {dd|blocks|cat|head} COUNT DEVICE

count=$2
device=$3

echo ready >&2
cat >/dev/null

case $1 in
dd)	dd if="$device" bs=8 count="$count" status=none ;;
blocks)	dd if="$device" bs=8000 count=$((count / 1000)) status=none ;;
# Both read ahead, and take more ids than they pass on.
cat)	cat -u "$device" | head -c $((count * 8)) ;;
head)	head -c $((count * 8)) "$device" ;;
*)	exit 2 ;;
esac

# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT

# Each result of watch.py is one here.
test_watch() {
	local line name=

	with_sysfs
	python3 "$here/watch.py" "$snowflake" "$tmp/sysfs" >"$tmp/watch" \
		2>"$tmp/err" || echo "not ok watch.py ends" >>"$tmp/watch"
	: >"$tmp/out"
	status=0
	while read -r line; do
		case $line in
		'ok '*)		name=${line#ok }; ok "watch: $name" ;;
		'not ok '*)	name=${line#not ok }; not_ok "watch: $name" ;;
		'#'*)		echo "$line" ;;
		esac
	done <"$tmp/watch"
	no_sysfs
}

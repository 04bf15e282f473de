# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# Reads what gcov prints and passes on the part about the core, headers with code
# in them too; fails if less than min percent of the lines of one of its files
# were reached.

/^File / {
	file = $2
	gsub(/'/, "", file)
	sub(/.*kmod\//, "kmod/", file)
}

/^Lines executed:/ && file ~ /^kmod\// && file !~ /portable/ {
	split($2, part, /[:%]/)
	printf "%s: %s %% of %d lines\n", file, part[2], $4
	seen++
	if (part[2] < min)
		failed = 1
	file = ""
}

END {
	if (!seen) {
		print "gcov told nothing of the core"
		exit 1
	}
	if (failed)
		printf "below %d %%\n", min
	exit failed
}

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# Tests of the snowflake command against the device; prints TAP. For a guest
# with busybox, since it sets the clock and unloads the module. The command is
# in PATH or beside the script, the module in /lib/snowflake.ko.

PATH=$PATH:$(cd "$(dirname "$0")" && pwd)
sysfs=/sys/class/misc/snowflake
module=/lib/snowflake.ko
tmp=/tmp/cli
number=0
failures=0
status=0

# check NAME STATUS [CONDITION...]: the last run's status, and a condition
check() {
	name=$1
	want=$2
	shift 2
	number=$((number + 1))
	if [ "$status" -eq "$want" ] && { [ $# -eq 0 ] || "$@"; }; then
		echo "ok $number cli: $name"
		return
	fi
	echo "not ok $number cli: $name"
	echo "# status $status"
	head -n 20 "$tmp/out" | sed 's/^/# stdout: /'
	sed 's/^/# stderr: /' "$tmp/err"
	failures=$((failures + 1))
}

# run ARGUMENT...: the command; sets $status, and fills $tmp/out and $tmp/err
run() {
	status=0
	timeout 20 snowflake "$@" >$tmp/out 2>$tmp/err || status=$?
}

# look_at ARGUMENT...: what the command shows on the kernel's own terminal after
# 2 s; it is ended then
look_at() {
	snowflake "$@" </dev/tty1 >/dev/tty1 2>$tmp/err &
	sleep 2
	fold -w 80 /dev/vcs1 >$tmp/out
	status=0
	kill $!
	wait $! || status=$?
}

# as_nobody ARGUMENT...: the same without rights
as_nobody() {
	status=0
	timeout 20 su -s /bin/sh nobody -c "snowflake $*" >$tmp/out \
		2>$tmp/err || status=$?
}

# complains PATTERN: nothing on standard output, the pattern on the other
complains() {
	[ ! -s $tmp/out ] && grep -qE -- "$1" $tmp/err
}

# rising FILE LINES: as many lines, each above the one before. Ids of our time
# have 19 digits, so text sorts as numbers do.
rising() {
	[ "$(grep -cE '^[0-9]{19}$' "$1")" -eq "$2" ] &&
		sort -u "$1" | cmp -s - "$1"
}

# field NAME: what decode printed
field() {
	sed -n "s/^$1  *//p" $tmp/out
}

# fresh NAME=VALUE...: the module anew, so that no floor is left from before
fresh() {
	[ ! -d $sysfs ] || rmmod snowflake
	insmod $module "$@"
}

# value NAME: of an attribute
value() {
	cat "$sysfs/$1"
}

# says PATTERN: on standard output, and nothing on the other
says() {
	[ ! -s $tmp/err ] && grep -qE -- "$1" $tmp/out
}

# step SECONDS: set the clock by as much
step() {
	date -s "@$(($(date +%s) + $1))" >/dev/null
}

mkdir -p $tmp
chmod 755 $tmp
grep -q '^nobody:' /etc/passwd ||
	echo nobody:x:65534:65534:nobody:/:/bin/false >>/etc/passwd

fresh
run next
check "no worker id: 4" 4 complains 'no worker id \(ENXIO\)'
check "it names the attribute" 4 complains "echo N > $sysfs/worker_id"

echo 77 >$sysfs/worker_id
run next
check "one id" 0 rising $tmp/out 1
now=$(date +%s)
run decode "$(cat $tmp/out)"
seconds=$(($(field 'unix ms') / 1000))
check "its time is the clock's" 0 \
	[ $((now - seconds)) -ge -2 -a $((now - seconds)) -le 2 ]
check "in words too" 0 \
	[ "$(field time | cut -c 1-19)" = "$(date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%S)" ]
check "its worker id is this host's" 0 [ "$(field 'worker id')" = 77 ]
check "with its halves" 0 \
	[ "$(field '  datacenter') $(field '  worker')" = "2 13" ]
check "the default layout is not worth a word" 0 \
	[ -z "$(field layout)" ]

run next -n 10000
check "10000 ids rise" 0 rising $tmp/out 10000
run next -n 100000
check "100000 ids rise, at more than a tick holds" 0 rising $tmp/out 100000
as_nobody next -n 3
check "as nobody" 0 rising $tmp/out 3

before=$(cat $sysfs/stats/ids)
run next -n 5
check "nothing is read in advance" 0 \
	[ $(($(cat $sysfs/stats/ids) - before)) -eq 5 ]

chmod 400 /dev/snowflake
as_nobody next
check "no permission: 6" 6 complains 'EACCES'
chmod 444 /dev/snowflake

snowflake next -n 1000000000 >/dev/null 2>$tmp/err &
sleep 1
echo -1 >$sysfs/worker_id
status=0
wait $! || status=$?
: >$tmp/out
check "a worker id taken away in the middle: 4" 4 complains 'no worker id'
check "it says how far it came" 4 \
	complains '[0-9,]+ of 1,000,000,000 ids were printed'
echo 77 >$sysfs/worker_id

run next
step -60
run next
check "the clock set back: 3" 3 complains 'clock is behind.*\(ECANCELED\)'
check "it says how far" 3 complains ' (59|60)\.[0-9]{3} s to wait'
check "it says what to do" 3 complains 'wait, or set it right'
step 62
run next
check "the clock has caught up" 0 rising $tmp/out 1

# What shapes ids is changed while they are made.
fresh worker_id=1
for preset in twitter instagram discord sonyflake js53; do
	run set layout/preset=$preset worker_id=9
	check "$preset: set while ids are made" 0 \
		[ "$(value layout/preset) $(value worker_id)" = "$preset 9" ]
	run next
	now=$(date +%s)
	run decode "$(cat $tmp/out)"
	check "$preset: the worker id is this host's" 0 \
		[ "$(field 'worker id')" = 9 ]
	seconds=$(($(field 'unix ms') / 1000))
	check "$preset: the time is the clock's" 0 \
		[ $((now - seconds)) -ge -2 -a $((now - seconds)) -le 2 ]
done

fresh
run status --check
check "status without a worker id: 4" 4 complains 'no worker id'
run status
check "it says what to do" 0 says 'snowflake set worker_id=N'
run set worker_id=5 not_before_ms=1000 cpu_block=16 worker_count=2
check "set" 0 [ ! -s $tmp/out -a ! -s $tmp/err ]
check "all of it is there" 0 [ "$(value worker_id) $(value not_before_ms) \
$(value cpu_block) $(value worker_count)" = "5 1000 16 2" ]
run set cpu_block=8
check "what shapes ids stays while they are made: 2" 2 \
	complains 'add worker_id=5'
run set not_before_ms=999
check "the window's begin is not lowered meanwhile: 3" 3 \
	complains 'can only be raised'
check "it stays" 3 [ "$(value not_before_ms)" = 1000 ]
run set not_before_ms=2000
check "but raised" 0 [ "$(value not_before_ms)" = 2000 ]
run set lead_limit_ms=5 worker_id=1024
check "a worker id that does not fit: 2" 2 complains 'does not fit'
check "nothing was changed" 2 \
	[ "$(value lead_limit_ms) $(value worker_id)" = "10000 5" ]
as_nobody set lead_limit_ms=5
check "set as nobody: 6" 6 complains 'only root'
check "nothing was changed" 6 [ "$(value lead_limit_ms)" = 10000 ]
run set worker_id=5 cpu_block=16 rewind_policy=refuse
check "what is so already is left alone" 0 \
	[ "$(value worker_id)" = 5 ]

generation=$(value generation)
run set -n worker_id=-1 layout/preset=js53
check "a dry run prints the writes" 0 \
	[ "$(tr '\n' ' ' <$tmp/out)" = "worker_id=-1 layout/preset=js53 " ]
check "and makes none" 0 [ "$(value generation)" = "$generation" ]

run status --check
check "status --check while ids are made" 0 [ ! -s $tmp/out ]
before=$(value stats/ids)
snowflake next -n 1000 >/dev/null
run status --json
check "status --json counts them" 0 says "\"ids\":$((before + 1000)),"
missing=""
for file in $(find $sysfs/ -maxdepth 2 -type f |
	      grep -vE '/(accept_jump|uevent|dev|power/.*)$'); do
	says "\"${file##*/}\":" || missing="$missing $file"
done
check "it has all attributes but the one that is write only" 0 [ -z "$missing" ]
run status --metrics
check "status --metrics, too" 0 says "^snowflake_ids_total $((before + 1000))$"
as_nobody status -i 0
check "status as nobody" 0 says '^state +running: ids are made$'
snowflake next -n 1000000000 >/dev/null &
run status -i 1
kill $!
check "the rate of a busy reader" 0 says '^rate +[0-9,]+,[0-9]{3} ids/s'

before=$(value stats/ids)
mount -t tmpfs none /sys/class/misc
as_nobody status
check "nothing but the node, as nobody" 0 says '^state +running'
check "its worker ids" 0 says '^worker ids +5 to 6, pooled$'
as_nobody next
check "ids, too" 0 rising $tmp/out 1
umount /sys/class/misc
check "status took none" 0 [ "$(value stats/ids)" -eq $((before + 1)) ]

run range -1m now+1m
first=$(head -n 1 $tmp/out)
last=$(tail -n 1 $tmp/out)
run next
id=$(cat $tmp/out)
check "an id is in its range" 0 [ "$id" -ge "$first" -a "$id" -le "$last" ]

run watch
check "watch wants a terminal: 1" 1 complains 'no terminal'
snowflake next -n 1000000000 >/dev/null &
reader=$!
look_at watch -i 0.2
check "watch, and SIGTERM" 143 says '^ snowflake  worker ids 5 to 6, pooled'
check "it shows the state" 143 says '^running: ids are made'
check "it shows the rate" 143 says '^[0-9,]+,[0-9]{3} ids/s   [0-9.]+ % of'
check "and a chart" 143 says '#{3}'
kill $reader

run bench -t 0.5 -T 2
check "bench, cached" 0 says '^cached +[0-9,]+ +[0-9.]+ %'
check "bench, direct" 0 says '^direct +[0-9,]+ +[0-9.]+ %'
run bench -t 0.2 -d local:6
check "a local engine of the device's worker id is refused: 3" 3 \
	complains 'EADDRINUSE'
run next -d local:100 -n 3
check "one of another is not" 0 rising $tmp/out 3

fresh layout=instagram
echo bound >$sysfs/sharing
echo 1 >$sysfs/worker_id
run next
check "bound to no worker id: 4" 4 complains 'EDESTADDRREQ'

fresh worker_id=1
now=$(date +%s)
echo $((now - 1))000 >$sysfs/not_after_ms
run next
check "the window has ended: 3" 3 complains 'EKEYEXPIRED'
echo 0 >$sysfs/not_after_ms
run next
check "it was opened again" 0 rising $tmp/out 1
echo $((now + 3600))000 >$sysfs/not_before_ms
run next
check "the window has not begun: 3" 3 complains 'not_before_ms \(ECANCELED\)'
check "it says when it does" 3 \
	complains 'begins at .*: (59 min [0-9]+ s|1 h 0 min) to wait'

fresh worker_id=1
run next
echo 10000 >$sysfs/forward_limit_ms
step 3600
run next
check "the clock set far ahead: 3" 3 complains 'ERANGE'
check "it says what to do" 3 complains "echo 1 > $sysfs/accept_jump"
step -3598
run next
check "the clock is back" 0 rising $tmp/out 1

fresh worker_id=1
echo slew >$sysfs/rewind_policy
run next
step -3600
run next
check "beyond the lead limit: 3" 3 complains 'ids are (59 min [0-9]+ s|1 h 0 min) ahead'
step 3602

fresh worker_id=1
run status
check "status" 0 grep -qE '^state +running: ' $tmp/out
run status --check
check "ids are made" 0 test ! -s $tmp/out
run status --json
check "status in JSON" 0 grep -q '"state":"running"' $tmp/out
run status --metrics
check "metrics" 0 test "$(tail -n 1 $tmp/out)" = "# EOF"
as_nobody status
check "status as nobody" 0 grep -qE '^worker id +1' $tmp/out
run set worker_count=4 sequence_start=spread worker_id=8
check "set" 0 test "$(cat $sysfs/worker_id $sysfs/worker_count \
	$sysfs/sequence_start | tr '\n' ' ')" = "8 4 spread "
run next -n 3
check "ids of the new range" 0 rising $tmp/out 3
run set lead_limit_ms=5 worker_count=4096
check "set what does not go together" 2 test ! -s $tmp/out
check "nothing was changed" 2 test "$(cat $sysfs/lead_limit_ms \
	$sysfs/worker_count $sysfs/worker_id | tr '\n' ' ')" = "10000 4 8 "
as_nobody set worker_id=5
check "set as nobody: 6" 6 test "$(cat $sysfs/worker_id)" = 8
run set worker_id=-1
check "set no worker id" 0 test "$(cat $sysfs/worker_id)" = -1
run status --check
check "no ids are made: 4" 4 test ! -s $tmp/out

minor=$(sed -n 's/ snowflake$//p' /proc/misc)
rmmod snowflake
run next
check "the module unloaded: 5" 5 complains 'ENOENT'
check "it says how to load it" 5 complains 'modprobe snowflake'
mknod $tmp/node c 10 "$minor"
run next -d $tmp/node
check "a node that is left over: 5" 5 complains 'has no driver'
rm -f $tmp/node
run decode 4096
check "decode needs no module" 0 [ "$(field 'worker id')" = 1 ]

now=$(date +%s)
fresh worker_id=1
date -s @1000000000 >/dev/null
run next
check "a clock before the epoch: 3" 3 complains 'not set yet'
date -s @3487858300 >/dev/null
run next
check "a clock past the last timestamp: 3" 3 complains 'EOVERFLOW'
date -s "@$now" >/dev/null
rmmod snowflake

echo "1..$number"
[ $failures -eq 0 ]

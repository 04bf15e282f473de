// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A clock that stands still until the test moves it. See driven_clock.h.
 */
#include "driven_clock.h"

/* Threads may read it while another moves it. */
static s64 mono;
static s64 offsets[2];		/* by enum tk_offsets */

static void (*interrupt)(void);
static unsigned int interrupt_after;	/* so many more readings */

/**
 * driven_clock_start - start a machine anew
 * @real: what its real-time clock shows, in ns since the Unix epoch
 */
void driven_clock_start(s64 real)
{
	/* Any uptime, and it was asleep for a while: no offset is like another. */
	WRITE_ONCE(mono, 1000000007L);
	WRITE_ONCE(offsets[TK_OFFS_BOOT], 77000000L);
	WRITE_ONCE(offsets[TK_OFFS_REAL], real - mono);
	interrupt = NULL;
}

/**
 * driven_clock_mono - the monotonic time
 *
 * Return: nanoseconds.
 */
s64 driven_clock_mono(void)
{
	return READ_ONCE(mono);
}

/**
 * driven_clock_real - the real time
 *
 * Return: nanoseconds since the Unix epoch.
 */
s64 driven_clock_real(void)
{
	return READ_ONCE(mono) + READ_ONCE(offsets[TK_OFFS_REAL]);
}

/**
 * driven_clock_advance - let time pass
 * @ns: how much
 */
void driven_clock_advance(s64 ns)
{
	WRITE_ONCE(mono, mono + ns);
}

/**
 * driven_clock_step - set the real-time clock
 * @ns: by how much; back if negative
 */
void driven_clock_step(s64 ns)
{
	WRITE_ONCE(offsets[TK_OFFS_REAL], offsets[TK_OFFS_REAL] + ns);
}

/**
 * driven_clock_suspend - let the machine sleep
 * @ns: how long
 */
void driven_clock_suspend(s64 ns)
{
	WRITE_ONCE(offsets[TK_OFFS_REAL], offsets[TK_OFFS_REAL] + ns);
	WRITE_ONCE(offsets[TK_OFFS_BOOT], offsets[TK_OFFS_BOOT] + ns);
}

/**
 * driven_clock_interrupt_later - hold up one who reads the clock
 * @after: after so many readings: 0 is the next
 * @handler: called once, when the reader has the monotonic time but does not
 *	yet know more: what others do in the meantime; NULL for nothing
 */
void driven_clock_interrupt_later(unsigned int after, void (*handler)(void))
{
	interrupt = handler;
	interrupt_after = after;
}

/**
 * driven_clock_interrupt - hold up the next to read the clock
 * @handler: as for driven_clock_interrupt_later()
 */
void driven_clock_interrupt(void (*handler)(void))
{
	driven_clock_interrupt_later(0, handler);
}

ktime_t ktime_get(void)
{
	s64 now = READ_ONCE(mono);
	void (*handler)(void) = interrupt;

	if (handler && !interrupt_after--) {
		interrupt = NULL;
		handler();
	}
	return now;
}

ktime_t ktime_mono_to_any(ktime_t mono, enum tk_offsets offset)
{
	return mono + READ_ONCE(offsets[offset]);
}

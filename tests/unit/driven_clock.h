/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A clock that stands still until the test moves it. What the core calls for
 * the time is answered from here; all is in nanoseconds.
 */
#ifndef SNOWFLAKE_DRIVEN_CLOCK_H
#define SNOWFLAKE_DRIVEN_CLOCK_H

#include "portable.h"

void driven_clock_start(s64 real);
s64 driven_clock_mono(void);
s64 driven_clock_real(void);
void driven_clock_advance(s64 ns);
void driven_clock_step(s64 ns);
void driven_clock_suspend(s64 ns);
void driven_clock_interrupt_later(unsigned int after, void (*handler)(void));
void driven_clock_interrupt(void (*handler)(void));

#endif /* SNOWFLAKE_DRIVEN_CLOCK_H */

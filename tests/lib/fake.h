/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * An engine that does what a test says, in place of all that the library has. Its
 * state is shared by forked processes, as the device is, and the wall clock of
 * the program is the engine's to set.
 */
#ifndef SNOWFLAKE_LIB_FAKE_H
#define SNOWFLAKE_LIB_FAKE_H

#include <stdint.h>

#define FAKE_SHIFT 22			/* of a tick in an id */
#define FAKE_WORKER_SHIFT 12
#define FAKE_WORKER 1
#define FAKE_IDS_PER_TICK (1 << FAKE_WORKER_SHIFT)
#define FAKE_TICK_NS 1000000LL
#define FAKE_EPOCH_MS 1288834974657LL

/**
 * struct fake - the engine
 * @word: the next number: tick and sequence
 * @generation: as on the device's page
 * @clock_ns: what the wall clock stands at, in ns; 0 if it goes as ever
 * @lead_ns: ids are of a time that is later by this than the clock's
 * @error: what reads fail with, 0 if they do not
 * @signal: what the thread is sent when a read has its ids; 0 for none. Once
 * @sequence_bits: what the info says of the layout
 * @reads: calls of read
 * @infos: calls of info
 * @most: the most ids that were asked for at once
 * @given: how many ids were given
 */
struct fake {
	uint64_t word;
	uint32_t generation;
	int64_t clock_ns;
	int64_t lead_ns;
	int error;
	int signal;
	unsigned int sequence_bits;
	unsigned int reads;
	unsigned int infos;
	unsigned int most;
	unsigned int given;
};

extern struct fake *fake;

void fake_reset(void);
int64_t fake_now(void);

static inline int64_t fake_tick(uint64_t id)
{
	return id >> FAKE_SHIFT;
}

#endif /* SNOWFLAKE_LIB_FAKE_H */

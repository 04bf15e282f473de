/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The names that the core (clock, generator, layout) takes from the kernel,
 * and what stands for them in user space, where the same files are compiled
 * for sanitizers and tools. Nothing else in the core may know which of the two
 * it is in.
 */
#ifndef SNOWFLAKE_PORTABLE_H
#define SNOWFLAKE_PORTABLE_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#include <asm/local64.h>

#else

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define __rcu
#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif
#define ____cacheline_aligned __attribute__((__aligned__(64)))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define S64_MAX INT64_MAX
#define S64_MIN INT64_MIN
#define U64_MAX UINT64_MAX
#define U32_MAX UINT32_MAX

#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L

#define min_t(type, a, b)				\
	({						\
		type min_a = (a), min_b = (b);		\
							\
		min_a < min_b ? min_a : min_b;		\
	})
#define max_t(type, a, b)				\
	({						\
		type max_a = (a), max_b = (b);		\
							\
		max_a > max_b ? max_a : max_b;		\
	})

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define rcu_dereference_sched(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define rcu_assign_pointer(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	s64 counter;
} atomic64_t;

typedef struct {
	s64 counter;
} local64_t;

typedef struct {
	bool held;
} raw_spinlock_t;

static inline int atomic_read(const atomic_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline void atomic_set(atomic_t *v, int to)
{
	__atomic_store_n(&v->counter, to, __ATOMIC_RELAXED);
}

static inline void atomic_inc(atomic_t *v)
{
	__atomic_fetch_add(&v->counter, 1, __ATOMIC_RELAXED);
}

static inline void atomic_dec(atomic_t *v)
{
	__atomic_fetch_sub(&v->counter, 1, __ATOMIC_RELAXED);
}

static inline s64 atomic64_read(const atomic64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline s64 atomic64_read_acquire(const atomic64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);
}

static inline void atomic64_set(atomic64_t *v, s64 to)
{
	__atomic_store_n(&v->counter, to, __ATOMIC_RELAXED);
}

static inline bool atomic64_try_cmpxchg(atomic64_t *v, s64 *old, s64 to)
{
	return __atomic_compare_exchange_n(&v->counter, old, to, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static inline void local64_add(s64 n, local64_t *v)
{
	/* Only its own CPU writes it; others may look. */
	__atomic_store_n(&v->counter, v->counter + n, __ATOMIC_RELAXED);
}

static inline s64 local64_read(const local64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline void raw_spin_lock_init(raw_spinlock_t *lock)
{
	lock->held = false;
}

static inline void raw_spin_lock(raw_spinlock_t *lock)
{
	while (__atomic_test_and_set(&lock->held, __ATOMIC_ACQUIRE))
		;
}

static inline void raw_spin_unlock(raw_spinlock_t *lock)
{
	__atomic_clear(&lock->held, __ATOMIC_RELEASE);
}

#define raw_spin_lock_irqsave(lock, flags)		\
	do {						\
		(flags) = 0;				\
		raw_spin_lock(lock);			\
	} while (0)
#define raw_spin_unlock_irqrestore(lock, flags)		\
	do {						\
		(void)(flags);				\
		raw_spin_unlock(lock);			\
	} while (0)

/*
 * The clock is what the program that embeds the core says it is: a test drives
 * it, a tool passes the system's on. Nanoseconds throughout.
 */
typedef s64 ktime_t;

enum tk_offsets { TK_OFFS_REAL, TK_OFFS_BOOT };

ktime_t ktime_get(void);
ktime_t ktime_mono_to_any(ktime_t mono, enum tk_offsets offset);

static inline ktime_t ktime_mono_to_real(ktime_t mono)
{
	return ktime_mono_to_any(mono, TK_OFFS_REAL);
}

static inline s64 ktime_to_ns(ktime_t time)
{
	return time;
}

#endif /* __KERNEL__ */
#endif /* SNOWFLAKE_PORTABLE_H */

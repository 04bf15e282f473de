// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A signal handler between any two instructions; see step.h. Only one thread of
 * a program may do it at a time.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "step.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

#define TRAP_FLAG 0x100LL

static volatile struct {
	long at;
	long count;
	bool blocked;
	bool done;
	bool (*handler)(void *arg);
	void *arg;
} step;

/* The area below the stack pointer may be in use. */
static inline __attribute__((__always_inline__)) void trap_on(void)
{
	__asm__ __volatile__("lea -128(%%rsp), %%rsp\n\t"
			     "pushfq\n\t"
			     "orq $0x100, (%%rsp)\n\t"
			     "popfq\n\t"
			     "lea 128(%%rsp), %%rsp"
			     : : : "memory", "cc");
}

static inline __attribute__((__always_inline__)) void trap_off(void)
{
	__asm__ __volatile__("lea -128(%%rsp), %%rsp\n\t"
			     "pushfq\n\t"
			     "andq $~0x100, (%%rsp)\n\t"
			     "popfq\n\t"
			     "lea 128(%%rsp), %%rsp"
			     : : : "memory", "cc");
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	/* A trap that finds SIGTRAP blocked kills the program. */
	if (registers[REG_RIP] == (greg_t)(uintptr_t)pthread_sigmask) {
		step.blocked = true;
		registers[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	if (step.count++ != step.at)
		return;
	step.done = true;
	if (step.handler(step.arg))
		registers[REG_EFL] &= ~TRAP_FLAG;
}

static void nothing(void *arg)
{
	(void)arg;
}

bool step_possible(void)
{
	return step_call(nothing, NULL, NULL, -1) > 0;
}

bool step_done(void)
{
	return step.done;
}

bool step_blocked(void)
{
	return step.blocked;
}

__attribute__((__noinline__))
long step_call(void (*call)(void *arg), bool (*handler)(void *arg), void *arg,
	       long at)
{
	struct sigaction action = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO,
	};
	struct sigaction before;

	step.at = at;
	step.count = 0;
	step.blocked = false;
	step.done = false;
	step.handler = handler;
	step.arg = arg;
	sigaction(SIGTRAP, &action, &before);
	trap_on();
	call(arg);
	trap_off();
	sigaction(SIGTRAP, &before, NULL);
	return step.count;
}

#else

bool step_possible(void)
{
	return false;
}

bool step_done(void)
{
	return false;
}

bool step_blocked(void)
{
	return false;
}

long step_call(void (*call)(void *arg), bool (*handler)(void *arg), void *arg,
	       long at)
{
	(void)handler;
	(void)at;
	call(arg);
	return 0;
}

#endif

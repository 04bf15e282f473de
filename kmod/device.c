// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The file operations of /dev/snowflake.
 *
 * A page of user memory may take hours to come (userfaultfd), so ids are taken
 * with preemption off and written with preemption on. What was taken and cannot
 * be written is lost; it is never given again.
 *
 * There is a read beside read_iter for the same reason as in /dev/zero: for a
 * read of a few bytes, setting up the iterator costs more than the read.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/splice.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "host.h"
#include "wait.h"
#include "watch.h"

#define ID_SIZE sizeof(u64)

/* A signal is looked for after so many ids: what a page holds. */
#define CHUNK_IDS (PAGE_SIZE / ID_SIZE)

/* Ids that are gathered on the stack on their way to an iterator. */
#define BATCH_IDS 64

/**
 * struct snowflake_file - an open file
 * @order: what keeps its ids rising
 */
struct snowflake_file {
	struct snowflake_order order;
};

/* Where the ids of a read go: plain user memory or an iterator. */
struct destination {
	u64 __user *user;
	struct iov_iter *iter;
};

static int snowflake_open(struct inode *inode, struct file *file)
{
	struct snowflake_file *sf = kzalloc(sizeof(*sf), GFP_KERNEL);

	if (!sf)
		return -ENOMEM;
	snowflake_order_init(&sf->order);
	file->private_data = sf;
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

static int snowflake_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

/* Write @count ids to user memory; return how many of them got there. */
static u32 put_user_ids(u64 __user *to, u64 id, u32 count)
{
	u32 done = 0;

	if (count == 1)
		return put_user(id, to) ? 0 : 1;
	if (!user_write_access_begin(to, count * ID_SIZE))
		return 0;
	for (; done < count; done++)
		unsafe_put_user(id + done, to + done, fault);
fault:
	user_write_access_end();
	return done;
}

/* The same to an iterator, which may end within an id. */
static u32 put_iter_ids(struct iov_iter *to, u64 id, u32 count)
{
	u64 batch[BATCH_IDS];
	u32 done, i, n;
	size_t copied;

	for (done = 0; done < count; done += n) {
		n = min_t(u32, count - done, BATCH_IDS);
		for (i = 0; i < n; i++)
			batch[i] = id + done + i;
		copied = copy_to_iter(batch, n * ID_SIZE, to);
		if (copied < n * ID_SIZE) {
			iov_iter_revert(to, copied % ID_SIZE);
			return done + copied / ID_SIZE;
		}
	}
	return done;
}

static __always_inline u32 put_ids(const struct destination *to, size_t at,
				   const struct snowflake_run *run)
{
	if (to->iter)
		return put_iter_ids(to->iter, run->id, run->count);
	return put_user_ids(to->user + at, run->id, run->count);
}

static __always_inline enum snowflake_verdict
take(struct snowflake_file *sf, size_t want, bool woken,
     struct snowflake_run *run)
{
	enum snowflake_verdict verdict;

	preempt_disable();
	verdict = snowflake_generator_take(&snowflake_host.generator,
					   &snowflake_host.clock,
					   this_cpu_ptr(&snowflake_blocks),
					   &sf->order,
					   min_t(size_t, want, CHUNK_IDS),
					   woken, run);
	preempt_enable();
	return verdict;
}

/* A read that fails through no fault of the reader is a refusal. */
static int failed(int err)
{
	switch (err) {
	case -EAGAIN:
	case -EFAULT:
	case -ERESTARTSYS:
		break;
	default:
		atomic64_inc(&snowflake_host.refused);
	}
	return err;
}

/*
 * Read @want ids: all of them, unless a signal or an error comes after the
 * first. The errno of a read that got none says why.
 */
static __always_inline ssize_t read_ids(struct snowflake_file *sf,
					const struct destination *to,
					size_t want, bool nonblock)
{
	struct snowflake_waiter waiter = { .nonblock = nonblock };
	enum snowflake_verdict verdict;
	struct snowflake_run run;
	size_t done = 0;
	int err = 0;
	u32 put;

	if (!want)
		return -EINVAL;

	for (;;) {
		verdict = take(sf, want - done, waiter.counted, &run);
		if (unlikely(verdict != SNOWFLAKE_GIVEN)) {
			err = snowflake_wait(&waiter, verdict, run.until);
			if (err)
				break;
			continue;
		}
		snowflake_wait_end(&waiter);

		put = put_ids(to, done, &run);
		done += put;
		if (unlikely(put < run.count)) {
			err = -EFAULT;
			break;
		}
		if (likely(done == want))
			return done * ID_SIZE;
		if (signal_pending(current)) {
			err = -ERESTARTSYS;
			break;
		}
		if (!nonblock)
			cond_resched();
	}

	snowflake_wait_end(&waiter);
	return done ? done * ID_SIZE : failed(err);
}

static ssize_t snowflake_read(struct file *file, char __user *buf, size_t count,
			      loff_t *pos)
{
	struct destination to = { .user = (u64 __user *)buf };

	return read_ids(file->private_data, &to, count / ID_SIZE,
			file->f_flags & O_NONBLOCK);
}

static ssize_t snowflake_read_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	struct file *file = iocb->ki_filp;
	struct destination to = { .iter = iter };

	return read_ids(file->private_data, &to, iov_iter_count(iter) / ID_SIZE,
			(file->f_flags & O_NONBLOCK) ||
			(iocb->ki_flags & (IOCB_NOWAIT | IOCB_NOIO)));
}

static __poll_t snowflake_poll(struct file *file, poll_table *table)
{
	enum snowflake_verdict verdict;
	s64 until;

	snowflake_watch_poll(file, table);

	preempt_disable();
	verdict = snowflake_generator_probe(&snowflake_host.generator,
					    &snowflake_host.clock, &until);
	preempt_enable();

	switch (snowflake_wait_errno(verdict)) {
	case 0:
		snowflake_watch_until(S64_MAX);
		return EPOLLIN | EPOLLRDNORM;
	case -EAGAIN:
		snowflake_watch_until(until);
		return 0;
	default:
		snowflake_watch_until(S64_MAX);
		return EPOLLIN | EPOLLRDNORM | EPOLLERR;
	}
}

const struct file_operations snowflake_fops = {
	.owner = THIS_MODULE,
	.open = snowflake_open,
	.release = snowflake_release,
	.read = snowflake_read,
	.read_iter = snowflake_read_iter,
	.splice_read = SNOWFLAKE_SPLICE_READ,	/* see Kbuild */
	.poll = snowflake_poll,
	.llseek = noop_llseek,
};

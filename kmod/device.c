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
static u32 put_user_ids(u64 __user *start, u64 id, u32 count)
{
	u64 __user *end = start + count;
	u64 __user *to = start;

	if (!user_write_access_begin(start, count * ID_SIZE))
		return 0;
	for (; to < end; to++, id++)
		unsafe_put_user(id, to, fault);
fault:
	user_write_access_end();
	return to - start;
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

static __always_inline struct snowflake_run
take(struct snowflake_file *sf, u32 want, bool woken)
{
	struct snowflake_run run;

	preempt_disable();
	run = snowflake_generator_take(&snowflake_host.generator,
				       &snowflake_host.clock,
				       this_cpu_ptr(&snowflake_blocks),
				       &sf->order, want, woken);
	preempt_enable();
	return run;
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
static ssize_t read_ids(struct snowflake_file *sf, const struct destination *to,
			size_t want, bool nonblock)
{
	struct snowflake_waiter waiter = { .nonblock = nonblock };
	struct snowflake_run run;
	size_t done = 0;
	int err = 0;
	u32 put;

	if (!want)
		return -EINVAL;

	while (done < want) {
		run = take(sf, min_t(size_t, want - done, CHUNK_IDS),
			   waiter.counted);
		if (run.verdict != SNOWFLAKE_GIVEN) {
			err = snowflake_wait(&waiter, &run);
			if (err)
				break;
			continue;
		}
		snowflake_wait_end(&waiter);

		if (to->iter)
			put = put_iter_ids(to->iter, run.id, run.count);
		else
			put = put_user_ids(to->user + done, run.id, run.count);
		done += put;
		if (put < run.count) {
			err = -EFAULT;
			break;
		}

		if (done < want && signal_pending(current)) {
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
	size_t want = count / ID_SIZE;
	struct snowflake_run run;

	/* One id out of the block: nearly every read, so without detours. */
	if (want == 1) {
		run = take(file->private_data, 1, false);
		if (likely(run.verdict == SNOWFLAKE_GIVEN))
			return put_user(run.id, to.user) ? -EFAULT : ID_SIZE;
	}
	return read_ids(file->private_data, &to, want,
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
	struct snowflake_run run;

	snowflake_watch_poll(file, table);

	preempt_disable();
	run = snowflake_generator_probe(&snowflake_host.generator,
					&snowflake_host.clock);
	preempt_enable();

	switch (snowflake_wait_errno(run.verdict)) {
	case 0:
		snowflake_watch_until(S64_MAX);
		return EPOLLIN | EPOLLRDNORM;
	case -EAGAIN:
		snowflake_watch_until(run.until);
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

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
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/splice.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <asm/ioctls.h>

#include "config.h"
#include "host.h"
#include "wait.h"
#include "watch.h"

#define ID_SIZE sizeof(u64)

/* Signals are looked for, and others let run, after so many ids: 8 KiB. */
#define CHUNK_IDS 1024

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
	snowflake_order_init(&sf->order, READ_ONCE(snowflake_host.era));
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
take(struct snowflake_file *sf, const struct snowflake_request *request)
{
	struct snowflake_run run;

	rcu_read_lock_sched();
	run = snowflake_generator_take(snowflake_host_config(),
				       &snowflake_host.clock,
				       this_cpu_ptr(&snowflake_blocks),
				       &sf->order, request);
	rcu_read_unlock_sched();
	return run;
}

static struct snowflake_run probe(struct snowflake_file *sf, u64 *space)
{
	struct snowflake_run run;

	rcu_read_lock_sched();
	run = snowflake_generator_probe(snowflake_host_config(),
					&snowflake_host.clock, &sf->order,
					space);
	rcu_read_unlock_sched();
	return run;
}

/* Write a run, row by row; return how many of its ids got there. */
static u32 put_run(const struct destination *to, size_t at,
		   const struct snowflake_run *run,
		   const struct snowflake_rows *rows)
{
	u64 left = rows->left;
	u64 id = run->id;
	u32 done = 0;
	u32 n, put;

	while (done < run->count) {
		n = min_t(u64, run->count - done, left);
		if (to->iter)
			put = put_iter_ids(to->iter, id, n);
		else
			put = put_user_ids(to->user + at + done, id, n);
		done += put;
		if (put < n)
			break;
		id += n + rows->gap;
		left = rows->length;
	}
	return done;
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
	struct snowflake_rows rows = { 0 };
	struct snowflake_waiter waiter = {
		.order = &sf->order,
		.request.rows = &rows,
		.nonblock = nonblock,
	};
	struct snowflake_run run;
	size_t done = 0;
	int err = 0;
	u32 put;

	if (!want)
		return -EINVAL;

	while (done < want) {
		waiter.request.want = min_t(size_t, want - done, CHUNK_IDS);
		run = take(sf, &waiter.request);
		if (run.verdict != SNOWFLAKE_GIVEN) {
			err = snowflake_wait(&waiter, &run);
			if (err)
				break;
			continue;
		}
		snowflake_wait_end(&waiter);
		/* At once means: what this tick still has. */
		if (nonblock)
			waiter.request.ceiling = rows.ceiling;

		put = put_run(to, done, &run, &rows);
		done += put;
		if (put < run.count) {
			err = -EFAULT;
			break;
		}

		if (done < want && signal_pending(current)) {
			err = -ERESTARTSYS;
			break;
		}
		cond_resched();
	}

	snowflake_wait_end(&waiter);
	return done ? done * ID_SIZE : failed(err);
}

/* Apart from snowflake_read(), whose frame it would make dear. */
static noinline ssize_t read_user(struct file *file, char __user *buf,
				  size_t count)
{
	struct destination to = { .user = (u64 __user *)buf };

	return read_ids(file->private_data, &to, count / ID_SIZE,
			file->f_flags & O_NONBLOCK);
}

static ssize_t snowflake_read(struct file *file, char __user *buf, size_t count,
			      loff_t *pos)
{
	static const struct snowflake_request one = { .want = 1 };
	struct snowflake_run run;

	/* One id out of the block: nearly every read, so without detours. */
	if (count / ID_SIZE == 1) {
		run = take(file->private_data, &one);
		if (likely(run.verdict == SNOWFLAKE_GIVEN))
			return put_user(run.id, (u64 __user *)buf) ? -EFAULT :
								     ID_SIZE;
	}
	return read_user(file, buf, count);
}

static ssize_t snowflake_read_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	bool nowait = iocb->ki_flags & (IOCB_NOWAIT | IOCB_NOIO);
	struct file *file = iocb->ki_filp;
	struct destination to = { };
	ssize_t got;

	/* One buffer in user memory, as nearly always: no way through a batch. */
	if (iter_is_ubuf(iter))
		to.user = iter->ubuf + iter->iov_offset;
	else
		to.iter = iter;
	got = read_ids(file->private_data, &to, iov_iter_count(iter) / ID_SIZE,
		       nowait || (file->f_flags & O_NONBLOCK));
	if (to.user && got > 0)
		iov_iter_advance(iter, got);
	return got;
}

static __poll_t snowflake_poll(struct file *file, poll_table *table)
{
	struct snowflake_run run;
	u64 space;

	snowflake_watch_poll(file, table);
	run = probe(file->private_data, &space);

	switch (snowflake_wait_errno(run.verdict)) {
	case 0:
		snowflake_watch_until(S64_MAX);
		return EPOLLIN | EPOLLRDNORM;
	case -EAGAIN:
		snowflake_watch_until(run.until);
		return 0;
	default:
		snowflake_watch_until(run.until);
		return EPOLLIN | EPOLLRDNORM | EPOLLERR;
	}
}

/* Copy a structure of ours to a program that knows @size bytes of it. */
static int copy_out(void __user *to, size_t size, const void *from, size_t ours)
{
	size_t both = min(size, ours);

	if (copy_to_user(to, from, both) ||
	    clear_user(to + both, size - both))
		return -EFAULT;
	return 0;
}

static int snowflake_ioctl_info(struct snowflake_file *sf, void __user *to,
				size_t size)
{
	u64 shard = READ_ONCE(sf->order.shard);
	struct snowflake_info info = {
		.bound_to = shard == SNOWFLAKE_NO_SHARD ? -1 : (s64)shard,
	};

	if (!size)
		return -EINVAL;
	snowflake_config_info(&info);
	return copy_out(to, size, &info, sizeof(info));
}

/* Can a file be bound to @worker_id now? */
static int check_worker(u64 worker_id)
{
	const struct snowflake_config *config;
	int err = 0;

	rcu_read_lock_sched();
	config = snowflake_host_config();
	if (config->verdict != SNOWFLAKE_GIVEN)
		err = snowflake_wait_errno(config->verdict);
	else if (!config->bound || worker_id < config->worker_id ||
		 worker_id - config->worker_id >= config->worker_count)
		err = -EINVAL;
	rcu_read_unlock_sched();
	return err;
}

static int snowflake_ioctl_bind(struct snowflake_file *sf,
				const void __user *from, size_t size)
{
	struct snowflake_bind bind;
	int err;

	if (size < sizeof(bind))
		return -EINVAL;
	err = copy_struct_from_user(&bind, sizeof(bind), from, size);
	if (err == -E2BIG || (!err && bind.reserved))
		return -EINVAL;
	if (err)
		return err;

	/* While the gate is closed it cannot be said. */
	while ((err = check_worker(bind.worker_id)) == -EAGAIN) {
		err = snowflake_config_wait();
		if (err)
			return err;
	}
	if (err)
		return err;

	raw_spin_lock(&sf->order.lock);
	if (sf->order.shard != SNOWFLAKE_NO_SHARD)
		err = -EBUSY;
	else
		WRITE_ONCE(sf->order.shard, bind.worker_id);
	raw_spin_unlock(&sf->order.lock);
	return err;
}

static int snowflake_ioctl_available(struct snowflake_file *sf, int __user *to)
{
	u64 space;

	probe(sf, &space);
	return put_user((int)(min_t(u64, space, INT_MAX / ID_SIZE) * ID_SIZE),
			to);
}

static long snowflake_ioctl(struct file *file, unsigned int cmd,
			    unsigned long arg)
{
	struct snowflake_file *sf = file->private_data;
	void __user *user = (void __user *)arg;

	if (cmd == FIONREAD)
		return snowflake_ioctl_available(sf, user);

	/* The size is not compared: structures grow. */
	switch (cmd & ~IOCSIZE_MASK) {
	case SNOWFLAKE_IOC_INFO & ~IOCSIZE_MASK:
		return snowflake_ioctl_info(sf, user, _IOC_SIZE(cmd));
	case SNOWFLAKE_IOC_BIND & ~IOCSIZE_MASK:
		return snowflake_ioctl_bind(sf, user, _IOC_SIZE(cmd));
	default:
		return -ENOTTY;
	}
}

static vm_fault_t snowflake_fault(struct vm_fault *fault)
{
	if (fault->pgoff)
		return VM_FAULT_SIGBUS;
	fault->page = virt_to_page(snowflake_host.page);
	get_page(fault->page);
	return 0;
}

static const struct vm_operations_struct snowflake_vm_ops = {
	.fault = snowflake_fault,
};

static int snowflake_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	/* Not writable, now or by mprotect; a private copy hurts nobody. */
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	if ((vma->vm_flags & VM_MAYSHARE) && (vma->vm_flags & VM_MAYWRITE))
		return -EPERM;
	vma->vm_ops = &snowflake_vm_ops;
	return 0;
}

static void snowflake_fdinfo(struct seq_file *m, struct file *file)
{
	struct snowflake_file *sf = file->private_data;
	const struct snowflake_config *config;
	u64 lineage, shard, last = 0, id = 0;

	rcu_read_lock_sched();
	config = snowflake_host_config();
	/* Pairs with snowflake_order_adopt(): the number is of this one or 0. */
	lineage = smp_load_acquire(&sf->order.lineage);
	/* Numbers of another lineage can no longer be read. */
	if (config->verdict == SNOWFLAKE_GIVEN && lineage == config->lineage)
		last = atomic64_read_acquire(&sf->order.last);
	/* After the number: bound files have one only once they are bound. */
	shard = READ_ONCE(sf->order.shard);
	if (last)
		id = snowflake_id(config, shard, last);
	rcu_read_unlock_sched();

	if (shard == SNOWFLAKE_NO_SHARD)
		seq_puts(m, "snowflake-worker:\tnone\n");
	else
		seq_printf(m, "snowflake-worker:\t%llu\n", shard);
	if (id)
		seq_printf(m, "snowflake-last-id:\t%llu\n", id);
	else
		seq_puts(m, "snowflake-last-id:\tnone\n");
}

const struct file_operations snowflake_fops = {
	.owner = THIS_MODULE,
	.open = snowflake_open,
	.release = snowflake_release,
	.read = snowflake_read,
	.read_iter = snowflake_read_iter,
	.splice_read = SNOWFLAKE_SPLICE_READ,	/* see Kbuild */
	.poll = snowflake_poll,
	.unlocked_ioctl = snowflake_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = snowflake_mmap,
	.show_fdinfo = snowflake_fdinfo,
};

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The first process of a guest: prepares it, loads the module, runs one command
 * and powers off.
 *
 * What "run" wants is found in files in RUN, which are gone when the command
 * starts. The command's output and our own lines share the second serial port.
 * Only our lines begin with the token, which the command does not know, so it
 * cannot pretend to have succeeded:
 *
 *	TOKEN start		the kernel has booted
 *	TOKEN error TEXT	the guest cannot be prepared or the module not loaded
 *	TOKEN exit STATUS	of the command, as a shell gives it
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define RUN	"/.run/"
#define MODULE	"/lib/snowflake.ko"
#define PORT	"/dev/ttyS1"
#define TEST	"/test"

/* The files of the host, what is changed in them, and both in one. */
#define HOST	"/.host"
#define LAYERS	"/.layers"
#define ROOT	LAYERS "/root"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *type;
	const char *where;
	const char *options;
	bool needed;
} mounts[] = {
	{ "devtmpfs",	"/dev",			NULL,		true },
	{ "proc",	"/proc",		NULL,		true },
	{ "sysfs",	"/sys",			NULL,		true },
	{ "tmpfs",	"/tmp",			"mode=1777",	true },
	{ "tmpfs",	"/run",			"mode=0755",	true },
	{ "devpts",	"/dev/pts",		NULL,		false },
	{ "tmpfs",	"/dev/shm",		"mode=1777",	false },
	{ "debugfs",	"/sys/kernel/debug",	NULL,		false },
	{ "tracefs",	"/sys/kernel/tracing",	NULL,		false },
};

/* What the guest keeps of its own on the files of the host. */
static const char * const kept[] = {
	"/dev", "/proc", "/sys", "/run", TEST,
};

static char *token;
static int port = -1;
static bool on_host_root;

static void report(const char *format, ...)
{
	char line[512];
	va_list ap;
	int n, len;

	n = snprintf(line, sizeof(line), "%s ", token ? token : "?");
	va_start(ap, format);
	n += vsnprintf(line + n, sizeof(line) - n, format, ap);
	va_end(ap);

	len = n < (int)sizeof(line) - 1 ? n : (int)sizeof(line) - 2;
	line[len++] = '\n';
	/* Nobody is left to tell when this fails: "run" misses our word. */
	if (write(port < 0 ? STDERR_FILENO : port, line, len) != len)
		return;
}

static void power_off(void)
{
	/* What is still in the port's buffer would be lost. */
	if (port >= 0)
		tcdrain(port);
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void die(const char *what)
{
	report("error %s: %s", what, strerror(errno));
	power_off();
}

/* Returns a file's content and removes the file, or NULL if there is none. */
static char *take(const char *path)
{
	struct stat st;
	char *text;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st))
		die(path);
	text = malloc(st.st_size + 1);
	if (!text)
		die(path);
	n = read(fd, text, st.st_size);
	if (n < 0)
		die(path);
	text[n] = '\0';
	close(fd);
	unlink(path);
	return text;
}

static void mount_all(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mounts); i++) {
		mkdir(mounts[i].where, 0755);
		if (mount(mounts[i].type, mounts[i].where, mounts[i].type, 0,
			  mounts[i].options) && mounts[i].needed)
			die(mounts[i].where);
	}
	if (symlink("/proc/self/fd", "/dev/fd"))
		die("/dev/fd");
}

static void open_port(void)
{
	struct termios t;

	port = open(PORT, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (port < 0)
		die(PORT);
	if (tcgetattr(port, &t))
		die(PORT);
	cfmakeraw(&t);
	cfsetspeed(&t, B115200);
	t.c_cflag |= CLOCAL;
	if (tcsetattr(port, TCSANOW, &t))
		die(PORT);
}

static void load_module(void)
{
	char *parameters = take(RUN "load");
	int fd;

	if (!parameters)
		return;
	fd = open(MODULE, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(MODULE);
	if (syscall(SYS_finit_module, fd, parameters, 0))
		die("the module does not load");
	close(fd);
	free(parameters);
}

static void modprobe(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execl("/bin/busybox", "modprobe", "-a", "virtio_pci",
		      "9pnet_virtio", "9p", "overlay", NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		die("modprobe");
	/* What the kernel has built in is not there to load. */
}

/* Lays the files of the host beneath an empty file system, in ROOT. */
static void mount_host_root(void)
{
	unsigned int i;
	char path[64];

	if (access(RUN "host-root", F_OK))
		return;
	unlink(RUN "host-root");
	modprobe();
	mkdir(HOST, 0755);
	mkdir(LAYERS, 0755);
	if (mount("host", HOST, "9p", MS_RDONLY,
		  "trans=virtio,version=9p2000.L,msize=262144,cache=loose") ||
	    mount("tmpfs", LAYERS, "tmpfs", 0, "mode=0755") ||
	    mkdir(LAYERS "/upper", 0755) || mkdir(LAYERS "/work", 0755) ||
	    mkdir(ROOT, 0755) ||
	    mount("overlay", ROOT, "overlay", 0, "lowerdir=" HOST
		  ",upperdir=" LAYERS "/upper,workdir=" LAYERS "/work"))
		die("the files of the host");
	for (i = 0; i < ARRAY_SIZE(kept); i++) {
		snprintf(path, sizeof(path), ROOT "%s", kept[i]);
		mkdir(path, 0755);
		if (mount(kept[i], path, NULL, MS_BIND | MS_REC, NULL))
			die(path);
	}
	on_host_root = true;
}

static void run_command(const char *command)
{
	static const char * const environment[] = {
		"HOME=/tmp",
		"PATH=/test:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"TERM=dumb",
		"TMPDIR=/tmp",
		NULL,
	};
	int null = open("/dev/null", O_RDONLY);

	setsid();
	if (null < 0 || (on_host_root && chroot(ROOT)) || chdir(TEST) ||
	    dup2(null, STDIN_FILENO) < 0 || dup2(port, STDOUT_FILENO) < 0 ||
	    dup2(port, STDERR_FILENO) < 0)
		_exit(127);
	close(null);
	execle("/bin/sh", "sh", "-c", command, NULL, environment);
	_exit(127);
}

int main(void)
{
	int status = 0;
	char *command;
	pid_t child, pid;

	if (getpid() != 1) {
		fprintf(stderr, "init: not the first process\n");
		return 1;
	}

	token = take(RUN "token");
	mount_all();
	open_port();
	report("start");

	command = take(RUN "command");
	if (!token || !command)
		die(RUN);
	load_module();
	mount_host_root();
	rmdir(RUN);

	child = fork();
	if (child < 0)
		die("fork");
	if (!child)
		run_command(command);
	do {
		pid = wait(&status);
		if (pid < 0 && errno != EINTR)
			die("wait");
	} while (pid != child);

	/* Whoever is left shall not write into our last line. */
	kill(-1, SIGKILL);
	report("exit %d", WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
						WEXITSTATUS(status));
	power_off();
}

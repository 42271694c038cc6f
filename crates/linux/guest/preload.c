/* Loaded into the kernel's process on the host, before the kernel's own code. It stays on the core that it is given, and
 * so do its children.
 *
 * By it the guest asks the engine, too. Its agent makes a symbolic link in the run's folder that is called "question" and says
 * what is asked, and reads the one that is called "answer"; the kernel hands both calls to the host by these two functions.
 * The standard input is a socket to the engine. While it is read, the kernel stands still and with it the guest's clock.
 *
 * Three things that a kernel run as an experiment must not do: outlive the program that started it, draw
 * randomness from the host, and touch files of the host that are not its own. The first is the parent-death signal; for
 * the second, getrandom() is answered from the run's seed (SplitMix64, Steele, Lea, Flood 2014), so that the same seed
 * gives the same run.
 *
 * The third is Landlock (landlock(7)): whatever runs in the guest, and be it the guest's root, the host's kernel lets this
 * process and its children write in the run's folder alone, and read what programs and libraries lie in, besides the
 * kernel itself and the agent. Where the host's kernel has no Landlock, the guest's mounts alone say so (agent.c).
 *
 * Besides, it lets older kernels (6.1, 5.10) run where the processor's registers take more room than they know (ptrace() below).
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static uint64_t state;

#define READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* Version 1 of Landlock's rights, which every kernel that has Landlock has: all that read, write, make and remove. */
#define EVERY ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define OF_FILES (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE)

static int allow(int rules, const char *path, uint64_t rights) {
	struct stat what;
	int fd = open(path, O_PATH | O_CLOEXEC), done = 0;
	if (fd < 0) return 0;
	if (!fstat(fd, &what)) {
		struct landlock_path_beneath_attr rule = {
			.allowed_access = S_ISDIR(what.st_mode) ? rights : rights & OF_FILES, .parent_fd = fd};
		done = !syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	}
	close(fd);
	return done;
}

/* A list of paths with colons between them. It is left as it is: the kernel starts itself anew with this environment. */
static void allow_all(int rules, const char *list, uint64_t rights) {
	char *paths = list ? strdup(list) : 0;
	for (char *path = paths ? strtok(paths, ":") : 0; path; path = strtok(0, ":")) allow(rules, path, rights);
	free(paths);
}

/* The rest of the host does not exist for this process and its children. */
static void confine(void) {
	struct landlock_ruleset_attr attr = {.handled_access_fs = EVERY};
	/* Once is for good, also for what it starts. */
	if (getenv("SOJOURN_CONFINED")) return;
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	setenv("SOJOURN_CONFINED", rules < 0 ? "no" : "yes", 1);
	if (rules < 0) return;
	allow_all(rules, getenv("SOJOURN_READS"), READ);
	allow_all(rules, getenv("SOJOURN_WRITES"), EVERY);
	/* What the kernel's process asks of its own host: its maps, the null device. */
	allow(rules, "/proc", READ);
	allow(rules, "/dev/null", READ | LANDLOCK_ACCESS_FS_WRITE_FILE);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, rules, 0)) _exit(1);
	close(rules);
}

/* On one core; where the host does not allow it, the guest is slower and nothing else. */
static void stay(void) {
	const char *core = getenv("SOJOURN_CORE");
	cpu_set_t one;
	if (!core) return;
	CPU_ZERO(&one);
	CPU_SET(strtoul(core, 0, 10), &one);
	sched_setaffinity(0, sizeof one, &one);
}

__attribute__((constructor)) static void begin(void) {
	const char *seed = getenv("SOJOURN_SEED"), *parent = getenv("SOJOURN_PARENT");
	state = seed ? strtoull(seed, 0, 10) : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have died before it was watched. */
	if (parent && getppid() != (pid_t)strtol(parent, 0, 10)) _exit(1);
	stay();
	confine();
}

ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
	unsigned char *to = buffer;
	(void)flags;
	for (size_t i = 0; i < size; i++) {
		uint64_t z = state += 0x9e3779b97f4a7c15u;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		to[i] = (unsigned char)((z ^ (z >> 31)) >> 24);
	}
	return (ssize_t)size;
}

/* The run's folder is mounted by this name (agent.c); kernels put one slash in front of it, or two. */
static int is_called(const char *path, const char *name) {
	static const char folder[] = "/proc/self/cwd/";
	while (path[0] == '/' && path[1] == '/') path++;
	return !strncmp(path, folder, sizeof folder - 1) && !strcmp(path + sizeof folder - 1, name);
}

/* The engine's answer to the last question, a line. */
static char answer[4096];
static size_t answer_size;

int symlink(const char *target, const char *path) {
	if (!is_called(path, "question")) return (int)syscall(SYS_symlinkat, target, AT_FDCWD, path);
	size_t size = strlen(target), done = 0;
	char question[4096];
	answer_size = 0;
	if (size < sizeof question) {
		memcpy(question, target, size);
		question[size++] = '\n';
		while (done < size) {
			ssize_t n = send(0, question + done, size - done, MSG_NOSIGNAL);
			if (n < 0 && errno == EINTR) continue;
			if (n <= 0) break;
			done += (size_t)n;
		}
		while (done == size && answer_size < sizeof answer) {
			ssize_t n = recv(0, answer + answer_size, sizeof answer - answer_size, 0);
			if (n < 0 && errno == EINTR) continue;
			if (n <= 0) {
				answer_size = 0;
				break;
			}
			answer_size += (size_t)n;
			if (answer[answer_size - 1] == '\n') {
				answer_size--;
				break;
			}
		}
	}
	/* There is no such file, and none is made. */
	errno = EEXIST;
	return -1;
}

ssize_t readlink(const char *path, char *buffer, size_t size) {
	if (!is_called(path, "answer")) return syscall(SYS_readlinkat, AT_FDCWD, path, buffer, size);
	if (size > answer_size) size = answer_size;
	memcpy(buffer, answer, size);
	return (ssize_t)size;
}

/* Older kernels (6.1, 5.10) keep 2696 bytes of a process's extended registers (HOST_FP_SIZE), and the host takes a whole set alone:
 * with AMX that has some 11 kB, and PTRACE_SETREGSET fails with EFAULT at the guest's first program. So the rest is
 * filled with zeros; the set's own header says that nothing is in it. */
static char extended[1 << 16] __attribute__((aligned(64)));
static size_t extended_size;

static long trace(int request, pid_t pid, void *where, void *data) {
	return syscall(SYS_ptrace, (long)request, (long)pid, where, data);
}

static long set_extended(pid_t pid, void *where, struct iovec *own) {
	struct iovec whole = {.iov_base = extended, .iov_len = sizeof extended};
	if (!extended_size) {
		if (trace(PTRACE_GETREGSET, pid, where, &whole)) return -1;
		extended_size = whole.iov_len;
		memset(extended, 0, sizeof extended);
	}
	if (own->iov_len >= extended_size) return trace(PTRACE_SETREGSET, pid, where, own);
	memcpy(extended, own->iov_base, own->iov_len);
	memset(extended + own->iov_len, 0, extended_size - own->iov_len);
	whole.iov_len = extended_size;
	return trace(PTRACE_SETREGSET, pid, where, &whole);
}

long ptrace(enum __ptrace_request request, ...) {
	va_list rest;
	va_start(rest, request);
	pid_t pid = va_arg(rest, pid_t);
	void *where = va_arg(rest, void *), *data = va_arg(rest, void *);
	va_end(rest);
	if (request == PTRACE_SETREGSET && (long)where == NT_X86_XSTATE) return set_extended(pid, where, data);
	/* What is asked for by a peek comes as the result, as the C library has it. */
	if (request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER) {
		long word = 0, failed = trace(request, pid, where, &word);
		if (!failed) errno = 0;
		return failed ? failed : word;
	}
	return trace(request, pid, where, data);
}

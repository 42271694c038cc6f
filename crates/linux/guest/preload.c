/* Loaded into the kernel's process on the host, before the kernel's own code.
 *
 * Two things that a kernel run as an experiment must not do: outlive the program that started it, and draw
 * randomness from the host. The first is the parent-death signal; for the second, getrandom() is answered from
 * the run's seed (SplitMix64, Steele, Lea, Flood 2014), so that the same seed gives the same run.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

static uint64_t state;

__attribute__((constructor)) static void begin(void) {
	const char *seed = getenv("SOJOURN_SEED"), *parent = getenv("SOJOURN_PARENT");
	state = seed ? strtoull(seed, 0, 10) : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have died before it was watched. */
	if (parent && getppid() != (pid_t)strtol(parent, 0, 10)) _exit(1);
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

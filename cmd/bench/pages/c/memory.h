// What pages.c and faults.c share: memory of a kind, as package page maps it,
// and the clock.
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static void die(const char *what) {
	perror(what);
	exit(1);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

// settle keeps the process on the last processor that it may use.
static void settle(void) {
	cpu_set_t set, one;
	if (sched_getaffinity(0, sizeof set, &set))
		return;
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (CPU_ISSET(cpu, &set)) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof one, &one);
			return;
		}
}

// Memory of a kind: base, thp or hugetlb, in pages of a size.
struct memory {
	char *start, *reserved;
	size_t len, reserved_len;
};

static struct memory map(const char *kind, size_t page, size_t bytes) {
	struct memory m;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, log = 0;
	m.len = (bytes + page - 1) / page * page;
	if (!strcmp(kind, "hugetlb")) {
		while ((size_t)1 << log < page)
			log++;
		m.reserved_len = m.len;
		m.start = m.reserved = mmap(0, m.len, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB | log << MAP_HUGE_SHIFT, -1, 0);
		if (m.start == MAP_FAILED)
			die("mmap");
		return m;
	}
	m.reserved_len = m.len + page;
	m.reserved = mmap(0, m.reserved_len, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (m.reserved == MAP_FAILED)
		die("mmap");
	m.start = (char *)(((uintptr_t)m.reserved + page - 1) / page * page);
	if (madvise(m.start, m.len, strcmp(kind, "thp") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE) && !strcmp(kind, "thp"))
		die("madvise");
	return m;
}

static void unmap(struct memory m) { munmap(m.reserved, m.reserved_len); }

// First writes to memory with pages of a kind: what cmd/internal/lab's experiment
// faults does, in C, to compare with.
//
//	faults KIND PAGE_BYTES HOW SIZE REPEATS
#include "memory.h"
#include <pthread.h>
#include <stdatomic.h>

#define PIECE (2 << 20)

static size_t step;

static __attribute__((noinline)) void touch(char *base, size_t n, size_t step) {
	for (size_t at = 0; at < n; at += step)
		*(volatile char *)(base + at) = 42;
}

struct ahead {
	struct memory m;
	atomic_int *gun;
};

static void *run_ahead(void *arg) {
	struct ahead *a = arg;
	atomic_store(a->gun, 1);
	while (atomic_load(a->gun) != 2)
		;
	for (size_t at = PIECE; at < a->m.len; at += PIECE)
		if (madvise(a->m.start + at, a->m.len - at < PIECE ? a->m.len - at : PIECE, MADV_POPULATE_WRITE))
			die("madvise");
	return 0;
}

static int by_value(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	if (argc != 6) {
		fprintf(stderr, "usage: faults KIND PAGE_BYTES HOW SIZE REPEATS\n");
		return 2;
	}
	const char *how = argv[3];
	size_t page = strtoull(argv[2], 0, 10), most = strtoull(argv[4], 0, 10), repeats = strtoull(argv[5], 0, 10);
	double *took = malloc(repeats * sizeof *took);
	step = sysconf(_SC_PAGESIZE);
	if (strcmp(how, "ahead"))
		settle();
	size_t size = most < 1 << 20 ? most : 1 << 20;
	for (;; size *= 2) {
		size_t n = most / size < repeats ? most / size : repeats;
		for (size_t i = 0; i < n; i++) {
			struct memory m = map(argv[1], page, size);
			pthread_t thread;
			atomic_int gun = 0;
			struct ahead a = {m, &gun};
			if (!strcmp(how, "reuse"))
				touch(m.start, size, step);
			if (!strcmp(how, "ahead")) {
				pthread_create(&thread, 0, run_ahead, &a);
				while (atomic_load(&gun) != 1)
					;
			}
			atomic_store(&gun, 2);
			double begin = now();
			if (!strcmp(how, "populate") && madvise(m.start, m.len, MADV_POPULATE_WRITE))
				die("madvise");
			touch(m.start, size, step);
			took[i] = now() - begin;
			if (!strcmp(how, "ahead"))
				pthread_join(thread, 0);
			unmap(m);
		}
		qsort(took, n, sizeof *took, by_value);
		printf("BenchmarkFaults/size=%zu 1 %g c_page_seconds\n", size, took[n / 2] / (size / step));
		if (size >= most)
			break;
	}
	return 0;
}

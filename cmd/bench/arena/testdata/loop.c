// What cmd/bench/arena -scaling holds the scaling of arenas against: threads that each hand out
// objects of 16 bytes from a block of their own by a bump pointer, fill them in, and clear
// the block when it is full. They share nothing.
//
//   loop THREADS BYTES
//
// It prints how many objects there were in all, and how many nanoseconds that took, once all had
// their memory.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENOUGH = 600 * 1000 * 1000, BATCH = 1 << 18, MAX_THREADS = 1024 };

typedef struct node {
	struct node *left, *right;
} node;

static size_t bytes;
static int64_t start;
static atomic_llong total;
static pthread_barrier_t ready, begin;

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *work(void *unused)
{
	node *block = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	if (block == NULL) {
		perror("aligned_alloc");
		exit(1);
	}
	size_t n = bytes / sizeof(node), rounds = 1 + BATCH / n;
	memset(block, 0, bytes);
	long long mine = 0;
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&begin);
	while (now() - start < ENOUGH) {
		for (size_t r = 0; r < rounds; r++) {
			node *next = block, *end = block + n;
			while (next < end) {
				node *p = next++;
				p->left = p->right = p;
				__asm__ volatile("" ::"r"(p) : "memory"); // one object at a time
			}
			memset(block, 0, bytes);
			__asm__ volatile("" ::"r"(block) : "memory");
		}
		mine += (long long)(rounds * n);
	}
	atomic_fetch_add(&total, mine);
	free(block);
	return unused;
}

int main(int argc, char **argv)
{
	int threads = argc == 3 ? atoi(argv[1]) : 0;
	bytes = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	if (threads < 1 || threads > MAX_THREADS || bytes < sizeof(node)) {
		fputs("usage: loop THREADS BYTES\n", stderr);
		return 2;
	}
	pthread_t id[MAX_THREADS];
	pthread_barrier_init(&ready, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&id[i], NULL, work, NULL) != 0) {
			perror("pthread_create");
			return 1;
		}
	pthread_barrier_wait(&ready); // all have touched their blocks
	start = now();
	pthread_barrier_wait(&begin);
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	printf("%lld %lld\n", (long long)total, (long long)(now() - start));
	return 0;
}

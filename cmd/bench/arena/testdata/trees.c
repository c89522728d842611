// Binary trees with one of several allocators, chosen when this is compiled:
//
//   -DUSE_MALLOC  malloc and free, one call each a node
//   -DUSE_APR     a pool of the Apache Portable Runtime per thread, cleared after every tree
//   -DUSE_BUMP    a bump pointer in one mapping per thread, set back after every tree
//
//   trees DEPTH THREADS [huge|base] [zero]
//   trees which
//
// huge and base say which pages the bump allocator asks for. zero makes it clear
// what a tree used, so that every node is handed out zeroed, as in Go. "which"
// prints the library that malloc comes from.
//
// The work is split as in the Go and the Rust program: see ../trees/main.go.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // dladdr; apr's flags may have it
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MIN_DEPTH = 4, MAX_DEPTH = 40, CHUNKS = 16, MAX_THREADS = 1024 };

typedef struct node {
	struct node *left, *right;
} node;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

// Every allocator has the same five functions. An arena serves one thread.

#if defined(USE_MALLOC)

typedef struct {
	char unused;
} arena;

static void allocator_init(void) {}
static void arena_open(arena *a, int depth) { (void)a, (void)depth; }

static inline node *node_new(arena *a)
{
	(void)a;
	node *n = malloc(sizeof *n);
	if (n == NULL)
		fail("malloc");
	return n;
}

static void node_free(node *n)
{
	if (n->left != NULL) {
		node_free(n->left);
		node_free(n->right);
	}
	free(n);
}

static void tree_done(arena *a, node *n)
{
	(void)a;
	node_free(n);
}

static void arena_close(arena *a) { (void)a; }

#elif defined(USE_APR)

#include <apr_general.h>
#include <apr_pools.h>

typedef struct {
	apr_pool_t *pool;
} arena;

static void allocator_init(void)
{
	if (apr_initialize() != APR_SUCCESS)
		fail("apr_initialize");
}

// An unmanaged pool has an allocator of its own, without a lock.
static void arena_open(arena *a, int depth)
{
	(void)depth;
	if (apr_pool_create_unmanaged_ex(&a->pool, NULL, NULL) != APR_SUCCESS)
		fail("apr_pool_create_unmanaged");
}

static inline node *node_new(arena *a) { return apr_palloc(a->pool, sizeof(node)); }

static void tree_done(arena *a, node *n)
{
	(void)n;
	apr_pool_clear(a->pool);
}

static void arena_close(arena *a) { apr_pool_destroy(a->pool); }

#elif defined(USE_BUMP)

static int advice = MADV_HUGEPAGE;
static int zero;
static size_t align = (size_t)2 << 20; // of a huge page, from sysfs

static size_t nodes_of(int depth) { return ((size_t)2 << depth) - 1; }

typedef struct {
	char *next, *end, *base;
	void *mapping;
	size_t size;
} arena;

static void allocator_init(void)
{
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "r");
	if (f == NULL)
		return;
	size_t n;
	if (fscanf(f, "%zu", &n) == 1 && n > 0)
		align = n;
	fclose(f);
}

// Address space for the largest tree is taken at once; memory comes as it is touched.
static void arena_open(arena *a, int depth)
{
	size_t need = (nodes_of(depth) * sizeof(node) + align - 1) / align * align;
	a->size = need + align;
	a->mapping = mmap(NULL, a->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (a->mapping == MAP_FAILED)
		fail("mmap");
	a->base = a->next = (char *)(((uintptr_t)a->mapping + align - 1) / align * align);
	a->end = a->base + need;
	madvise(a->base, need, advice); // a kernel without huge pages refuses: base pages then
}

static inline node *node_new(arena *a)
{
	if ((size_t)(a->end - a->next) < sizeof(node)) {
		fputs("the tree is larger than its arena\n", stderr);
		exit(1);
	}
	node *n = (node *)a->next;
	a->next += sizeof(node);
	return n;
}

static void tree_done(arena *a, node *n)
{
	(void)n;
	if (zero)
		memset(a->base, 0, (size_t)(a->next - a->base));
	a->next = a->base;
}

static void arena_close(arena *a) { munmap(a->mapping, a->size); }

#else
#error "define USE_MALLOC, USE_APR or USE_BUMP"
#endif

static node *build(arena *a, int depth)
{
	node *left = NULL, *right = NULL;
	if (depth > 0) {
		left = build(a, depth - 1);
		right = build(a, depth - 1);
	}
	node *n = node_new(a);
	n->left = left;
	n->right = right;
	return n;
}

static long count(const node *n)
{
	if (n->left == NULL)
		return 1;
	return 1 + count(n->left) + count(n->right);
}

static int max_depth;
static atomic_int next_task;
static atomic_long total[MAX_DEPTH + 1];

static void *work(void *unused)
{
	arena a;
	arena_open(&a, max_depth);
	int tasks = ((max_depth - MIN_DEPTH) / 2 + 1) * CHUNKS;
	for (int t; (t = atomic_fetch_add(&next_task, 1)) < tasks;) {
		int depth = MIN_DEPTH + t / CHUNKS * 2;
		long nodes = 0, trees = (1L << (max_depth - depth + MIN_DEPTH)) / CHUNKS;
		for (long i = 0; i < trees; i++) {
			node *n = build(&a, depth);
			nodes += count(n);
			tree_done(&a, n);
		}
		atomic_fetch_add(&total[depth], nodes);
	}
	arena_close(&a);
	return unused;
}

static int number(const char *s, int least, int most)
{
	char *end;
	long n = strtol(s, &end, 10);
	if (*end != 0 || n < least || n > most) {
		fprintf(stderr, "trees: %s: give a number from %d to %d\n", s, least, most);
		exit(2);
	}
	return (int)n;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "which") == 0) {
		Dl_info info;
		puts(dladdr((void *)malloc, &info) != 0 ? info.dli_fname : "unknown");
		return 0;
	}
	if (argc < 3) {
		fputs("usage: trees DEPTH THREADS [huge|base] [zero]\n", stderr);
		return 2;
	}
	max_depth = number(argv[1], MIN_DEPTH + 2, MAX_DEPTH);
	int threads = number(argv[2], 1, MAX_THREADS);
	for (int i = 3; i < argc; i++) {
#if defined(USE_BUMP)
		if (strcmp(argv[i], "huge") == 0) {
			advice = MADV_HUGEPAGE;
			continue;
		}
		if (strcmp(argv[i], "base") == 0) {
			advice = MADV_NOHUGEPAGE;
			continue;
		}
		if (strcmp(argv[i], "zero") == 0) {
			zero = 1;
			continue;
		}
#endif
		fprintf(stderr, "trees: %s: not known to this allocator\n", argv[i]);
		return 2;
	}
	allocator_init();

	arena a;
	arena_open(&a, max_depth + 1);
	node *stretch = build(&a, max_depth + 1);
	printf("stretch tree of depth %d\t check: %ld\n", max_depth + 1, count(stretch));
	tree_done(&a, stretch);
	arena_close(&a);

	arena_open(&a, max_depth);
	node *long_lived = build(&a, max_depth);

	pthread_t id[MAX_THREADS];
	for (int i = 0; i < threads; i++)
		if (pthread_create(&id[i], NULL, work, NULL) != 0)
			fail("pthread_create");
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);

	for (int d = MIN_DEPTH; d <= max_depth; d += 2)
		printf("%ld\t trees of depth %d\t check: %ld\n", 1L << (max_depth - d + MIN_DEPTH), d, atomic_load(&total[d]));
	printf("long lived tree of depth %d\t check: %ld\n", max_depth, count(long_lived));
	return 0;
}

// Random reads of memory with pages of a kind: what cmd/internal/lab's experiment
// pages does, in C, to compare with. Same generator, same order of accesses.
//
//	pages KIND PAGE_BYTES SIZE COUNT
#include "memory.h"

#define MUL 6364136223846793005ull
#define INC 1442695040888963407ull
#define LINE 64

static __attribute__((noinline)) void link_chain(char *base, unsigned bits) {
	uint64_t mask = (1ull << bits) - 1;
	unsigned half = (bits + 1) / 2;
	for (uint64_t slot = 0; slot <= mask; slot++) {
		uint64_t state = slot ^ slot >> half;
		uint64_t next = (state * MUL + INC) & mask;
		next ^= next >> half;
		*(uint64_t *)(base + slot * LINE) = next * LINE;
	}
}

static __attribute__((noinline)) uint64_t chase(const char *base, uint64_t at, long n) {
	for (; n > 0; n--)
		at = *(const uint64_t *)(base + at);
	return at;
}

static __attribute__((noinline)) uint64_t read_random(const char *base, unsigned bits, uint64_t state, long n) {
	uint64_t sum = 0;
	uint64_t mask = (1ull << bits) - 1;
	for (; n > 0; n -= 4) {
		state = state * MUL + INC;
		sum += *(const uint64_t *)(base + (state >> 24 & mask) * 8);
		state = state * MUL + INC;
		sum += *(const uint64_t *)(base + (state >> 24 & mask) * 8);
		state = state * MUL + INC;
		sum += *(const uint64_t *)(base + (state >> 24 & mask) * 8);
		state = state * MUL + INC;
		sum += *(const uint64_t *)(base + (state >> 24 & mask) * 8);
	}
	return sum;
}

int main(int argc, char **argv) {
	if (argc != 5) {
		fprintf(stderr, "usage: pages KIND PAGE_BYTES SIZE COUNT\n");
		return 2;
	}
	uint64_t most = strtoull(argv[3], 0, 10), sum = 0;
	long count = atol(argv[4]);
	settle();
	struct memory m = map(argv[1], strtoull(argv[2], 0, 10), most);
	if (madvise(m.start, m.len, MADV_POPULATE_WRITE))
		die("madvise");
	uint64_t size = most < 1 << 20 ? most : 1 << 20;
	for (;; size *= 2) {
		unsigned bits = 63 - __builtin_clzll(size);
		long warm = count < (long)(size / LINE) ? count : (long)(size / LINE);
		link_chain(m.start, bits - 6);
		uint64_t at = chase(m.start, 0, warm);
		double begin = now();
		at = chase(m.start, at, count);
		double latency = now() - begin;
		sum += at + read_random(m.start, bits - 3, 0x9e3779b97f4a7c15ull, warm);
		begin = now();
		sum += read_random(m.start, bits - 3, 0x9e3779b97f4a7c15ull, count);
		double throughput = now() - begin;
		printf("BenchmarkPages/size=%llu 1 %g c_latency_seconds %g c_throughput_seconds\n", (unsigned long long)size, latency / count, throughput / count);
		if (size >= most)
			break;
	}
	unmap(m);
	return sum == 42; // the loops may not be left out
}

// witness FILE command [args]: runs a command and writes what wait4 says of it to FILE:
// wall, user and system time in seconds, peak RSS in KiB, minor and major page faults,
// and the same, less wall and RSS, of this process itself.
//
// It is small, so that it adds nothing that counts: what folio run says is of both.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
	if (argc < 3)
		return 2;
	double start = now();
	pid_t pid = vfork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	int status = 0;
	struct rusage of, own;
	if (pid < 0 || wait4(pid, &status, 0, &of) != pid)
		return 1;
	double wall = now() - start;
	FILE *f = fopen(argv[1], "w");
	if (f == NULL)
		return 1;
	getrusage(RUSAGE_SELF, &own);
	fprintf(f, "%.6f %.6f %.6f %ld %ld %ld %.6f %.6f %ld %ld\n", wall, seconds(of.ru_utime), seconds(of.ru_stime), of.ru_maxrss,
		of.ru_minflt, of.ru_majflt, seconds(own.ru_utime), seconds(own.ru_stime), own.ru_minflt, own.ru_majflt);
	if (fclose(f) != 0)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

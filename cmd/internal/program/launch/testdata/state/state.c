// Writes what the process was started with to the file that STATE names, before
// the Go runtime changes any of it.

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void file(FILE *out, const char *title, const char *path, const char *const *only) {
	char line[65536];
	FILE *in = fopen(path, "re");
	if (!in)
		return;
	while (fgets(line, sizeof line, in)) {
		int take = !only;
		for (int i = 0; only && only[i]; i++)
			take |= !strncmp(line, only[i], strlen(only[i])) && line[strlen(only[i])] == ':';
		if (take)
			fprintf(out, "%s %s", title, line);
	}
	fclose(in);
}

static void bytes(FILE *out, const char *title, const char *path) {
	int c;
	FILE *in = fopen(path, "re");
	if (!in)
		return;
	fprintf(out, "%s ", title);
	while ((c = fgetc(in)) != EOF)
		fputc(c ? c : '|', out);
	fputc('\n', out);
	fclose(in);
}

static void link_(FILE *out, const char *title, const char *path) {
	char to[4096];
	ssize_t n = readlink(path, to, sizeof to - 1);
	if (n < 0)
		return;
	to[n] = 0;
	fprintf(out, "%s %s\n", title, to);
}

static void descriptors(FILE *out, int own) {
	for (int fd = 0; fd < 1024; fd++) {
		char path[64], title[64];
		int flags = fcntl(fd, F_GETFD);
		if (flags < 0 || fd == own)
			continue;
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		snprintf(title, sizeof title, "fd %d flags %d status %#x", fd, flags, fcntl(fd, F_GETFL));
		link_(out, title, path);
	}
}

__attribute__((constructor)) static void state(void) {
	static const char *const fields[] = {"Name", "Umask", "TracerPid", "Uid", "Gid", "Groups", "Threads", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt",
		"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Cpus_allowed", "THP_enabled", "NSpid", NULL};
	const char *path = getenv("STATE");
	if (!path)
		return;
	// High, so that it is not where a descriptor that was closed would be.
	int low = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int fd = fcntl(low, F_DUPFD_CLOEXEC, 900);
	close(low);
	FILE *out = fdopen(fd, "we");
	if (!out)
		abort();
	int status = 0;
	file(out, "status", "/proc/self/status", fields);
	file(out, "limits", "/proc/self/limits", NULL);
	file(out, "oom", "/proc/self/oom_score_adj", NULL);
	file(out, "coredump", "/proc/self/coredump_filter", NULL);
	file(out, "comm", "/proc/self/comm", NULL);
	bytes(out, "cmdline", "/proc/self/cmdline");
	bytes(out, "environ", "/proc/self/environ");
	link_(out, "exe", "/proc/self/exe");
	link_(out, "cwd", "/proc/self/cwd");
	link_(out, "root", "/proc/self/root");
	descriptors(out, fd);
	int pdeath = 0, subreaper = 0;
	prctl(PR_GET_PDEATHSIG, &pdeath);
	prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
	fprintf(out, "prctl pdeathsig %d subreaper %d dumpable %d keepcaps %d securebits %#x timerslack %d thp_disable %d\n", pdeath, subreaper, prctl(PR_GET_DUMPABLE),
		prctl(PR_GET_KEEPCAPS), prctl(PR_GET_SECUREBITS), prctl(PR_GET_TIMERSLACK), prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
	fprintf(out, "personality %#x nice %d policy %d secure %lu\n", personality(0xffffffff), getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), getauxval(AT_SECURE));
	fprintf(out, "execfn %s\n", (const char *)getauxval(AT_EXECFN));
	struct itimerval timer;
	getitimer(ITIMER_REAL, &timer);
	fprintf(out, "alarm %d\n", timer.it_value.tv_sec > 0);
	fprintf(out, "group %d session %d parent %d\n", getpgrp() == getpid(), getsid(0) == getpid(), getppid() == 1);
	// All children, those without a signal too: how many have ended, whether
	// some run.
	int n = 0, r;
	while ((r = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		n++;
	fprintf(out, "children ended %d, then %s\n", n, r == 0 ? "some run" : strerror(errno));
	fclose(out);
}

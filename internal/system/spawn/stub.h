// What the stub's two versions have in common.

#define SIG_SETMASK 2
#define SIGKILL 9
#define F_DUPFD_CLOEXEC 1030
#define MSG_CMSG_CLOEXEC 0x40000000
#define CLONE_PARENT_SIGCHLD 0x8011
#define PR_SET_PDEATHSIG 1
#define PR_SET_THP_DISABLE 41

// The frame: below the stack that the kernel made.
#define FRAME 320
#define IOV_BASE 0
#define IOV_LEN 8
#define MSG_NAME 16
#define MSG_NAMELEN 24
#define MSG_IOV 32
#define MSG_IOVLEN 40
#define MSG_CONTROL 48
#define MSG_CONTROLLEN 56
#define MSG_FLAGS 64
#define ORDER 72 // see stub_linux.go
#define ORDER_PARENT 72
#define ORDER_THP 76
#define CONTROL 80
#define CONTROL_FDS 96
#define OLDMASK 112
#define MASK 120
#define REPORT 128 // its number of bytes is REPORT_BYTES: see stub_linux.go
#define REPORT_PID 128
#define REPORT_ERRNO 132
#define REPORT_RUSAGE 136
#define REPORT_BYTES 152

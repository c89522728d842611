// What the stub's two versions have in common.

#define SIG_SETMASK 2
#define SIGKILL 9
#define F_DUPFD_CLOEXEC 1030
#define MSG_CMSG_CLOEXEC 0x40000000
#define CLONE_PARENT_SIGCHLD 0x8011
#define PR_SET_PDEATHSIG 1
#define PR_SET_THP_DISABLE 41
#define PR_SET_NO_NEW_PRIVS 38
#define SECCOMP_SET_MODE_FILTER 1
#define SOL_SOCKET_SCM_RIGHTS 0x100000001
#define MSG_NOSIGNAL 0x4000

// The frame: below the stack that the kernel made.
#define FRAME 448
#define IOV_BASE 0
#define IOV_LEN 8
#define MSG_NAME 16
#define MSG_NAMELEN 24
#define MSG_IOV 32
#define MSG_IOVLEN 40
#define MSG_CONTROL 48
#define MSG_CONTROLLEN 56
#define MSG_FLAGS 64
#define OLDMASK 72
#define MASK 80
#define CONTROL 88
#define CONTROL_KIND 96
#define CONTROL_FDS 104
#define ORDER 120 // its number of bytes is ORDER_BYTES: see stub_linux.go
#define ORDER_PARENT 120
#define ORDER_THP 124
#define ORDER_NO_NEW_PRIVS 128
#define ORDER_FLAGS 132
#define ORDER_LEN 136 // with ORDER_CODE the struct sock_fprog
#define ORDER_CODE 144
#define ORDER_FILTER 152
#define ORDER_BYTES 160
#define REPORT 280 // its number of bytes is REPORT_BYTES: see stub_linux.go
#define REPORT_PID 280
#define REPORT_ERRNO 284
#define REPORT_FILTER 288
#define REPORT_RUSAGE 296
#define REPORT_BYTES 160

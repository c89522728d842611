#include "textflag.h"
#include "stub.h"

#define rt_sigprocmask 14
#define fcntl 72
#define close 3
#define sendmsg 46
#define recvmsg 47
#define dup3 292
#define clone 56
#define prctl 157
#define getppid 110
#define getpid 39
#define getrusage 98
#define read 0
#define write 1
#define execve 59
#define exit_group 231
#define seccomp 317

// stub is the whole program of the process between folio and the program: see
// stub_linux.go. It is copied out of this binary, so it refers to nothing but
// its stack, and its end is found by the mark behind it.
//
// R12 is the stack as the kernel made it (argc, argv, envp), R13 the frame, BX
// the socket. System calls keep them all, and R14 and R15.
TEXT ·stub(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SP, R12
	LEAQ -FRAME(SP), R13

	// A signal that is sent to all of the process group, such as ctrl-C, waits
	// until the program could have had it.
	MOVQ $-1, AX
	MOVQ AX, MASK(R13)
	MOVL $rt_sigprocmask, AX
	MOVL $SIG_SETMASK, DI
	LEAQ MASK(R13), SI
	LEAQ OLDMASK(R13), DX
	MOVL $8, R10
	SYSCALL

	// Standard input is the socket, and so are the other two.
	MOVL $fcntl, AX
	XORL DI, DI
	MOVL $F_DUPFD_CLOEXEC, SI
	MOVL $3, DX
	SYSCALL
	TESTQ AX, AX
	JLT fail
	MOVQ AX, BX

	// The order, with the program's three streams.
	XORL CX, CX
	LEAQ ORDER(R13), AX
	MOVQ AX, IOV_BASE(R13)
	MOVQ $ORDER_BYTES, IOV_LEN(R13)
	MOVQ CX, MSG_NAME(R13)
	MOVQ CX, MSG_NAMELEN(R13)
	LEAQ IOV_BASE(R13), AX
	MOVQ AX, MSG_IOV(R13)
	MOVQ $1, MSG_IOVLEN(R13)
	LEAQ CONTROL(R13), AX
	MOVQ AX, MSG_CONTROL(R13)
	MOVQ $32, MSG_CONTROLLEN(R13)
	MOVQ CX, MSG_FLAGS(R13)
	MOVQ CX, CONTROL(R13)
	MOVL $recvmsg, AX
	MOVQ BX, DI
	LEAQ MSG_NAME(R13), SI
	MOVL $MSG_CMSG_CLOEXEC, DX
	SYSCALL
	CMPQ AX, $ORDER_BYTES
	JNE fail
	CMPQ CONTROL(R13), $28 // a header of 16 and three numbers of 4
	JNE fail

	XORL R14, R14
streams:
	MOVL CONTROL_FDS(R13)(R14*4), DI
	MOVL R14, SI
	XORL DX, DX
	MOVL $dup3, AX
	SYSCALL
	TESTQ AX, AX
	JLT fail
	INCQ R14
	CMPQ R14, $3
	JLT streams

	// A brother, whose parent is folio too.
	MOVL $clone, AX
	MOVL $CLONE_PARENT_SIGCHLD, DI
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	SYSCALL
	TESTQ AX, AX
	JEQ child
	JLT fail
	XORL AX, AX
fail:
	NEGQ AX
	MOVQ AX, DI
	MOVL $exit_group, AX
	SYSCALL

child:
	// If folio dies, so does the program, unless it is to stay. Now, too: folio may be
	// dead already.
	MOVL ORDER_PARENT(R13), CX
	TESTL CX, CX
	JEQ stays
	MOVL $prctl, AX
	MOVL $PR_SET_PDEATHSIG, DI
	MOVL $SIGKILL, SI
	SYSCALL
	MOVL $getppid, AX
	SYSCALL
	CMPL AX, ORDER_PARENT(R13)
	JNE gone

stays:
	MOVL $getpid, AX
	SYSCALL
	MOVL AX, REPORT_PID(R13)

	XORL AX, AX
	MOVL AX, REPORT_FILTER(R13)
	MOVQ AX, MSG_CONTROLLEN(R13)
	MOVQ $-1, R14 // the listener
	MOVL ORDER_THP(R13), SI
	TESTL SI, SI
	JEQ restrict
	MOVL $prctl, AX
	MOVL $PR_SET_THP_DISABLE, DI
	MOVL $1, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	SYSCALL
	TESTQ AX, AX
	JNE ready
restrict:
	MOVL $1, CX
	MOVL CX, REPORT_FILTER(R13)
	MOVL ORDER_NO_NEW_PRIVS(R13), SI
	TESTL SI, SI
	JEQ filter
	MOVL $prctl, AX
	MOVL $PR_SET_NO_NEW_PRIVS, DI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	SYSCALL
	TESTQ AX, AX
	JNE ready
filter:
	XORL AX, AX
	MOVL ORDER_LEN(R13), CX
	TESTL CX, CX
	JEQ ready
	LEAQ ORDER_FILTER(R13), CX
	MOVQ CX, ORDER_CODE(R13)
	MOVL $seccomp, AX
	MOVL $SECCOMP_SET_MODE_FILTER, DI
	MOVL ORDER_FLAGS(R13), SI
	LEAQ ORDER_LEN(R13), DX
	SYSCALL
	TESTQ AX, AX
	JLT ready
	// The listener goes with the report. Folio has the only one: this process would
	// wait for itself.
	MOVQ AX, R14
	MOVL AX, CONTROL_FDS(R13)
	MOVQ $20, CONTROL(R13)
	MOVQ $SOL_SOCKET_SCM_RIGHTS, CX
	MOVQ CX, CONTROL_KIND(R13)
	MOVQ $24, MSG_CONTROLLEN(R13)
	XORL AX, AX
ready:
	NEGL AX
	MOVL AX, REPORT_ERRNO(R13)
	MOVL $getrusage, AX
	XORL DI, DI // RUSAGE_SELF
	LEAQ REPORT_RUSAGE(R13), SI
	SYSCALL
	LEAQ REPORT(R13), AX
	MOVQ AX, IOV_BASE(R13)
	MOVQ $REPORT_BYTES, IOV_LEN(R13)
	MOVL $sendmsg, AX
	MOVQ BX, DI
	LEAQ MSG_NAME(R13), SI
	MOVL $MSG_NOSIGNAL, DX
	SYSCALL
	MOVQ AX, R15
	MOVL $close, AX
	MOVQ R14, DI
	SYSCALL
	CMPQ R15, $REPORT_BYTES
	JNE gone

	MOVL $read, AX
	MOVQ BX, DI
	LEAQ MASK(R13), SI
	MOVL $1, DX
	SYSCALL
	CMPQ AX, $1
	JNE gone

	MOVL $rt_sigprocmask, AX
	MOVL $SIG_SETMASK, DI
	LEAQ OLDMASK(R13), SI
	XORL DX, DX
	MOVL $8, R10
	SYSCALL

	// argv[0] is the path, the program's own argv follows.
	MOVQ 0(R12), CX
	MOVQ 8(R12), DI
	LEAQ 16(R12), SI
	LEAQ 16(R12)(CX*8), DX
	MOVL $execve, AX
	SYSCALL

	NEGL AX
	MOVL AX, REPORT_ERRNO(R13)
	MOVL $write, AX
	MOVQ BX, DI
	LEAQ REPORT(R13), SI
	MOVL $REPORT_BYTES, DX
	SYSCALL
gone:
	MOVL $127, DI
	MOVL $exit_group, AX
	SYSCALL
	BYTE $0x0f; BYTE $0x0b // not reached
	// The mark: stubEnd in stub_linux.go.
	LONG $0x20646e65; LONG $0x7420666f; LONG $0x73206568; LONG $0x2e627574

// func stubStart() unsafe.Pointer
TEXT ·stubStart(SB), NOSPLIT, $0-8
	LEAQ ·stub(SB), AX
	MOVQ AX, ret+0(FP)
	RET

#include "textflag.h"
#include "stub.h"

#define rt_sigprocmask 135
#define fcntl 25
#define recvmsg 212
#define dup3 24
#define clone 220
#define prctl 167
#define getppid 173
#define getpid 172
#define getrusage 165
#define read 63
#define write 64
#define execve 221
#define exit_group 94

// stub: see stub_linux_amd64.s, which this follows line by line. R19 is the stack as
// the kernel made it, R20 the frame, R21 the socket.
TEXT ·stub(SB), NOSPLIT|NOFRAME, $0-0
	MOVD RSP, R19
	SUB $FRAME, R19, R20

	MOVD $-1, R9
	MOVD R9, MASK(R20)
	MOVD $rt_sigprocmask, R8
	MOVD $SIG_SETMASK, R0
	ADD $MASK, R20, R1
	ADD $OLDMASK, R20, R2
	MOVD $8, R3
	SVC

	MOVD $fcntl, R8
	MOVD $0, R0
	MOVD $F_DUPFD_CLOEXEC, R1
	MOVD $3, R2
	SVC
	CMP $0, R0
	BLT fail
	MOVD R0, R21

	ADD $ORDER, R20, R9
	MOVD R9, IOV_BASE(R20)
	MOVD $8, R9
	MOVD R9, IOV_LEN(R20)
	MOVD ZR, MSG_NAME(R20)
	MOVD ZR, MSG_NAMELEN(R20)
	ADD $IOV_BASE, R20, R9
	MOVD R9, MSG_IOV(R20)
	MOVD $1, R9
	MOVD R9, MSG_IOVLEN(R20)
	ADD $CONTROL, R20, R9
	MOVD R9, MSG_CONTROL(R20)
	MOVD $32, R9
	MOVD R9, MSG_CONTROLLEN(R20)
	MOVD ZR, MSG_FLAGS(R20)
	MOVD ZR, CONTROL(R20)
	MOVD $recvmsg, R8
	MOVD R21, R0
	ADD $MSG_NAME, R20, R1
	MOVD $MSG_CMSG_CLOEXEC, R2
	SVC
	CMP $8, R0
	BNE fail
	MOVD CONTROL(R20), R9
	CMP $28, R9
	BNE fail

	MOVD $0, R22
	ADD $CONTROL_FDS, R20, R23
streams:
	MOVWU.P 4(R23), R0
	MOVD R22, R1
	MOVD $0, R2
	MOVD $dup3, R8
	SVC
	CMP $0, R0
	BLT fail
	ADD $1, R22
	CMP $3, R22
	BLT streams

	MOVD $clone, R8
	MOVD $CLONE_PARENT_SIGCHLD, R0
	MOVD $0, R1
	MOVD $0, R2
	MOVD $0, R3
	MOVD $0, R4
	SVC
	CMP $0, R0
	BEQ child
	BLT fail
	MOVD $0, R0
fail:
	NEG R0, R0
	MOVD $exit_group, R8
	SVC

child:
	MOVD $prctl, R8
	MOVD $PR_SET_PDEATHSIG, R0
	MOVD $SIGKILL, R1
	SVC
	MOVD $getppid, R8
	SVC
	MOVWU ORDER_PARENT(R20), R9
	CMPW R9, R0
	BNE gone

	MOVD $getpid, R8
	SVC
	MOVW R0, REPORT_PID(R20)

	MOVD $0, R0
	MOVWU ORDER_THP(R20), R9
	CBZ R9, ready
	MOVD $prctl, R8
	MOVD $PR_SET_THP_DISABLE, R0
	MOVD $1, R1
	MOVD $0, R2
	MOVD $0, R3
	MOVD $0, R4
	SVC
	NEG R0, R0
ready:
	MOVW R0, REPORT_ERRNO(R20)
	MOVD $getrusage, R8
	MOVD $0, R0 // RUSAGE_SELF
	ADD $REPORT_RUSAGE, R20, R1
	SVC
	MOVD $write, R8
	MOVD R21, R0
	ADD $REPORT, R20, R1
	MOVD $REPORT_BYTES, R2
	SVC
	CMP $REPORT_BYTES, R0
	BNE gone

	MOVD $read, R8
	MOVD R21, R0
	ADD $MASK, R20, R1
	MOVD $1, R2
	SVC
	CMP $1, R0
	BNE gone

	MOVD $rt_sigprocmask, R8
	MOVD $SIG_SETMASK, R0
	ADD $OLDMASK, R20, R1
	MOVD $0, R2
	MOVD $8, R3
	SVC

	MOVD 0(R19), R9
	MOVD 8(R19), R0
	ADD $16, R19, R1
	ADD R9<<3, R1, R2
	MOVD $execve, R8
	SVC

	NEG R0, R0
	MOVW R0, REPORT_ERRNO(R20)
	MOVD $write, R8
	MOVD R21, R0
	ADD $REPORT, R20, R1
	MOVD $REPORT_BYTES, R2
	SVC
gone:
	MOVD $127, R0
	MOVD $exit_group, R8
	SVC
	WORD $0 // not reached
	WORD $0x20646e65; WORD $0x7420666f; WORD $0x73206568; WORD $0x2e627574

// func stubStart() unsafe.Pointer
TEXT ·stubStart(SB), NOSPLIT, $0-8
	MOVD $·stub(SB), R0
	MOVD R0, ret+0(FP)
	RET

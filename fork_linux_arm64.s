//go:build !android

#include "textflag.h"

// func forkSteps(clone *cloneArgs, size uintptr, steps *forkStep) (pid int)
//
// The child has the stack of the thread that forks it, which goes on with that, and never touches it. In a forkStep, of 72 bytes,
// the number is at 0, the arguments from 8 on, what it is to return at 56, and what it has returned goes to 64.
TEXT ·forkSteps(SB), NOSPLIT, $0-32
	MOVD clone+0(FP), R0
	MOVD size+8(FP), R1
	MOVD steps+16(FP), R20
	MOVD $435, R8 // clone3
	SVC
	CBZ  R0, step
	MOVD R0, pid+24(FP)
	RET

step:
	MOVD 0(R20), R8
	MOVD 8(R20), R0
	MOVD 16(R20), R1
	MOVD 24(R20), R2
	MOVD 32(R20), R3
	MOVD 40(R20), R4
	MOVD 48(R20), R5
	SVC
	CMN  $4095, R0 // from -4095 on, unsigned, they are errors
	BCS  failed
	MOVD 56(R20), R5
	CBZ  R5, next
	CMP  R5, R0
	BNE  otherwise

next:
	ADD  $72, R20
	B    step

otherwise:
	MOVD $-3, R0 // ESRCH

failed:
	MOVD R0, 64(R20)

exit:
	MOVD $253, R0
	MOVD $93, R8 // exit
	SVC
	B    exit

//go:build !android

#include "textflag.h"

// func forkSteps(clone *cloneArgs, size uintptr, steps *forkStep) (pid int)
//
// The child has the stack of the thread that forks it, which goes on with that, and never touches it. In a forkStep, of 72 bytes,
// the number is at 0, the arguments from 8 on, what it is to return at 56, and what it has returned goes to 64.
TEXT ·forkSteps(SB), NOSPLIT, $0-32
	MOVQ clone+0(FP), DI
	MOVQ size+8(FP), SI
	MOVQ steps+16(FP), R12
	MOVQ $435, AX // clone3
	SYSCALL
	TESTQ AX, AX
	JZ   step
	MOVQ AX, pid+24(FP)
	RET

step:
	MOVQ 0(R12), AX
	MOVQ 8(R12), DI
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	MOVQ 32(R12), R10
	MOVQ 40(R12), R8
	MOVQ 48(R12), R9
	SYSCALL
	CMPQ AX, $-4095 // from there on, unsigned, they are errors
	JCC  failed
	MOVQ 56(R12), R9
	TESTQ R9, R9
	JZ   next
	CMPQ AX, R9
	JNE  otherwise

next:
	ADDQ $72, R12
	JMP  step

otherwise:
	MOVQ $-3, AX // ESRCH

failed:
	MOVQ AX, 64(R12)

exit:
	MOVQ $253, DI
	MOVQ $60, AX // exit
	SYSCALL
	JMP  exit

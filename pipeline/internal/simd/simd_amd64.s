#include "textflag.h"

DATA bit1<>+0(SB)/1, $0x02
GLOBL bit1<>(SB), RODATA|NOPTR, $1
DATA space<>+0(SB)/1, $0x20
GLOBL space<>(SB), RODATA|NOPTR, $1
DATA backslash<>+0(SB)/1, $0x5c
GLOBL backslash<>(SB), RODATA|NOPTR, $1

// func plainAVX2(b *byte, n int) int
// A byte stops the run where (byte ^ 2) <= 0x20 (quotes and control characters), where it
// is a backslash, or where its highest bit is set.
TEXT ·plainAVX2(SB), NOSPLIT, $0-24
	MOVQ b+0(FP), SI
	MOVQ n+8(FP), CX
	XORQ AX, AX
	VPBROADCASTB bit1<>(SB), Y1
	VPBROADCASTB space<>(SB), Y2
	VPBROADCASTB backslash<>(SB), Y3

plain:
	VMOVDQU   (SI)(AX*1), Y0
	VPXOR     Y0, Y1, Y4
	VPMINUB   Y4, Y2, Y5
	VPCMPEQB  Y4, Y5, Y5
	VPCMPEQB  Y0, Y3, Y6
	VPOR      Y5, Y6, Y5
	VPOR      Y0, Y5, Y5
	VPMOVMSKB Y5, DX
	TESTL     DX, DX
	JNZ       stop
	ADDQ      $32, AX
	CMPQ      AX, CX
	JLT       plain
	VZEROUPPER
	MOVQ      AX, ret+16(FP)
	RET

stop:
	BSFL DX, DX
	ADDQ DX, AX
	VZEROUPPER
	MOVQ AX, ret+16(FP)
	RET

// func sameAVX2(a, b *byte, n int) int
TEXT ·sameAVX2(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ n+16(FP), CX
	XORQ AX, AX

same:
	VMOVDQU   (SI)(AX*1), Y0
	VPCMPEQB  (DI)(AX*1), Y0, Y0
	VPMOVMSKB Y0, DX
	XORL      $0xffffffff, DX
	JNZ       differ
	ADDQ      $32, AX
	CMPQ      AX, CX
	JLT       same
	VZEROUPPER
	MOVQ      AX, ret+24(FP)
	RET

differ:
	BSFL DX, DX
	ADDQ DX, AX
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET

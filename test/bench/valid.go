package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/bytedance/sonic"
	"github.com/klauspost/cpuid/v2"
	"github.com/tidwall/gjson"
	"golang.org/x/sys/cpu"

	"github.com/tablewake/tablewake/pipeline/record"
)

// validRows compare the decoder with programs that only check whether bytes are JSON. That is the practical limit.
func validRows() []row {
	r := row{
		id:   "valid",
		work: "decode Lambda events of 100 records, with all checks",
		peer: "sonic.Valid over the same bytes",
		note: "sonic.Valid checks no UTF-8, names, types or ranges of numbers, and finds nothing again; without vector instructions of ours (GODEBUG=cpu.avx2=off) the budget is 0.85",
		of:   rate, least: validBudget(), allocs: new(1.0), input: true,
		missed: "its budget is met on the machine of the committed results by a few percent: sonic keeps nothing of what it reads, ours makes changes of it, whose memory, 600 bytes a record, has to be cleared and collected; with GOGC=400 ours is a fifth ahead",
	}
	out := shaped(r, func(ctx context.Context, b *bench, s *shape) (*contest, error) {
		c, err := openValid(sonic.Valid)(ctx, b, s)
		if err == nil {
			c.note = sonicCode()
		}
		return c, err
	})
	beside := r
	beside.variant, beside.least, beside.allocs, beside.input, beside.peer = "gjson", 0, nil, false, "gjson.ValidBytes over the same bytes"
	beside.open = func(ctx context.Context, b *bench) (*contest, error) {
		return openValid(gjson.ValidBytes)(ctx, b, b.usual())
	}
	return append(out, beside)
}

// validBudget returns the budget of the decoder with or without its vector instructions. GODEBUG=cpu.avx2=off measures
// the decoder without them on a processor that has them.
func validBudget() float64 {
	if cpu.X86.HasAVX2 {
		return 1
	}
	return 0.85
}

// sonicCode says which code sonic runs. If sonic has no machine code for a version of Go or for a processor, it runs
// encoding/json.
func sonicCode() string {
	switch {
	case sonic.APIKind != sonic.UseSonicJSON:
		return "sonic falls back to encoding/json here"
	case cpuid.CPU.Has(cpuid.AVX2):
		return "sonic runs its AVX2 code"
	case cpuid.CPU.Has(cpuid.SSE4):
		return "sonic runs its SSE code"
	}
	return "sonic runs its NEON code"
}

func openValid(valid func([]byte) bool) func(context.Context, *bench, *shape) (*contest, error) {
	return func(ctx context.Context, b *bench, s *shape) (*contest, error) {
		payloads, records := s.events(10)
		decoder := record.NewDecoder(record.DecoderOptions{})
		if valid(payloads[0][:len(payloads[0])-1]) {
			return nil, errors.New("the peer takes broken JSON for valid")
		}
		ours := func(context.Context) (n int, err error) {
			for _, payload := range payloads {
				page, err := decoder.Decode(payload)
				if err != nil {
					return n, err
				}
				if len(page.Errors) > 0 {
					return n, page.Errors[0]
				}
				n += len(payload)
			}
			return n, nil
		}
		theirs := func(context.Context) (n int, err error) {
			for i, payload := range payloads {
				if !valid(payload) {
					return n, fmt.Errorf("event %d is not JSON", i)
				}
				n += len(payload)
			}
			return n, nil
		}
		return agree(ctx, b, records, ours, theirs)
	}
}

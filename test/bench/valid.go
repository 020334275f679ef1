package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/bytedance/sonic"
	"github.com/klauspost/cpuid/v2"
	"github.com/tidwall/gjson"

	"github.com/tablewake/tablewake/pipeline"
)

// validRows hold the decoder against those that only say whether bytes are JSON: the practical limit.
func validRows() []row {
	r := row{
		id:   "valid",
		work: "decode Lambda events of 100 records with every check, against telling whether their bytes are JSON",
		peer: "sonic.Valid (bytedance/sonic), which checks neither UTF-8, names, types nor numbers' range",
		of:   rate, least: 0.85, allocs: new(1.0), input: true,
	}
	out := shaped(r, openValid(sonicValid))
	beside := r
	beside.variant, beside.least, beside.allocs, beside.peer = "gjson", 0, nil, "gjson.ValidBytes (tidwall/gjson), portable"
	beside.open = func(ctx context.Context, b *bench) (*contest, error) {
		return openValid(func(b []byte) bool { return gjson.ValidBytes(b) })(ctx, b, b.usual())
	}
	return append(out, beside)
}

// sonicValid is sonic.Valid. Its fall-back where it has no machine code for a Go
// version or processor is encoding/json.
func sonicValid(b []byte) bool { return sonic.Valid(b) }

// sonicCode says what sonic runs.
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
		decoder := pipeline.NewDecoder(pipeline.DecoderOptions{})
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
		c, err := agree(ctx, b, records, ours, theirs)
		if err == nil {
			c.note = sonicCode()
		}
		return c, err
	}
}

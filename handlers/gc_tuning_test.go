package handlers

import (
	"runtime/debug"
	"testing"
)

// environment is one of these pairs.
func environment(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := pairs[name]
		return v, ok
	}
}

func TestTheHeapHasThreeQuartersOfTheMemory(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want int64
		ok   bool
	}{
		{map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512"}, 384 << 20, true},
		{map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "10240"}, 7680 << 20, true},
		{map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "GOGC": "100"}, 0, false},
		{map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "GOMEMLIMIT": "300MiB"}, 0, false},
		{map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "much"}, 0, false},
		{nil, 0, false},
	} {
		if got, ok := heapLimit(environment(tt.env)); got != tt.want || ok != tt.ok {
			t.Errorf("%v: %d, %t, want %d, %t", tt.env, got, ok, tt.want, tt.ok)
		}
	}
}

func TestTuneGC(t *testing.T) {
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	percent := func() int {
		is := debug.SetGCPercent(100)
		debug.SetGCPercent(is)
		return is
	}
	wasPercent, wasLimit := percent(), limit()
	undo := TuneGC(environment(map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "4096"}))
	if percent() != 400 || limit() != 3072<<20 {
		t.Errorf("garbage of %d %% and a heap of %d bytes are let stand", percent(), limit())
	}
	undo()
	if percent() != wasPercent || limit() != wasLimit {
		t.Errorf("what was before is not brought back: %d %%, %d bytes", percent(), limit())
	}
	TuneGC(environment(nil))()
	if percent() != wasPercent || limit() != wasLimit {
		t.Errorf("outside of Lambda it sets %d %%, %d bytes", percent(), limit())
	}
}

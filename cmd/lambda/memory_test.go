package main

import "testing"

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
		if got, ok := heapLimit(env(tt.env)); got != tt.want || ok != tt.ok {
			t.Errorf("%v: %d, %t, want %d, %t", tt.env, got, ok, tt.want, tt.ok)
		}
	}
}

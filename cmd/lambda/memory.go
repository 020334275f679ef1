package main

import (
	"runtime/debug"
	"strconv"
)

// collectLess lets up to four times as much garbage stand beside what is alive, as long as
// three quarters of the function's memory suffice: a small heap would be collected for every
// event, on a part of one core. GOGC and GOMEMLIMIT override it.
func collectLess(env environment) {
	if limit, ok := heapLimit(env); ok {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(limit)
	}
}

// heapLimit is how many bytes the heap may have; false where it is not for this program to say.
func heapLimit(env environment) (int64, bool) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if v, _ := env(name); v != "" {
			return 0, false
		}
	}
	size, _ := env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE") // in MB of 2^20 bytes
	mb, err := strconv.ParseInt(size, 10, 32)
	if err != nil || mb <= 0 {
		return 0, false
	}
	return mb << 20 / 4 * 3, true
}

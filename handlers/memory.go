package handlers

import (
	"runtime/debug"
	"strconv"
)

// CollectLess lets up to four times as much garbage stand beside what is alive, as long as
// three quarters of the function's memory suffice: else Go collects a function's small heap for
// every few events, on a part of one core, and that is a quarter of a handler's time. It is for
// the start of main, with [os.LookupEnv]. GOGC and GOMEMLIMIT override it, and outside of Lambda
// it does nothing.
//
// undo brings Go's own settings back.
func CollectLess(env func(name string) (value string, set bool)) (undo func()) {
	limit, ok := heapLimit(env)
	if !ok {
		return func() {}
	}
	percent, before := debug.SetGCPercent(400), debug.SetMemoryLimit(limit)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(before)
	}
}

// heapLimit is how many bytes the heap may have; false where it is not for this program to say.
func heapLimit(env func(string) (string, bool)) (int64, bool) {
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

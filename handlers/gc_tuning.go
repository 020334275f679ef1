package handlers

import (
	"runtime/debug"
	"strconv"
)

// TuneGC makes Go collect garbage less often. Go then collects only when the garbage is four times the live memory, or
// when the heap reaches three quarters of the function's memory. With Go's defaults, Go collects the small heap of a
// function every few events. On a part of one core, this costs a quarter of the handler's time.
//
// Call TuneGC at the start of main with [os.LookupEnv]. It does nothing if GOGC or GOMEMLIMIT is set, or outside of
// Lambda.
//
// undo restores Go's settings.
func TuneGC(env func(name string) (value string, set bool)) (undo func()) {
	limit, ok := heapLimit(env)
	if !ok {
		return func() {}
	}
	oldPercent, oldLimit := debug.SetGCPercent(400), debug.SetMemoryLimit(limit)
	return func() {
		debug.SetGCPercent(oldPercent)
		debug.SetMemoryLimit(oldLimit)
	}
}

// heapLimit returns the limit of the heap in bytes. It returns false if TuneGC must do nothing.
func heapLimit(env func(string) (string, bool)) (int64, bool) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if v, _ := env(name); v != "" {
			return 0, false
		}
	}
	size, _ := env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE") // in units of 2^20 bytes
	mb, err := strconv.ParseInt(size, 10, 32)
	if err != nil || mb <= 0 {
		return 0, false
	}
	return mb << 20 / 4 * 3, true
}

package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine is what the figures were measured on.
func machine() string {
	return fmt.Sprintf("%s, %d cores (GOMAXPROCS %d), %s/%s, %s", processor(), runtime.NumCPU(), runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// Command memory runs a million records, the shop fixture multiplied by key, through
// the pipeline in a process of its own and compares the most memory that was ever
// resident with its budget: with stores that only count, and with the embedded ones.
//
//	go run ./test/memory [-n 1000000] [-only counting|embedded]
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// budgets are in bytes of resident memory.
var budgets = []struct {
	stores string
	bytes  int64
}{
	{"counting", 200e6},
	{"embedded", 600e6},
}

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 1_000_000, "records")
	only := flag.String("only", "", "measure these stores alone: counting or embedded")
	fixture := flag.String("fixture", "test/fixtures/shop", "folder of stream.jsonl and tablewake.yaml")
	child := flag.String("child", "", "run with these stores, and measure nothing")
	flag.Parse()
	if *child != "" {
		debug.SetGCPercent(400) // as the commands run
		debug.SetMemoryLimit(128 << 20)
		if err := runChild(*child, *fixture, *n); err != nil {
			log.Fatal(err)
		}
		return
	}
	fmt.Printf("%d records on %s/%s, %d cores, %s\n", *n, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	over := false
	for _, b := range budgets {
		if *only != "" && *only != b.stores {
			continue
		}
		resident, took, err := measure(b.stores, *fixture, *n)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s stores: %d MB resident at most (budget %d MB), %.0f records/s\n",
			b.stores, resident/1e6, b.bytes/1e6, float64(*n)/took.Seconds())
		over = over || resident > b.bytes
	}
	if over {
		log.Fatal("over budget")
	}
}

// measure runs this program again as the child and asks the kernel what it used.
func measure(stores, fixture string, n int) (resident int64, took time.Duration, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(self, "-child", stores, "-fixture", fixture, "-n", fmt.Sprint(n))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%s stores: %w", stores, err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, fmt.Errorf("this system does not tell a child's memory")
	}
	unit := int64(1024) // Linux counts kilobytes
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return usage.Maxrss * unit, time.Since(start), nil
}

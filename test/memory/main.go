// Command memory runs a million records, the shop fixture multiplied by key, through the pipeline in a process of its
// own. It compares the peak of the process's resident memory with a budget, for stores that only count and for embedded
// stores. It does the same for an audit of as many items, for an audit of rows in embedded stores, for a backfill of an
// export of many items, for a backfill of an export of the largest items, and for a consumer that follows 10,000 idle
// shards. It also checks the number of this consumer's calls.
//
//	go run ./test/memory [-n 1000000] [-only counting|embedded|audit|backfill|idle]
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// budgets are the most bytes of resident memory.
var budgets = []struct {
	stores string
	bytes  int64
}{
	{"counting", 150e6},
	{"embedded", 600e6},
}

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 1_000_000, "records, or items of the audit")
	only := flag.String("only", "", "measure this alone: counting, embedded, audit, backfill or idle")
	fixture := flag.String("fixture", "test/fixtures/shop", "folder of stream.jsonl and tablewake.yaml")
	child := flag.String("child", "", "run with these stores, or audit, embed, export, backfill or idle, and measure nothing")
	endpoint := flag.String("endpoint", "", "of the child's stream")
	folder := flag.String("folder", "", "of the child's export, or of the embedded stores that it writes or audits")
	items := flag.Int("items", 0, "what the export has that the child writes")
	flag.Parse()
	if *child != "" {
		room := make([]byte, 8<<20) // memory for garbage, as the commands allocate it
		ctx := context.Background()
		var err error
		switch *child {
		case "idle":
			err = runIdle(*endpoint)
		case "audit":
			err = runAudit(ctx, *n, *folder)
		case "embed":
			err = embed(ctx, *n, *folder)
		case "export":
			err = writeExport(*items, *fixture, *folder)
		default:
			err = runChild(ctx, *child, *fixture, *folder, *n)
		}
		runtime.KeepAlive(room)
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	fmt.Printf("%s/%s, %d cores, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	over := false
	for _, b := range budgets {
		if *only != "" && *only != b.stores {
			continue
		}
		resident, took, err := measure(b.stores, *fixture, *n)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d records, %s stores: %d MB resident at most (budget %d MB), %.0f records/s\n",
			*n, b.stores, resident/1e6, b.bytes/1e6, float64(*n)/took.Seconds())
		over = over || resident > b.bytes
	}
	for _, m := range []struct {
		name    string
		measure func() (within bool, err error)
	}{
		{"audit", func() (bool, error) { return measureAudit(*n) }},
		{"backfill", func() (bool, error) { return measureBackfill(*fixture) }},
		{"idle", measureIdle},
	} {
		if *only != "" && *only != m.name {
			continue
		}
		within, err := m.measure()
		if err != nil {
			log.Fatal(err)
		}
		over = over || !within
	}
	if over {
		log.Fatal("over budget")
	}
}

// measure runs this program again as the child, and returns the child's resident memory and time.
func measure(stores, fixture string, n int) (resident int64, took time.Duration, err error) {
	start := time.Now()
	resident, err = runAgain("-child", stores, "-fixture", fixture, "-n", fmt.Sprint(n))
	if err != nil {
		return 0, 0, fmt.Errorf("%s stores: %w", stores, err)
	}
	return resident, time.Since(start), nil
}

// runAgain runs this program again, and returns the peak of the resident memory of that process.
func runAgain(args ...string) (resident int64, err error) {
	cmd, err := again(args...)
	if err != nil {
		return 0, err
	}
	cmd.Stdout = os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	return residentOf(cmd)
}

// residentOf returns the peak of the resident memory of a child that has ended.
func residentOf(cmd *exec.Cmd) (int64, error) {
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, fmt.Errorf("this system does not tell a child's memory")
	}
	unit := int64(1024) // Linux counts kilobytes
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return usage.Maxrss * unit, nil
}

// Command coldstart builds the Lambda bootstrap for both architectures and prints its sizes. It measures the time from
// the start of the native bootstrap until the bootstrap requests its first event, and until it answers this event. The
// command fails if a package is larger than its budget.
//
//	go run ./test/coldstart [-rounds 20]
//
// This process answers the calls of the stores, so that the time is that of the program alone. In a Region each call of
// a start adds a few milliseconds. A function with 1 GB has 0.6 of a core of AWS.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// budget is the most bytes of the zipped package. If a dependency looks up methods by computed names, the linker keeps
// all methods, and the size doubles.
const budget = 16e6

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 20, "starts that are measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *rounds)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, rounds int) error {
	if rounds < 1 {
		return fmt.Errorf("-rounds is at least 1")
	}
	dir, err := os.MkdirTemp("", "tablewake-coldstart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	over := false
	for _, arch := range []string{"arm64", "amd64"} {
		p, err := build(ctx, filepath.Join(dir, arch), arch)
		if err != nil {
			return err
		}
		fmt.Printf("linux/%s: bootstrap %.1f MB, zipped %.1f MB (budget %.0f MB)\n", arch, p.bytes/1e6, p.zipped/1e6, budget/1e6)
		over = over || p.zipped > budget
	}
	if runtime.GOOS != "linux" {
		fmt.Println("the bootstrap is for Linux: its start is not measured here")
	} else if err := measure(ctx, filepath.Join(dir, runtime.GOARCH), rounds); err != nil {
		return err
	}
	if over {
		return fmt.Errorf("over budget: `go build -ldflags=-dumpdep` tells what is marked <ReflectMethod>, and `go tool nm -size -sort size` what is large")
	}
	return nil
}

// measure starts the bootstrap in a folder several times, and prints the times of the starts.
func measure(ctx context.Context, dir string, rounds int) error {
	var asked, answered []time.Duration
	for range rounds {
		s, err := start(ctx, dir)
		if err != nil {
			return err
		}
		asked, answered = append(asked, s.asked), append(answered, s.answered)
	}
	fmt.Printf("%s/%s, %d cores, %d starts: milliseconds, min / median / max\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), rounds)
	fmt.Printf("  until it asks for an event:   %s\n", spread(asked))
	fmt.Printf("  until the first is answered:  %s\n", spread(answered))
	return nil
}

func spread(ds []time.Duration) string {
	slices.Sort(ds)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return fmt.Sprintf("%.1f / %.1f / %.1f", ms(ds[0]), ms(ds[len(ds)/2]), ms(ds[len(ds)-1]))
}

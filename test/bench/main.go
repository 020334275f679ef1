// Command bench measures the reader and the sinks against what they stand on: bare loops
// that send the same requests to the same server, in the same run.
//
//	go -C test/bench run .
//	go -C test/bench run . -rounds 9 -only search
//
// Each comparison runs ours and the bare loop in turn, round by round, so that both meet
// the machine in the same state, and prints records a second as min / median / max with
// the ratio of the medians. The servers are those of the tests; they are started where the
// environment names none (`go run ./test/servers` says what they need).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	rounds := flag.Int("rounds", 5, "how often each side is measured")
	records := flag.Int("n", 20_000, "records of a round")
	only := flag.String("only", "", "comparisons whose name begins so")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 || *records < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(ctx, *rounds, *records, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds, records int, only string) error {
	var chosen []comparison
	servers := &servers{}
	defer servers.close()
	for _, c := range comparisons {
		if strings.HasPrefix(c.name, only) {
			chosen = append(chosen, c)
		}
	}
	if slices.ContainsFunc(chosen, func(c comparison) bool { return !c.alone }) {
		if err := servers.start(ctx); err != nil {
			return err
		}
	}
	in := newInput(records)
	fmt.Println(machine())
	fmt.Printf("%d records a round of %d bytes (a document of %d), %d rounds of each side in turn, records/s\n\n", records, in.recordBytes, documentBytes, rounds)
	t := newTable(os.Stdout)
	for _, c := range chosen {
		r, err := c.measure(ctx, servers, in, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		t.row(r)
	}
	return t.end()
}

// Command bench measures ours beside the peers, side by side within one run. It prints a table with the minimum, the
// median and the maximum of each side, their ratio, and the budget of the ratio.
//
//	go -C test/bench run .
//	go -C test/bench run . -only event,page -rounds 9
//	go -C test/bench run . -only event,valid -input records.jsonl
//	go -C test/bench run . -o results.json && go -C test/bench run . chart
//
// The sides of a row run in turns, so that both meet the machine in the same state. The ratio is that of the medians.
// The time of code in this process is its processor time, with garbage collection, because other processes do not make
// this time longer. Such code runs on one core unless the row says otherwise. Before the first round both sides do the
// work once, and their results must be the same.
//
// A row whose peer needs a missing program says what to install. The other rows are measured, and the exit code is 1.
// The sinks on real servers (-servers) use the servers of the tests. A server that the environment does not name is
// started (`go run ./test/servers` says what the servers need).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx)
	cancel()
	switch {
	case errors.Is(err, errUsage):
		flag.Usage()
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage")

func command(ctx context.Context) error {
	var o options
	only := flag.String("only", "", "rows of these ids, separated by commas")
	flag.IntVar(&o.rounds, "rounds", 7, "how often each side is measured, at most: a row that takes minutes has fewer")
	flag.BoolVar(&o.short, "short", false, "three short rounds of the rows that have a budget: for CI")
	flag.Float64Var(&o.check, "check", 0, "fail where a ratio is below this `share` of its budget, or allocations are above theirs")
	flag.StringVar(&o.out, "o", "", "write the results to this `file`")
	flag.BoolVar(&o.servers, "servers", false, "measure the sinks on real servers too")
	flag.StringVar(&o.input, "input", "", "measure the rows that take other records than the usual ones with those of this `file`: a Lambda event, a GetRecords answer, a JSON array or JSON lines of records")
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	switch {
	case flag.NArg() == 1 && flag.Arg(0) == "chart":
		return chart(".", "README.md")
	case flag.NArg() == 1 && flag.Arg(0) == "replay": // a process of the row resident
		return replayed(ctx, o.input)
	case flag.NArg() == 4 && flag.Arg(0) == "fill": // a process of the row processes
		return fillShared(ctx, flag.Arg(1), flag.Arg(2), flag.Arg(3))
	case flag.NArg() > 0 || o.rounds < 1:
		return errUsage
	}
	return run(ctx, o)
}

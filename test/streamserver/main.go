// Command streamserver is shardreader/streamtest in a process of its own: a DynamoDB Streams endpoint with one table.
// An API under /admin writes to the table, reshards its stream and makes calls fail.
//
//	go run ./test/streamserver -addr 127.0.0.1:0 -table shop -shards 12
//
// The first line of standard output is the endpoint, http://127.0.0.1:PORT. Use this URL as the SDK's base endpoint for
// DynamoDB Streams, with any credentials and any Region. Each access key counts as a separate reader. The server ends
// on SIGTERM or SIGINT, and when its standard input ends. If the server has to end with its parent, start it with a
// pipe.
//
// All requests and answers of /admin are JSON. Missing members have their defaults. An error is {"error": "..."} with
// status 400. Durations are texts: "1m30s".
//
//	POST /admin/write    {"records":1000,"keys":100,"seed":1,"rate":200,"deletes":0.1,"bytes":100,"prefix":"item"}
//	                     writes this number of records to this number of items. With a rate (records a second)
//	                     it answers at once and writes in the background, else it answers after the last write.
//	POST /admin/put      {"item":{"PK":{"S":"a"},"SK":{"S":"b"}}}
//	POST /admin/delete   {"item":{"PK":{"S":"a"},"SK":{"S":"b"}},"expire":false}; expire: like time to live
//	POST /admin/split    {"shard":"","children":2,"every":"","times":1,"seed":1}
//	                     splits this shard, or a random open one; one child makes it a rollover.
//	                     With every it answers at once, and splits in this interval, times times (0: forever).
//	POST /admin/trim     {"shard":"","records":100}; drops the oldest records of this shard, or of each shard;
//	                     or {"before":"2026-01-02T03:04:05Z"}: drops earlier records;
//	                     or {"ended":true}: drops all closed shards
//	POST /admin/disable  {}
//	POST /admin/enable   {"shards":12}; makes a new stream, and disables the old one
//	POST /admin/fail     {"op":"GetRecords","fault":"throttled","times":3,"delay":"0s"}
//	POST /admin/chaos    {"probability":0.05,"seed":1,"faults":["throttled","reset"],"ops":["GetRecords"],"delay":"0s"}; probability 0 ends it
//	POST /admin/stop     {}; ends background work, and answers when it has ended
//	GET  /admin/stats    {"table","stream","streams","records","items","running","calls":{op:n},"peak":{op:n a second},"readers":most of a shard in a second}
//	GET  /admin/table    [item, ...]: the items of the table, in the order of keys
//	GET  /admin/shards   [{"stream","id","parent","first","last","records","trimmed","oldest","newest","written"}, ...]
//	                     of all streams, oldest first; last is "" while the shard is open
//
// Items have the key attributes PK and SK, and the attributes Type ("Order"), Status, Customer, Total, Write (a number
// that rises with every write), At (Unix nanoseconds of the write) and Text. The faults are those of streamtest.Faults.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	cancel()
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "streamserver:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("streamserver", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:0", "address to listen on")
	table := flags.String("table", "shop", "name of the table")
	shards := flags.Int("shards", 1, "shards that the stream starts with")
	var o streamtest.Options
	flags.DurationVar(&o.Retention, "retention", 0, "of records, closed shards and disabled streams (default 24h)")
	flags.DurationVar(&o.IteratorLife, "iterator-life", 0, "of iterators (default 15m)")
	flags.DurationVar(&o.ListDelay, "list-delay", 0, "until a new child is listed")
	flags.DurationVar(&o.CloseDelay, "close-delay", 0, "for which a closed shard is listed as open")
	flags.IntVar(&o.PageRecords, "page-records", 0, "records a page (default 1000)")
	flags.IntVar(&o.EmptyPages, "empty-pages", 0, "pages that come empty before each page with records")
	flags.BoolVar(&o.EmptyEnd, "empty-end", false, "the last page of a closed shard comes empty")
	flags.IntVar(&o.DescribePerSecond, "describe-rate", 0, "DescribeStream calls a second (default unbounded)")
	flags.IntVar(&o.ShardReaders, "shard-readers", 0, "readers of a shard (default unbounded)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	a := newAdmin(ctx, streamtest.New(o), *table, *shards)
	defer a.stop()
	server := &http.Server{Handler: a.handler()}
	if _, err := fmt.Fprintf(out, "http://%s\n", listener.Addr()); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, in) // the input ends with the parent process
		cancel()
	}()
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

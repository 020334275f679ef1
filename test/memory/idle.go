package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

const (
	idleShards    = 10_000
	idleBytes     = 400e6
	describeQuota = 10            // calls a second, the quota of the service
	callsPerMonth = 1_000_000_000 // the budget; if these shards were polled every 5 s, they would take 5 billion calls
	idlePatience  = 5 * time.Minute
	idleWatched   = 20 * time.Second
	secondsAMonth = 30 * 24 * 60 * 60
	idleCalls     = 64 // GetRecords calls in flight
)

// measureIdle lets a child follow a stream of 10,000 open shards without writes, and prints its cost. The server of the
// stream is in this process.
func measureIdle() (within bool, err error) {
	server := streamtest.New(streamtest.Options{DescribePerSecond: describeQuota})
	server.Enable("idle", streamtest.StreamOptions{Shards: idleShards})
	listening := httptest.NewServer(server)
	defer listening.Close()
	cmd, err := again("-child", "idle", "-endpoint", listening.URL)
	if err != nil {
		return false, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return false, err
	}
	lines := bufio.NewScanner(out)
	var opened, watched time.Duration
	var calls int
	var forecast float64
	for lines.Scan() {
		if lines.Text() == "opened" {
			opened = time.Since(start)
		} else if _, err := fmt.Sscanf(lines.Text(), "forecast %f", &forecast); err == nil {
			// The first call of each shard does not count for the budget, because it happens only once.
			watched, calls = time.Since(start), server.Calls("GetRecords")-idleShards
		}
	}
	if err := errors.Join(cmd.Wait(), lines.Err()); err != nil {
		return false, fmt.Errorf("%d idle shards: %w", idleShards, err)
	}
	resident, err := residentOf(cmd)
	if err != nil {
		return false, err
	}
	made, peak := float64(calls)/watched.Seconds()*secondsAMonth, server.Peak("DescribeStream")
	fmt.Printf("%d idle shards: %d MB resident at most (budget %d MB); all polled once %.0f s after the start, DescribeStream %d times a second at most (quota %d); GetRecords in a month: %.0f million as the server counts, %.0f by the forecast (budget %d)\n",
		idleShards, resident/1e6, int64(idleBytes/1e6), opened.Seconds(), peak, describeQuota, made/1e6, forecast/1e6, callsPerMonth/1_000_000)
	return resident <= idleBytes && peak <= describeQuota && made <= callsPerMonth && forecast <= callsPerMonth, nil
}

// runIdle runs in the child: one consumer with its leases in memory. It prints when it has polled every shard, and how
// many calls its polling would take in a month.
func runIdle(endpoint string) error {
	transport := &http.Transport{MaxIdleConnsPerHost: idleCalls}
	api := sdk.New(dynamodbstreams.New(dynamodbstreams.Options{
		Region:           "eu-central-1",
		Credentials:      credentials.NewStaticCredentialsProvider("id", "secret", ""),
		BaseEndpoint:     aws.String(endpoint),
		HTTPClient:       &http.Client{Transport: transport},
		RetryMaxAttempts: 1,
	}), record.DecoderOptions{})
	c, err := consumer.New(consumer.Options{
		API:         api,
		Table:       leases.NewMemory(leases.Snapshot{}),
		Gaps:        pipeline.GapFunc(func(context.Context, record.Gap) error { return errors.New("a gap in a stream without records") }),
		Coordinator: coordinator.Options{Name: "idle", Sources: []coordinator.Source{{Table: "idle"}}, CallsPerMonth: callsPerMonth, MaxCalls: idleCalls},
	})
	if err != nil {
		return err
	}
	p, err := pipeline.New(pipeline.Options{Name: "idle", Routes: []pipeline.Route{{Name: "none", Sink: pipeline.SinkFunc(func(context.Context, []pipeline.Delivery) error { return nil })}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, c, c) }()
	err = watch(c, ended, os.Stdout)
	cancel()
	if err == nil {
		err = <-ended
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	closing, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	return errors.Join(err, c.Close(closing))
}

// watch waits until every shard is polled, and then for some time.
func watch(c *consumer.Consumer, ended <-chan error, out io.Writer) error {
	deadline := time.After(idlePatience)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for opened := 0; opened < idleShards; opened = countOpened(c) {
		select {
		case <-tick.C:
		case err := <-ended:
			return err
		case <-deadline:
			return fmt.Errorf("only %d of %d shards were polled within %s", opened, idleShards, idlePatience)
		}
	}
	if _, err := fmt.Fprintln(out, "opened"); err != nil {
		return err
	}
	select {
	case <-time.After(idleWatched):
	case err := <-ended:
		return err
	}
	if h := c.Health(); !h.Ready || len(h.Stuck) > 0 {
		return fmt.Errorf("it is not well: %q", h.Reasons)
	}
	_, err := fmt.Fprintf(out, "forecast %f\n", c.Status().Member.CallsPerMonth)
	return err
}

// countOpened returns the number of polled shards.
func countOpened(c *consumer.Consumer) (opened int) {
	for _, p := range c.Status().Partitions {
		if p.Opened {
			opened++
		}
	}
	return opened
}

// again returns a command that runs this program again.
func again(args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

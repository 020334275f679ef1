package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	consumePages = 300 // pages of each shard in a round, which are seconds of work
	loopPages    = 50
)

// consume runs the built program, which ends after it has read everything. Its folder holds its leases.
func (r *readers) consume(ctx context.Context) (sample, error) {
	table := r.table()
	config := fmt.Sprintf("version: 1\nname: bench\nsource: {table: %s}\nsinks: {nothing: {custom: {name: discard}}}\n", table)
	if err := os.WriteFile(r.path(table+".yaml"), []byte(config), 0o600); err != nil {
		return sample{}, err
	}
	return r.read(ctx, table, consumePages, func(out []byte) (int, error) {
		var summary struct {
			Ledger struct {
				Sinks map[string]struct{ Written int }
			}
			Balanced bool
		}
		err := json.Unmarshal(out, &summary)
		if err == nil && !summary.Balanced {
			err = errors.New("the ledgers do not balance")
		}
		return summary.Ledger.Sinks["nothing"].Written, err
	}, "tablewake", "consume", "-c", r.path(table+".yaml"), "--local", r.path(table), "--exit-when-idle", "500ms", "--health", "off", "-o", "json")
}

// loop runs a loop of the SDK's GetRecords.
func (r *readers) loop(ctx context.Context) (sample, error) {
	table := r.table()
	return r.read(ctx, table, loopPages, func(out []byte) (int, error) {
		return strconv.Atoi(strings.TrimSpace(string(out)))
	}, "loop", table)
}

// read runs a program that reads a table to its end. It measures the time for the records that the program says it
// read.
func (r *readers) read(ctx context.Context, table string, pages int, count func(out []byte) (int, error), program string, args ...string) (out sample, err error) {
	want, err := r.grant(table, r.pages(pages))
	if err != nil {
		return out, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, r.path(program), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "AWS_REGION="+region, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+r.endpoint, "AWS_ENDPOINT_URL_STS="+r.endpoint)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return out, err
	}
	peak := watchPeak(cmd.Process.Pid)
	err = cmd.Wait()
	out = sample{wall: time.Since(begin), processor: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), bytes: peak.end()}
	if err == nil {
		out.records, err = count(stdout.Bytes())
	}
	if err == nil && out.records != want {
		err = fmt.Errorf("%d records were read of %d", out.records, want)
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w\n%s", program, err, stderr.Bytes())
	}
	return out, nil
}

package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// options are the flags of `health`.
type options struct {
	address string
	ready   bool
	timeout time.Duration
	format  cli.Format
}

// New is the command health.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "health",
		Short: "Ask the consumer on this machine whether it is alive",
		Long: `health asks a consumer on this machine, or in this container, whether it is alive. Use it as the
health check of a container that has no other programs. The exit code is 1 if a restart would help:
the process hangs or does not answer. Otherwise it is 0.

With --ready, the exit code is also 1 if the consumer is alive but cannot do its work, for example
while a sink fails. A restart does not help then. Use --ready for people and for deployments.`,
		Example: `  # The health check of a container
  tablewake health

  # Does it work? What does it do?
  tablewake health --ready -o json

  # A consumer that was started with --health 127.0.0.1:9090
  tablewake health --address 127.0.0.1:9090`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s) },
	}
	f := c.Flags()
	f.StringVar(&o.address, "address", "127.0.0.1:8080", "address of the consumer, the same as its --health")
	f.BoolVar(&o.ready, "ready", false, "also fail if the consumer is alive but cannot do its work")
	f.DurationVar(&o.timeout, "timeout", 4*time.Second, "how long to wait for the answer")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams) error {
	if o.timeout <= 0 {
		return cli.Usagef("--timeout is a time, as 4s")
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	verdict, isHealthy, err := o.getVerdict(ctx)
	if err != nil {
		return fmt.Errorf(
			"the consumer does not answer: %w (it listens where `tablewake consume --health` says; nobody else does)", err)
	}
	if err := cli.Print(s.Out, o.format, verdict, verdict.write); err != nil || isHealthy {
		return err
	}
	return cli.WithExitCode(cli.ExitFailure, nil)
}

// getVerdict requests /livez, or /readyz with --ready. isHealthy reports whether the answer has the status 200.
func (o *options) getVerdict(ctx context.Context) (v Verdict, isHealthy bool, err error) {
	path := "/livez"
	if o.ready {
		path = "/readyz"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+o.address+path, nil)
	if err != nil {
		return v, false, err
	}
	// This transport ignores the proxy of the environment, because the consumer is on this machine.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return v, false, err
	}
	defer resp.Body.Close()
	isHealthy = resp.StatusCode == http.StatusOK
	if !isHealthy && resp.StatusCode != http.StatusServiceUnavailable {
		return v, false, fmt.Errorf("%s of %s is answered by %s", path, o.address, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&v); err != nil || v.State == "" {
		return v, false, errors.Join(fmt.Errorf("%s of %s is not the answer of a consumer", path, o.address), err)
	}
	return v, isHealthy, nil
}

// write prints a verdict as one line.
func (v Verdict) write(w io.Writer) {
	text := fmt.Sprintf("%s: %s, %s pending", v.State, cli.Count(v.Shards, "shard"), cli.Count(v.Pending, "record"))
	fmt.Fprintln(w, strings.Join(append([]string{text}, v.Reasons...), "; "))
}

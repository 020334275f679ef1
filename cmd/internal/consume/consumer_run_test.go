package consume

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks"
)

// denied is a lease table that can neither be read nor written any more.
type denied struct{ leases.Table }

var errDenied = errors.New("AccessDeniedException: check the credentials")

func (denied) Read(context.Context) (leases.Snapshot, error) {
	return leases.Snapshot{}, pipeline.Fatal(errDenied)
}
func (denied) RemoveMember(context.Context, string) error { return pipeline.Transient(errDenied) }

// A consumer that cannot continue ends within the timeout of a stop, although no stop was requested. It ends with its
// error and as a failure, because the same command would fail again.
func TestConsume_EndsWhereLeasesAreDenied(t *testing.T) {
	api, file := clitest.OnStream(t)
	clitest.Put(t, api.Table("shop"), 1, "paid")
	cfg, err := cli.LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	o := &options{Flags: target.Flags{Local: dir}, healthAddress: "off", stopTimeout: time.Second}
	st, err := o.OpenLocal(cfg, io.Discard, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	p, err := sinks.Assemble(t.Context(), cfg, st, sinks.Live(), sinks.WithStopTimeout(o.stopTimeout))
	if err != nil {
		t.Fatal(err)
	}
	table, err := leasesfile.Open(filepath.Join(dir, "leases.json"), cfg.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = table.Close() }()
	log := &running{t: t}
	source, err := consumer.New(consumer.Options{API: api, Table: denied{table}, Gaps: table, Coordinator: o.coordinatorOptions(cfg), Logger: o.logger(log)})
	if err != nil {
		t.Fatal(err)
	}
	stop := newStopper(t.Context(), o.stopTimeout)
	defer stop.close()
	c := &consumerRun{o: o, cfg: cfg, pipeline: p, consumer: source, stop: stop, log: log, stores: st, noEntityCount: new(atomic.Int64)}
	ended := make(chan error, 1)
	go func() { ended <- c.run(t.Context(), cli.Streams{Out: io.Discard, Err: log}) }()
	select {
	case err = <-ended:
	case <-time.After(20 * time.Second): // far beyond the timeout of a stop
		t.Fatalf("it does not end:\n%s", log.text())
	}
	if !errors.Is(err, errDenied) {
		t.Errorf("it ends with %v", err)
	}
	if code := cli.ExitCode(err); code != cli.ExitFailure {
		t.Errorf("exit code %d, want that of a failure", code)
	}
}

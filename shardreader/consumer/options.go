package consumer

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Options make a consumer.
type Options struct {
	API   shardreader.API   // required. A client below it should try a call twice at most: the worker tries again, and knows of all shards
	Table leases.Table      // required
	Gaps  pipeline.GapStore // required

	// Worker says what is read and how. Its Name is by default that of the host, and
	// its Worker the name with something random behind it.
	Coordinator coordinator.Options

	CallTimeout time.Duration        // of a call of the Streams API. Default: 10s
	Logger      *slog.Logger         // Default: discards
	Meter       metric.MeterProvider // Default: the global provider
	Pipeline    string               // name of the pipeline that is read for, an attribute of every metric. Default: none
}

// latestMargin is by how much a clock may be ahead of the one that dates records.
const clockMargin = 5 * time.Minute

// withDefaults checks the options and fills in what is not set.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.API == nil:
		return o, errors.New("Options.API is nil")
	case o.Table == nil:
		return o, errors.New("Options.Table is nil")
	case o.Gaps == nil:
		return o, errors.New("Options.Gaps is nil: what the stream lost before it was read must be kept")
	case o.CallTimeout < 0:
		return o, errors.New("Options.CallTimeout must not be negative")
	}
	if o.Coordinator.ID == "" {
		if o.Coordinator.Name == "" {
			host, err := os.Hostname()
			if err != nil {
				return o, fmt.Errorf("Options.Worker.Name is empty, and the host has no name: %w", err)
			}
			o.Coordinator.Name = host
		}
		var b [4]byte
		if _, err := rand.Read(b[:]); err != nil {
			return o, err
		}
		o.Coordinator.ID = o.Coordinator.Name + "-" + hex.EncodeToString(b[:])
	}
	if s := &o.Coordinator.Start; s.Latest && s.Time.IsZero() {
		// Where nothing was read of a shard before its reader is gone, reading goes on from here
		// and not from what is newest then. Clocks differ, so it is a little earlier.
		s.Time = time.Now().Add(-clockMargin)
	}
	o.Coordinator.Lease = cmp.Or(o.Coordinator.Lease, 6*time.Second)
	o.Coordinator.Retention = cmp.Or(o.Coordinator.Retention, 24*time.Hour)
	o.CallTimeout = cmp.Or(o.CallTimeout, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Meter == nil {
		o.Meter = otel.GetMeterProvider()
	}
	return o, nil
}

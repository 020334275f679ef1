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

// Options configure a consumer.
type Options struct {
	// API is required. Its client should try a call at most twice, because the coordinator retries too and spreads the
	// retries
	API   shardreader.API
	Table leases.Table      // required
	Gaps  pipeline.GapStore // required

	// Coordinator holds the options of the coordinator. If its ID is empty, its Name defaults to the host name, and its
	// ID to the Name with a random suffix.
	Coordinator coordinator.Options

	CallTimeout time.Duration        // timeout of a call of the Streams API. Default: 10s
	Logger      *slog.Logger         // Default: discards
	Meter       metric.MeterProvider // Default: the global provider
	Pipeline    string               // name of the pipeline, an attribute of every metric. Default: none

	// UnrepairedGaps returns the number of noted gaps that are not repaired. A metric reports this number. UnrepairedGaps
	// must not block. Default: no metric.
	UnrepairedGaps func() int64
}

// clockMargin is the maximum time by which this machine's clock may be ahead of the clock of the records.
const clockMargin = 5 * time.Minute

// withDefaults returns o with the defaults, or an error that names the wrong field.
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
		if err := setConsumerID(&o.Coordinator); err != nil {
			return o, err
		}
	}
	if s := &o.Coordinator.Start; s.Latest && s.Time.IsZero() {
		// If a consumer disappears before its first record of a shard, the next consumer starts at this time, because
		// LATEST would skip records. The time is a little earlier than now, because clocks differ.
		s.Time = time.Now().Add(-clockMargin)
	}
	o.Coordinator.Lease = cmp.Or(o.Coordinator.Lease, 6*time.Second)
	o.Coordinator.Retention = cmp.Or(o.Coordinator.Retention, 24*time.Hour)
	o.CallTimeout = cmp.Or(o.CallTimeout, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Meter = cmp.Or(o.Meter, otel.GetMeterProvider())
	return o, nil
}

// setConsumerID sets the consumer id to the name and a random suffix. The name is that of the host by default.
func setConsumerID(o *coordinator.Options) error {
	if o.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("Options.Coordinator.Name is empty, and the host has no name: %w", err)
		}
		o.Name = host
	}
	var suffix [4]byte
	if _, err := rand.Read(suffix[:]); err != nil {
		return err
	}
	o.ID = o.Name + "-" + hex.EncodeToString(suffix[:])
	return nil
}

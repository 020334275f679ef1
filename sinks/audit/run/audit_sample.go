package run

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
)

// errTimeOver is the error of an audit that [Options.Deadline] ended.
var errTimeOver = errs.New("the time was over")

// SampledOptions configure an audit of a sample of a table that is in use.
type SampledOptions struct {
	Config   *config.Config // the configuration, with one source table
	SDK      awssdk.Config
	Sinks    []audit.Sink
	Dir      string        // an empty folder for the report and the work files
	Sample   int           // number of segments to compare, chosen at random
	Segments int           // number of segments into which the table and each sink are divided
	RCU      float64       // read units a second; 0: no limit
	Lag      time.Duration // maximum lag of the sinks behind the stream, an assumption of the caller
	Deadline time.Time     // see [Options.Deadline]
	OnRetry  func(err error, wait time.Duration)
}

// AuditSample audits a sample of the table, and calls found with each finding of the report.
func AuditSample(
	ctx context.Context, s SampledOptions, found func(sink string, f *audit.Finding) error,
) (*Summary, error) {
	budget := NewBudget(s.RCU)
	table, err := OpenTable(ctx, s.SDK, s.Config, sinks.Decoder(s.Config), budget)
	if err != nil {
		return nil, err
	}
	items, err := table.Scan(ctx, s.Segments, s.RCU, nil, s.OnRetry)
	if err != nil {
		return nil, err
	}
	o := Options{
		Header: Header{
			Pipeline: s.Config.Name, Source: items.Info().Source, Stream: table.Decoder.StreamARN,
			Sample:  NewSample(s.Sample, s.Segments),
			Assumed: fmt.Sprintf("the Lambda function is never more than %s behind the stream", s.Lag),
		},
		Report: filepath.Join(s.Dir, "report.jsonl"), Sinks: s.Sinks, Items: items, Lookup: table.Lookup,
		Segments: s.Segments, Deadline: s.Deadline, Checkpoint: time.Minute, Budget: budget,
		WaitForConsumers: func(ctx context.Context, since time.Time) error {
			past := since.Add(s.Lag)
			if !s.Deadline.IsZero() && past.After(s.Deadline) {
				return errTimeOver
			}
			return pipeline.Sleep(ctx, time.Until(past))
		},
	}
	o.Sample = o.Header.Sample
	for _, sink := range s.Sinks {
		o.Header.Sinks = append(o.Header.Sinks, sink.Name())
	}
	summary, err := Audit(ctx, o)
	if err != nil {
		return nil, err
	}
	_, _, err = ReadReport(o.Report, found)
	return summary, err
}

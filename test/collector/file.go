package main

import (
	"context"
	"errors"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// fileConfig is the configuration of the exporter "file".
type fileConfig struct {
	Path string `mapstructure:"path"` // a line of OTLP's JSON for each export request is appended
}

// Validate is part of component.Config.
func (c *fileConfig) Validate() error {
	if c.Path == "" {
		return errors.New("path is empty")
	}
	return nil
}

// toFile makes exporters that append to a file. Two of one collector write whole lines.
func toFile() exporter.Factory {
	var mu sync.Mutex
	appendTo := func(path string, line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(append(line, '\n'))
		return errors.Join(err, f.Close())
	}
	return exporter.NewFactory(component.MustNewType("file"), func() component.Config { return &fileConfig{} },
		exporter.WithTraces(func(_ context.Context, _ exporter.Settings, c component.Config) (exporter.Traces, error) {
			t, err := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error {
				line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
				if err != nil {
					return err
				}
				return appendTo(c.(*fileConfig).Path, line)
			})
			return traces{Traces: t}, err
		}, component.StabilityLevelDevelopment),
		exporter.WithMetrics(func(_ context.Context, _ exporter.Settings, c component.Config) (exporter.Metrics, error) {
			m, err := consumer.NewMetrics(func(_ context.Context, md pmetric.Metrics) error {
				line, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(md)
				if err != nil {
					return err
				}
				return appendTo(c.(*fileConfig).Path, line)
			})
			return metrics{Metrics: m}, err
		}, component.StabilityLevelDevelopment))
}

type traces struct {
	component.StartFunc
	component.ShutdownFunc
	consumer.Traces
}

type metrics struct {
	component.StartFunc
	component.ShutdownFunc
	consumer.Metrics
}

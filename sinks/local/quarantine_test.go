package local_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Quarantine works with dead letters and marks in a folder, while pipelines and redrives crash and restart.
func TestQuarantineAcrossRestarts(t *testing.T) {
	sinktest.RunQuarantine(t, 15, func(dir string) (sinktest.Memory, error) {
		s, err := local.Open(dir)
		if err != nil {
			return sinktest.Memory{}, err
		}
		letters, err1 := s.DeadLetters(context.Background(), nil)
		marks, err2 := s.State(context.Background(), &config.Config{Name: "test"})
		if err := errors.Join(err1, err2); err != nil {
			return sinktest.Memory{}, errors.Join(err, s.Close())
		}
		return sinktest.Memory{Letters: letters.(deadletter.Store), Quarantine: marks, Close: s.Close}, nil
	})
}

package dir_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/deadlettertest"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
)

// The folder contains each dead letter once. The sink of the suite makes a dead letter of every change.
func TestConformance(t *testing.T) {
	deadlettertest.Run(t, deadlettertest.Suite{Open: func(path string) (deadletter.Store, func() error, error) {
		store, err := dir.New(dir.Options{Dir: path, FileBytes: 8000})
		if err != nil {
			return nil, nil, err
		}
		return store, store.Close, nil
	}})
}

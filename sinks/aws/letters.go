package aws

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
)

// DeadLetters opens where the file keeps what cannot be delivered; nil where it names
// no place.
func (b *Bundle) DeadLetters(_ context.Context, cfg *config.Config) (pipeline.DeadLetters, error) {
	d := cfg.DeadLetters
	if d == nil || d.Dir == "" {
		return nil, nil
	}
	return open(b, "dead letters "+d.Dir, func() (*dir.Store, error) { return dir.New(dir.Options{Dir: d.Dir}) })
}

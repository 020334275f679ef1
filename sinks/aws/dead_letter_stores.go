package aws

import (
	"context"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	archives3 "github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/deadletter/s3"
	"github.com/tablewake/tablewake/sinks/deadletter/sqs"
	"github.com/tablewake/tablewake/sinks/internal/openstores"
)

// DeadLetters opens the store of dead letters that the file names. It returns nil if the file names no store.
func (b *Bundle) DeadLetters(ctx context.Context, cfg *config.Config) (pipeline.DeadLetters, error) {
	switch d := cfg.DeadLetters; {
	case d == nil:
		return nil, nil
	case d.Queue != "":
		return b.openLetterQueue(ctx, cfg, d.Queue)
	case d.Bucket != "":
		return b.openLetterBucket(ctx, cfg, d.Bucket, d.Prefix)
	case d.Dir != "":
		return openstores.Open(b.opened, "dead letters "+d.Dir,
			func() (pipeline.DeadLetters, error) { return dir.New(dir.Options{Dir: d.Dir, Logger: b.logger}) })
	}
	return nil, nil
}

// openLetterQueue opens the dead letters in a queue, and the store of the letters that are too large for a message.
// With Create it creates the queue.
func (b *Bundle) openLetterQueue(ctx context.Context, cfg *config.Config, queue string) (deadletter.Store, error) {
	var large deadletter.Store
	if bucket, folder := sinks.LargeLetterFolder(cfg); bucket != "" {
		var err error
		if large, err = b.openLetterBucket(ctx, cfg, bucket, folder); err != nil {
			return nil, err
		}
	}
	return openstores.Open(b.opened, "dead letters in the queue "+queue, func() (deadletter.Store, error) {
		return sqs.New(ctx, sqs.Options{
			Client: b.sqs, Queue: queue, Pipeline: cfg.Name, Large: large,
			Create: b.createMissing && !b.lookOnly, Logger: b.logger,
		})
	})
}

// openLetterBucket opens the dead letters in a bucket. With Create it creates the bucket.
func (b *Bundle) openLetterBucket(
	ctx context.Context, cfg *config.Config, bucket, prefix string,
) (deadletter.Store, error) {
	return openstores.Open(b.opened, fmt.Sprintf("dead letters in the bucket %s %s", bucket, prefix),
		func() (deadletter.Store, error) {
			if b.createMissing && !b.lookOnly {
				if err := b.createLetterBucket(ctx, cfg, bucket); err != nil {
					return nil, err
				}
			}
			return s3.New(ctx, s3.Options{Client: b.s3, Bucket: bucket, Prefix: prefix, Pipeline: cfg.Name})
		})
}

// createLetterBucket creates a bucket of dead letters. If no archive uses the bucket, its objects expire with the
// retention of the state, because older letters would be refused for their age.
func (b *Bundle) createLetterBucket(ctx context.Context, cfg *config.Config, bucket string) error {
	store, err := archives3.New(archives3.Options{Client: b.s3, Bucket: bucket})
	if err != nil {
		return err
	}
	hasArchive := slices.ContainsFunc(cfg.Sinks, func(s config.Sink) bool {
		return s.Archive != nil && s.Archive.Bucket == bucket
	})
	if hasArchive {
		return store.Create(ctx)
	}
	return store.CreateExpiring(ctx, sinks.GuardRetention(cfg))
}

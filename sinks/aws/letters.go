package aws

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive"
	archives3 "github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/deadletter/s3"
	"github.com/tablewake/tablewake/sinks/deadletter/sqs"
)

// DeadLetters opens where the file keeps what cannot be delivered; nil where it names
// no place.
func (b *Bundle) DeadLetters(ctx context.Context, cfg *config.Config) (pipeline.DeadLetters, error) {
	switch d := cfg.DeadLetters; {
	case d == nil:
		return nil, nil
	case d.Bucket != "":
		return b.letters(ctx, cfg.Name, d.Bucket, d.Prefix)
	case d.Queue != "":
		large, err := b.largeLetters(ctx, cfg)
		if err != nil {
			return nil, err
		}
		return open(b, "dead letters in the queue "+d.Queue, func() (*sqs.Store, error) {
			return sqs.New(ctx, sqs.Options{Client: b.sqs, Queue: d.Queue, Pipeline: cfg.Name, Large: large, Logger: b.logger})
		})
	case d.Dir != "":
		return open(b, "dead letters "+d.Dir, func() (*dir.Store, error) { return dir.New(dir.Options{Dir: d.Dir, Logger: b.logger}) })
	}
	return nil, nil
}

// letters opens dead letters in a bucket, and makes the bucket where that is asked for.
func (b *Bundle) letters(ctx context.Context, pipe, bucket, prefix string) (*s3.Store, error) {
	return open(b, fmt.Sprintf("dead letters in the bucket %s %s", bucket, prefix), func() (*s3.Store, error) {
		if b.create {
			maker, err := archives3.New(archives3.Options{Client: b.s3, Bucket: bucket})
			if err == nil {
				err = maker.Create(ctx)
			}
			if err != nil {
				return nil, err
			}
		}
		return s3.New(ctx, s3.Options{Client: b.s3, Bucket: bucket, Prefix: prefix, Pipeline: pipe})
	})
}

// largeLetters is where the letters go that are too large for a message: the bucket of
// the first archive, beside what is kept there of it; nil where there is none.
func (b *Bundle) largeLetters(ctx context.Context, cfg *config.Config) (deadletter.Store, error) {
	for _, s := range cfg.Sinks {
		if s.Archive != nil && s.Archive.Bucket != "" {
			return b.letters(ctx, cfg.Name, s.Archive.Bucket, folder(s.Archive)+archive.Fingerprints+"/dead")
		}
	}
	return nil, nil
}

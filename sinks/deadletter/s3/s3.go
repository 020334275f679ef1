// Package s3 stores dead letters in a bucket, one object each:
//
//	PREFIX/PIPELINE/2026-01-02/030405.000000006-0000-ID.json
//
// The names sort by time. A letter is durable before Put returns. If a letter was put twice, Read yields it once, and
// Remove removes both objects. Any number of processes may put, read and remove. Reading needs about 40 bytes of memory
// per letter, besides a bounded buffer.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
)

// Options configure a store.
type Options struct {
	Client   *s3.Client // required
	Bucket   string     // required; it must exist
	Prefix   string     // beginning of the objects' keys; a slash is added if missing. Default: none
	Pipeline string     // required: name of the pipeline; the store has only the letters of this pipeline

	Concurrency int // number of concurrent requests of a call. Default: 16
}

// Store stores the dead letters of one pipeline in a bucket. It is safe for concurrent use.
type Store struct {
	Options
	mu    sync.Mutex
	names map[letterID][]letterPosition // positions of the listed objects of each letter, for Remove
}

var (
	_ deadletter.Store    = (*Store)(nil)
	_ deadletter.Releaser = (*Store)(nil)
)

// New checks that the bucket exists. If the bucket is missing, the error is marked pipeline.Fatal.
func New(ctx context.Context, o Options) (*Store, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("deadletter: Client is nil: give an S3 client")
	case o.Bucket == "":
		return nil, errors.New("deadletter: Bucket is empty: give the bucket of the letters")
	case o.Pipeline == "":
		return nil, errors.New("deadletter: Pipeline is empty: give the pipeline's name")
	case o.Concurrency < 0:
		return nil, fmt.Errorf("deadletter: Concurrency is %d: give a number of objects", o.Concurrency)
	}
	o.Concurrency = cmp.Or(o.Concurrency, 16)
	o.Prefix = strings.TrimSuffix(o.Prefix, "/")
	if o.Prefix != "" {
		o.Prefix += "/"
	}
	o.Prefix += url.PathEscape(o.Pipeline) + "/"
	s := &Store{Options: o, names: make(map[letterID][]letterPosition)}
	_, err := o.Client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &o.Bucket})
	if err != nil && awserr.KindOf(err) != awserr.Denied { // a role may have only the right PutObject
		return nil, s.wrapError(ctx, "HeadBucket", err)
	}
	return s, nil
}

func (s *Store) wrapError(ctx context.Context, op string, err error) error {
	actions := map[string]string{"HeadBucket": "ListBucket", "ListObjectsV2": "ListBucket", "DeleteObjects": "DeleteObject"}
	action := cmp.Or(actions[op], op)
	return awserr.CallError(ctx, fmt.Sprintf("deadletter: %s in the bucket %s", op, s.Bucket), err, map[awserr.Kind]string{
		awserr.Denied: "check the credentials, and that they and the bucket's policy allow s3:" + action +
			" on it, and the use of its KMS key where it has one",
		awserr.Missing: "check the bucket's name, Region and account, or make it with --create (`tablewake consume`, `backfill` and `replay`; in Go, aws.Create)",
	})
}

// Put writes letters, and blocks until they are durable. After an error some letters may be stored; the next Put writes
// them again as the same objects.
func (s *Store) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	for _, round := range deadletter.Rounds(letters) {
		err := s.each(ctx, "PutObject", len(round), func(i int) error {
			l := &letters[round[i]]
			return s.put(ctx, nameOf(l.Time, round[i], deadletter.ID(l)), l)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// put writes a letter as the object with this name.
func (s *Store) put(ctx context.Context, name string, l *pipeline.DeadLetter) error {
	body, err := deadletter.Append(nil, l)
	if err != nil {
		return err
	}
	in := &s3.PutObjectInput{
		Bucket: &s.Bucket, Key: new(s.Prefix + name), Body: bytes.NewReader(body),
		ContentType: new("application/json"), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
	}
	out, err := s.Client.PutObject(ctx, in)
	if err == nil {
		err = awserr.CheckTagged(out.ETag)
	}
	return s.wrapError(ctx, "PutObject", err)
}

// each calls do n times with limited concurrency. It returns the first fatal error or, without a fatal error, the first
// error. If ctx ends, the remaining calls fail with an error of the operation op.
func (s *Store) each(ctx context.Context, op string, n int, do func(i int) error) error {
	var first error
	for _, err := range parallel.Each(n, s.Concurrency, func(i int) error {
		if err := ctx.Err(); err != nil {
			return s.wrapError(ctx, op, err)
		}
		return do(i)
	}) {
		isFirstFatal := pipeline.IsFatal(err) && !pipeline.IsFatal(first)
		if first == nil || isFirstFatal {
			first = err
		}
	}
	return first
}

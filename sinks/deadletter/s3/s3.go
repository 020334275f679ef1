// Package s3 keeps dead letters in a bucket, each an object of its own:
//
//	PREFIX/PIPELINE/2026-01-02/030405.000000006-0000-ID.json
//
// The names sort by when the letters came. A letter is durable before Put returns.
// One that is put twice is one when it is read, and Remove takes away both. Any number of
// processes may put, read and remove; letters are read in bounded memory but for 40
// bytes or so each.
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

// Options describe a store.
type Options struct {
	Client   *s3.Client // required
	Bucket   string     // required; it has to be there
	Prefix   string     // of the objects' keys; a slash behind it is added where it has none. Default: none
	Pipeline string     // required: name of the pipeline, whose letters alone are put and read

	KMSKey      string // the KMS key that encrypts the objects. Default: as the bucket is set to encrypt
	Concurrency int    // objects written or read at once, by each call. Default: 16
}

// Store is the dead letters of a pipeline in a bucket. It is safe for concurrent use.
type Store struct {
	Options
	mu    sync.Mutex
	names map[letterID][]stamp // of the objects that were listed; what Remove goes by
}

var (
	_ deadletter.Store    = (*Store)(nil)
	_ deadletter.Releaser = (*Store)(nil)
)

// New looks whether the bucket is there. An error that is marked pipeline.Fatal is
// of a bucket that is missing.
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
	if o.Prefix = strings.TrimSuffix(o.Prefix, "/"); o.Prefix != "" {
		o.Prefix += "/"
	}
	o.Prefix += url.PathEscape(o.Pipeline) + "/"
	s := &Store{Options: o, names: make(map[letterID][]stamp)}
	_, err := o.Client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &o.Bucket})
	if err != nil && awserr.KindOf(err) != awserr.Denied { // a role may do nothing but put
		return nil, s.failed(ctx, "HeadBucket", err)
	}
	return s, nil
}

func (s *Store) failed(ctx context.Context, op string, err error) error {
	action := map[string]string{"HeadBucket": "ListBucket", "ListObjectsV2": "ListBucket", "DeleteObjects": "DeleteObject"}
	return awserr.Call(ctx, fmt.Sprintf("deadletter: %s in the bucket %s", op, s.Bucket), err, map[awserr.Kind]string{
		awserr.Denied:  "check the credentials, and that they and the bucket's policy allow s3:" + cmp.Or(action[op], op) + " on it, and the use of its KMS key where it has one",
		awserr.Missing: "check the bucket's name, Region and account; it is never made by the pipeline",
	})
}

// Put writes letters, and blocks until they are durable. After an error some of them
// may be there; the next attempt writes them again, as the same objects.
func (s *Store) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	return s.each(ctx, "PutObject", len(letters), func(i int) error {
		l := &letters[i]
		body, err := deadletter.Append(nil, l)
		if err != nil {
			return err
		}
		in := &s3.PutObjectInput{
			Bucket: &s.Bucket, Key: new(s.Prefix + nameOf(l.Time, i, deadletter.ID(l))), Body: bytes.NewReader(body),
			ContentType: new("application/json"), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
		}
		if s.KMSKey != "" {
			in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, &s.KMSKey
		}
		out, err := s.Client.PutObject(ctx, in)
		if err == nil {
			err = awserr.Tagged(out.ETag)
		}
		return s.failed(ctx, "PutObject", err)
	})
}

// each does something n times, some of them at once. Its error is the first that
// stops the pipeline, else the first; where ctx ends, the rest fail as op.
func (s *Store) each(ctx context.Context, op string, n int, do func(i int) error) error {
	var first error
	for _, err := range parallel.Each(n, s.Concurrency, func(i int) error {
		if err := ctx.Err(); err != nil {
			return s.failed(ctx, op, err)
		}
		return do(i)
	}) {
		if err != nil && (first == nil || pipeline.IsFatal(err) && !pipeline.IsFatal(first)) {
			first = err
		}
	}
	return first
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/klauspost/compress/zstd"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	archives3 "github.com/tablewake/tablewake/sinks/archive/s3"
)

// Sinks of the two layouts.
const (
	perItem = "sinks: {archive: {archive: {bucket: %s, layout: per_item, key: '{@key}/{@version}.json'}}}\n"
	log     = "sinks: {archive: {archive: {bucket: %s, roll: {bytes: 8MiB}}}}\n"
)

// archiveContest writes objects into a bucket. Each round has a new bucket.
type archiveContest struct {
	in       *sinkInput
	sink     string
	client   *s3.Client
	bucket   string
	n        int
	kept     *objects
	keep     bool
	lines    [][]byte // uncompressed lines of each object of the log; nil for the layout per_item
	pipeline *pipeline.Pipeline
}

func openArchive(sink string) func(context.Context, *servers, *sinkInput) (sinkContest, error) {
	return func(ctx context.Context, s *servers, in *sinkInput) (sinkContest, error) {
		c := &archiveContest{in: in, sink: sink, client: s3.NewFromConfig(s.sdk(s.s3), func(o *s3.Options) { o.UsePathStyle = true }), keep: true}
		if err := c.fresh(ctx); err != nil {
			return nil, err
		}
		if err := c.ours(ctx); err != nil {
			return nil, err
		}
		c.keep = false
		if sink == log {
			return c, c.unpack()
		}
		return c, nil
	}
}

// unpack keeps the uncompressed lines, because the bare loop has to compress them as ours does.
func (c *archiveContest) unpack() error {
	z, err := zstd.NewReader(nil)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, o := range c.kept.all {
		lines, err := z.DecodeAll(o.Body, nil)
		if err != nil {
			return err
		}
		c.lines = append(c.lines, lines)
	}
	return nil
}

func (c *archiveContest) fresh(ctx context.Context) error {
	c.n++
	if err := c.empty(ctx); err != nil {
		return err
	}
	c.bucket = fmt.Sprintf("bench-%d", c.n)
	store, err := archives3.New(archives3.Options{Client: c.client, Bucket: c.bucket})
	if err != nil {
		return err
	}
	if err := store.Create(ctx); err != nil {
		return err
	}
	var s archive.Store = store
	if c.keep {
		c.kept = &objects{Store: store}
		s = c.kept
	}
	c.pipeline, err = assemble(ctx, oneArchive{sinks.PlanOnly(), s}, fmt.Sprintf(c.sink, c.bucket))
	return err
}

// empty removes the last bucket and its objects.
func (c *archiveContest) empty(ctx context.Context) error {
	if c.bucket == "" {
		return nil
	}
	pages := s3.NewListObjectsV2Paginator(c.client, &s3.ListObjectsV2Input{Bucket: &c.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		var ids []types.ObjectIdentifier
		for _, o := range page.Contents {
			ids = append(ids, types.ObjectIdentifier{Key: o.Key})
		}
		if len(ids) == 0 {
			continue
		}
		if _, err := c.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &c.bucket, Delete: &types.Delete{Objects: ids}}); err != nil {
			return err
		}
	}
	_, err := c.client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &c.bucket})
	return err
}

func (c *archiveContest) ours(ctx context.Context) error { return drive(ctx, c.pipeline, c.in) }

func (c *archiveContest) bare(ctx context.Context) error {
	if len(c.kept.all) == 0 {
		return errors.New("the archive put no object")
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		return err
	}
	defer z.Close()
	return loop(len(c.kept.all), c.kept.most, func(i int) error {
		o := c.kept.all[i]
		body := o.Body
		if c.lines != nil {
			body = z.EncodeAll(c.lines[i], nil)
		}
		_, err := c.client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &c.bucket, Key: &o.Name, Body: bytes.NewReader(body), IfNoneMatch: aws.String("*"),
			ContentType: &o.ContentType, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c,
		})
		return err
	})
}

func (c *archiveContest) close() error {
	return c.empty(context.Background())
}

// objects keeps the objects that are put through it.
type objects struct {
	archive.Store
	gauge
	mu  sync.Mutex
	all []archive.Object
}

// Put passes the object on.
func (s *objects) Put(ctx context.Context, o archive.Object) error {
	s.enter()
	defer s.leave()
	kept := o
	kept.Body = bytes.Clone(o.Body)
	s.mu.Lock()
	s.all = append(s.all, kept)
	s.mu.Unlock()
	return s.Store.Put(ctx, o)
}

// oneArchive is a set of stores. Only the archive is a real store.
type oneArchive struct {
	sinks.Stores
	store archive.Store
}

// Archive returns the bucket.
func (o oneArchive) Archive(context.Context, *config.Config, config.Sink) (archive.Store, error) {
	return o.store, nil
}

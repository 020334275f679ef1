package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// S3Client has the methods of *s3.Client that this package calls.
type S3Client interface {
	GetObject(ctx context.Context, in *s3.GetObjectInput, o ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input, o ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
}

var _ S3Client = (*s3.Client)(nil)

// bucket is a store whose files are the objects of a bucket. It retries transient failures until ctx ends.
type bucket struct {
	client S3Client
	name   string
	retry  func(err error, wait time.Duration) // called before each retry
}

func (s *bucket) location(name string) redact.Safe { return redact.Safe("s3://" + s.name + "/" + name) }

// stallTimeout is the time without a received byte after which an object is requested again.
const stallTimeout = 30 * time.Second

var errStalled = errs.New("the server sent nothing for too long")

// withRetry calls try until it succeeds, fails permanently, or ctx ends.
func (s *bucket) withRetry(ctx context.Context, try func() error) error {
	return pipeline.Backoff{}.Retry(ctx, s.retry, try)
}

func (s *bucket) list(ctx context.Context, folder string, yield func(entry)) error {
	if folder == "." {
		folder = ""
	}
	in := &s3.ListObjectsV2Input{Bucket: &s.name, Delimiter: aws.String("/")}
	if folder != "" {
		in.Prefix = aws.String(folder + "/")
	}
	var out *s3.ListObjectsV2Output
	listPage := func() (err error) {
		out, err = s.client.ListObjectsV2(ctx, in)
		return awserr.CallError(ctx, "ListObjectsV2 of "+string(s.location(folder)), err, map[awserr.Kind]string{
			awserr.Denied:  "allow s3:ListBucket on the bucket",
			awserr.Missing: "check the name of the bucket",
		})
	}
	for {
		if err := s.withRetry(ctx, listPage); err != nil {
			return err
		}
		for _, c := range out.Contents {
			yield(entry{base: path.Base(aws.ToString(c.Key)), bytes: aws.ToInt64(c.Size)})
		}
		for _, p := range out.CommonPrefixes {
			yield(entry{base: path.Base(aws.ToString(p.Prefix)), folder: true})
		}
		in.ContinuationToken = out.NextContinuationToken
		if in.ContinuationToken == nil || !aws.ToBool(out.IsTruncated) {
			return nil
		}
	}
}

func (s *bucket) open(ctx context.Context, name string) (file, error) {
	o := &object{ctx: ctx, store: s, name: name}
	if err := s.withRetry(ctx, o.request); err != nil {
		return nil, err
	}
	return o, nil
}

// object reads an object. If a connection breaks, it continues with another connection.
type object struct {
	ctx   context.Context
	store *bucket
	name  string

	body       io.ReadCloser // body of the present request; nil if there is none
	cancel     context.CancelCauseFunc
	etagHeader *string
	next, end  int64 // offset of the next byte, and offset after the last byte
}

func (o *object) etag() string { return strings.Trim(aws.ToString(o.etagHeader), `"`) }

// request requests the bytes of the object from next on. All requests read the same version of the object.
func (o *object) request() error {
	ctx, cancel := context.WithCancelCause(o.ctx)
	in := &s3.GetObjectInput{Bucket: &o.store.name, Key: &o.name, IfMatch: o.etagHeader}
	if o.next > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", o.next))
	}
	timer := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	out, err := o.store.client.GetObject(ctx, in)
	timer.Stop()
	if err != nil {
		if errors.Is(context.Cause(ctx), errStalled) {
			err = errStalled
		}
		cancel(nil)
		return o.explainError(err)
	}
	size := o.next + aws.ToInt64(out.ContentLength)
	contentRange := aws.ToString(out.ContentRange)
	isRequestedRange := strings.HasPrefix(contentRange, fmt.Sprintf("bytes %d-", o.next)) && size == o.end
	if o.next > 0 && !isRequestedRange {
		cancel(nil)
		_ = out.Body.Close()
		return errs.Errorf("the server sent %q instead of the bytes from %d of %d on", redact.Safe(contentRange), o.next,
			o.end)
	}
	o.body, o.cancel, o.etagHeader, o.end = out.Body, cancel, out.ETag, size
	return nil
}

// explainError returns an error of GetObject with advice to the operator. If the object does not exist, it returns
// errMissing.
func (o *object) explainError(err error) error {
	switch code, status := awserr.Code(err), awserr.Status(err); {
	case errors.Is(err, errStalled):
		return pipeline.Transient(err)
	case code == "NoSuchKey" || status == http.StatusNotFound && code != "NoSuchBucket":
		return errMissing
	case status == http.StatusPreconditionFailed:
		return errs.New("it was replaced while it was read: an export's files do not change, so check what writes there")
	case code == "InvalidObjectState":
		return errs.New("it is in an archive storage class of S3: restore it (aws s3api restore-object), and begin again")
	}
	return awserr.CallError(o.ctx, "GetObject", err, map[awserr.Kind]string{
		awserr.Denied:  "allow s3:GetObject on the export's objects, and kms:Decrypt on their key if they have one",
		awserr.Missing: "check the name of the bucket",
	})
}

// Read reads the next bytes. If the connection breaks, it continues after the last received byte.
func (o *object) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if o.next >= o.end {
		return 0, io.EOF // the caller compares the MD5
	}
	err = o.store.withRetry(o.ctx, func() (err error) {
		n, err = o.readOnce(p)
		return err
	})
	return n, err
}

// readOnce reads from one connection. It returns an error only if it has read no bytes.
func (o *object) readOnce(p []byte) (int, error) {
	if o.body == nil {
		if err := o.request(); err != nil {
			return 0, err
		}
	}
	timer := time.AfterFunc(stallTimeout, func() { o.cancel(errStalled) })
	n, err := o.body.Read(p[:min(int64(len(p)), o.end-o.next)])
	if !timer.Stop() {
		err = errStalled
	}
	o.next += int64(n)
	if n > 0 || err == nil {
		return n, nil // the next Read returns the error
	}
	o.closeBody()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return 0, pipeline.Transient(errs.Errorf("export: reading %s broke off at byte %d of %d: %w", o.store.location(o.name),
		o.next, o.end, err))
}

func (o *object) closeBody() {
	if o.body != nil {
		o.cancel(nil) // the rest of the body is not read
		_ = o.body.Close()
		o.body = nil
	}
}

// Close closes the connection.
func (o *object) Close() error {
	o.closeBody()
	o.end = o.next
	return nil
}

package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/sinks/archive"
)

// Get opens one object. If the connection breaks or stalls, reading continues where it stopped, with the same version
// of the object.
func (s *Store) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	b := &body{ctx: ctx, store: s, name: name}
	received, err := b.requestRange("")
	if err != nil {
		return nil, err
	}
	b.next, b.end = received.first, received.end
	return b, nil
}

// GetRange implements [archive.Ranger].
func (s *Store) GetRange(ctx context.Context, name string, offset, n int64) (io.ReadCloser, int64, error) {
	if n <= 0 {
		return s.emptyRange(ctx, name)
	}
	span := fmt.Sprintf("bytes=%d-%d", offset, offset+n-1)
	if offset < 0 {
		span = fmt.Sprintf("bytes=%d", offset)
	}
	b := &body{ctx: ctx, store: s, name: name}
	received, err := b.requestRange(span)
	if awserr.Status(err) == 416 { // the range begins after the end
		return s.emptyRange(ctx, name)
	}
	if err != nil {
		return nil, 0, err
	}
	b.next, b.end = received.first, min(received.end, received.first+n)
	return b, received.size, nil
}

// emptyRange returns no bytes of an object, and the size of the object.
func (s *Store) emptyRange(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.o.Bucket, Key: &name}, moreRetries)
	if err != nil {
		return nil, 0, s.readError(ctx, name, err)
	}
	return io.NopCloser(strings.NewReader("")), aws.ToInt64(head.ContentLength), nil
}

// body reads an object or a part of it. If its connection breaks, it opens another connection.
type body struct {
	ctx   context.Context
	store *Store
	name  string

	stream    io.ReadCloser // nil until the next Read opens it, at offset next
	cancel    context.CancelCauseFunc
	etag      *string
	next, end int64 // offset of the next byte to read, and the offset after the last one
	failures  int   // number of failures since the last received byte
}

// maxFailures is the number of connections that may break or fail without a new byte.
const maxFailures = 5

var errStalled = errs.New("the server sent nothing for too long")

// requestRange opens a connection for a range of bytes, and returns the range that the server sends. The range "" means
// the whole object.
func (b *body) requestRange(span string) (contentRange, error) {
	ctx, cancel := context.WithCancelCause(b.ctx)
	in := &s3.GetObjectInput{Bucket: &b.store.o.Bucket, Key: &b.name, Range: nilIfEmpty(span), IfMatch: b.etag}
	if span == "" {
		in.ChecksumMode = types.ChecksumModeEnabled
	}
	out, err := b.store.client.GetObject(ctx, in, moreRetries)
	if err != nil {
		cancel(nil)
		return contentRange{}, b.store.readError(b.ctx, b.name, err)
	}
	if out.ContentLength == nil { // S3 always sends it. Without it, a whole body cannot be distinguished from a part.
		cancel(nil)
		_ = out.Body.Close()
		return contentRange{}, pipeline.Transient(errs.Errorf(
			"archive: read %s: the answer has no Content-Length: is a proxy in between?", b.name))
	}
	b.stream, b.cancel, b.etag = out.Body, cancel, out.ETag
	received, ok := parseContentRange(aws.ToString(out.ContentRange))
	if !ok { // the answer is the whole object
		return contentRange{first: 0, end: *out.ContentLength, size: *out.ContentLength}, nil
	}
	return received, nil
}

// contentRange is the range of bytes in a response, and the size of the object.
type contentRange struct {
	first, end int64 // offset of the first byte, and the offset after the last one
	size       int64
}

// parseContentRange parses a Content-Range header, such as "bytes 0-9/100". It returns false for any other text.
func parseContentRange(header string) (r contentRange, ok bool) {
	header, hasUnit := strings.CutPrefix(header, "bytes ")
	span, size, hasSlash := strings.Cut(header, "/")
	first, last, hasDash := strings.Cut(span, "-")
	if !hasUnit || !hasSlash || !hasDash {
		return contentRange{}, false
	}
	var firstErr, lastErr, sizeErr error
	r.first, firstErr = strconv.ParseInt(first, 10, 64)
	r.end, lastErr = strconv.ParseInt(last, 10, 64)
	r.end++ // last is the offset of the last byte
	r.size, sizeErr = strconv.ParseInt(size, 10, 64)
	return r, cmp.Or(firstErr, lastErr, sizeErr) == nil
}

// Read reads the next bytes. It opens a new connection if the last one broke.
func (b *body) Read(p []byte) (int, error) {
	if b.next >= b.end {
		return b.readAfterEnd(p)
	}
	for {
		if err := b.resume(); err != nil {
			return 0, err
		}
		n, err := b.readStream(p)
		if n > 0 || len(p) == 0 {
			b.failures = 0
			return n, nil // the next Read returns the error
		}
		if err == nil {
			continue
		}
		if err := b.waitAfterBreak(err); err != nil {
			return 0, err
		}
	}
}

// readStream reads the next bytes from the open connection. If no byte arrives for too long, it cancels the request.
func (b *body) readStream(p []byte) (int, error) {
	stalled := time.AfterFunc(b.store.o.Stalled, func() { b.cancel(errStalled) })
	n, err := b.stream.Read(p[:min(int64(len(p)), b.end-b.next)])
	stalled.Stop()
	b.next += int64(n)
	return n, err
}

// waitAfterBreak closes the connection, which broke with readErr, and waits before the next one. It returns an error if
// there is to be no other connection.
func (b *body) waitAfterBreak(readErr error) error {
	b.disconnect()
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	b.failures++
	if b.failures > maxFailures {
		return b.brokenError(readErr)
	}
	wait := pipeline.Backoff{}.Delay(b.failures-1, 0)
	b.store.o.OnRetry(errs.Errorf("archive: read %s: broken off at byte %d of %d", b.name, b.next, b.end), wait)
	return pipeline.Sleep(b.ctx, wait)
}

// brokenError returns the error after too many broken connections in a row. err is that of the last one. If the answer
// ended too early, the server has only a part of the object: no retry brings the rest.
func (b *body) brokenError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errs.Errorf("archive: read %s: the server sends it up to byte %d and not to byte %d, so it is %w", b.name,
			b.next, b.end, inputs.ErrCut)
	}
	return pipeline.Transient(errs.Errorf("archive: read %s: broken off at byte %d of %d, %d times in a row", b.name,
		b.next, b.end, b.failures))
}

// readAfterEnd reads once more after the last byte, because the SDK then reports a wrong checksum. A retry would read
// the same bytes, so the error is permanent.
func (b *body) readAfterEnd(p []byte) (int, error) {
	if b.stream == nil || len(p) == 0 {
		return 0, io.EOF
	}
	_, err := b.stream.Read(p[:1])
	b.disconnect()
	if err != nil && !errors.Is(err, io.EOF) && strings.Contains(err.Error(), "checksum did not match") {
		return 0, errs.Errorf(
			"archive: read %s: its bytes do not match its checksum, so it is damaged: restore it, and repeat the command", b.name)
	}
	return 0, io.EOF
}

// resume opens the rest of the object if no connection is open.
func (b *body) resume() error {
	if b.stream != nil {
		return nil
	}
	received, err := b.requestRange(fmt.Sprintf("bytes=%d-%d", b.next, b.end-1))
	if awserr.Status(err) == 412 {
		return errs.Errorf(
			"archive: read %s: the object was replaced while it was read: read the archive again when nothing writes to it",
			b.name)
	}
	if err != nil {
		return err
	}
	isOtherRange := received.first != b.next || received.end != b.end
	if isOtherRange {
		b.disconnect()
		return errs.Errorf("archive: read %s: asked for bytes %d to %d, the server sent %d to %d", b.name,
			b.next, b.end, received.first, received.end)
	}
	return nil
}

// disconnect closes the open connection, if there is one.
func (b *body) disconnect() {
	if b.stream == nil {
		return
	}
	b.cancel(nil) // a canceled request does not read the rest
	_ = b.stream.Close()
	b.stream = nil
}

// Close closes the connection.
func (b *body) Close() error {
	b.disconnect()
	b.next, b.end = 0, 0
	return nil
}

// readError returns the error of a failed read.
func (s *Store) readError(ctx context.Context, name string, err error) error {
	if frozen, ok := errors.AsType[*types.InvalidObjectState](err); ok {
		return s.frozenError(name, cmp.Or(string(frozen.StorageClass), string(types.StorageClassGlacier)))
	}
	code := awserr.Code(err)
	isMissing := code == "NoSuchKey" || awserr.Status(err) == 404 && code != "NoSuchBucket"
	switch {
	case code == "InvalidObjectState":
		return s.frozenError(name, string(types.StorageClassGlacier))
	case isMissing:
		return fmt.Errorf("%s: %w", name, archive.ErrNoObject)
	}
	return fmt.Errorf("archive: read %s: %w", name, s.callError(ctx, "GetObject", err))
}

// frozenError returns the error of an object that must be restored first.
func (s *Store) frozenError(name, class string) error {
	request := `{"Days":7,"GlacierJobParameters":{"Tier":"Standard"}}`
	if class == string(types.StorageClassIntelligentTiering) { // a restored object of this class stays available
		request = `{"GlacierJobParameters":{"Tier":"Standard"}}`
	}
	return &archive.FrozenError{Objects: []archive.Frozen{{
		Name:  name,
		Class: class,
		Restore: fmt.Sprintf("aws s3api restore-object --bucket %s --key %s --restore-request %s", shellQuoted(s.o.Bucket),
			shellQuoted(name), shellQuoted(request)),
	}}}
}

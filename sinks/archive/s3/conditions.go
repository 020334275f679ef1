package s3

import (
	"bytes"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// probe is the name of an object for testing conditional writes.
const probe = ".conditions"

// takesConditions checks once that the server obeys conditional writes. A server
// that ignores them would silently overwrite objects. Concurrent calls wait for
// the first. If the bucket was used before, the check is one request.
func (s *Store) takesConditions(ctx context.Context) error {
	var proven bool
	select {
	case proven = <-s.proven:
	case <-ctx.Done():
		return pipeline.Transient(context.Cause(ctx))
	}
	defer func() { s.proven <- proven }()
	for try := 0; !proven && try < 2; try++ {
		err := s.writeProbe(ctx)
		switch {
		case err == nil: // the probe was missing; the second write must be refused
		case exists(err):
			proven = true
		case awserr.Code(err) == "NotImplemented":
			return s.unconditional()
		default:
			return fmt.Errorf("archive: ask the server for conditional writes: %w", s.failed(ctx, "PutObject", err))
		}
	}
	if !proven {
		return s.unconditional()
	}
	return nil
}

func (s *Store) writeProbe(ctx context.Context) error {
	body := []byte("Objects beside this one are written on condition that they are not there. This one proves that the server keeps to it.\n")
	out, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket:               &s.o.Bucket,
		Key:                  aws.String(s.own(probe)),
		Body:                 bytes.NewReader(body),
		ContentType:          aws.String("text/plain"),
		IfNoneMatch:          aws.String("*"),
		ChecksumCRC32C:       checksum(body),
		ServerSideEncryption: s.encryption(),
		SSEKMSKeyId:          optional(s.o.KMSKey),
	})
	if err != nil {
		return err
	}
	return awserr.Tagged(out.ETag)
}

func (s *Store) unconditional() error {
	return pipeline.Fatal(errs.Errorf("archive: the server of the bucket %s does not take conditional writes (If-None-Match: *): it would overwrite objects of an archive; use S3, or a server that does", redact.Safe(s.o.Bucket)))
}

package s3

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/archive"
)

// probe is the name of the object that tests conditional writes.
const probe = ".conditions"

// The headers of conditional writes.
const (
	ifNoneMatch = "If-None-Match: *"
	ifMatch     = "If-Match"
)

// checkIfNoneMatch checks once that the server obeys If-None-Match: *. A server that ignores it would silently
// overwrite objects. If an earlier process wrote the probe, the check is one request.
func (s *Store) checkIfNoneMatch(ctx context.Context) error {
	return s.checkCondition(ctx, s.noneMatchProven, ifNoneMatch)
}

// checkIfMatch checks once that the server obeys If-Match. It uses a tag that the probe never has.
func (s *Store) checkIfMatch(ctx context.Context) error {
	if err := s.checkIfNoneMatch(ctx); err != nil { // also writes the probe
		return err
	}
	return s.checkCondition(ctx, s.matchProven, ifMatch)
}

// checkCondition checks that the server refuses to write the probe because of the condition in the header. After one
// check has proved this, later calls send no request. provenLock is a lock that holds one value: whether a check has
// proved it. A call takes the value while it checks, and then puts the new value back.
func (s *Store) checkCondition(ctx context.Context, provenLock chan bool, header string) error {
	var proven bool
	select {
	case proven = <-provenLock:
	case <-ctx.Done():
		return pipeline.Transient(context.Cause(ctx))
	}
	defer func() { provenLock <- proven }()
	if proven {
		return nil
	}
	for range 2 { // the first write may create the probe; then the server must refuse the second one
		err := s.writeProbe(ctx, header)
		if exists(err) {
			proven = true
			return nil
		}
		if awserr.Code(err) == "NotImplemented" {
			break
		}
		if err != nil {
			return fmt.Errorf("archive: ask the server for conditional writes: %w", s.callError(ctx, "PutObject", err))
		}
	}
	return pipeline.Fatal(
		errs.Errorf(
			"archive: the server of the bucket %s %w (%s): it would overwrite objects of an archive; use S3, or a server that does", redact.Safe(s.o.Bucket), archive.ErrNoConditions, redact.Safe(header)))
}

// writeProbe writes the probe under the condition in the header. The condition is false if the probe exists.
func (s *Store) writeProbe(ctx context.Context, header string) error {
	body := []byte(
		"Objects beside this one are written on condition that they are not there. This one proves that the server keeps to it.\n")
	in := s.newPutInput(s.ownName(probe), "text/plain", body)
	if header == ifMatch {
		in.IfMatch = aws.String(`"no object has this tag"`)
	} else {
		in.IfNoneMatch = aws.String("*")
	}
	return s.putObject(ctx, in)
}

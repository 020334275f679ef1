package s3

import (
	"bytes"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
)

// abortTimeout limits the time to abort a failed upload.
const abortTimeout = 10 * time.Second

// putParts writes an object in parts. It aborts a failed upload, because the stored parts cost money. The parts of a
// killed process never become an object. The lifecycle rule of the bucket deletes them (see Create).
func (s *Store) putParts(ctx context.Context, o archive.Object) (err error) {
	up, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket:               &s.o.Bucket,
		Key:                  &o.Name,
		ContentType:          nilIfEmpty(o.ContentType),
		ChecksumAlgorithm:    types.ChecksumAlgorithmCrc32c,
		Tagging:              tagging(o.Tags),
		Metadata:             metadata(o),
		StorageClass:         types.StorageClass(s.o.StorageClass),
		ServerSideEncryption: s.encryption(),
		SSEKMSKeyId:          nilIfEmpty(s.o.KMSKey),
		BucketKeyEnabled:     s.bucketKey(),
	})
	if err == nil {
		err = awserr.CheckTagged(up.UploadId)
	}
	if err != nil {
		return s.writeError(ctx, "CreateMultipartUpload", o.Name, err)
	}
	defer func() {
		if err != nil {
			s.abort(ctx, o.Name, up.UploadId)
		}
	}()
	parts, err := s.sendParts(ctx, o, up.UploadId)
	if err != nil {
		return s.writeError(ctx, "UploadPart", o.Name, err)
	}
	done, err := s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket:          &s.o.Bucket,
		Key:             &o.Name,
		UploadId:        up.UploadId,
		IfNoneMatch:     aws.String("*"),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	if err == nil {
		err = awserr.CheckTagged(done.ETag)
	}
	return s.writeError(ctx, "CompleteMultipartUpload", o.Name, err)
}

// sendParts sends the parts of the body concurrently. The first error cancels the other requests.
func (s *Store) sendParts(ctx context.Context, o archive.Object, upload *string) ([]types.CompletedPart, error) {
	size := int64(len(o.Body))
	partSize := max(s.o.PartBytes, (size+maxParts-1)/maxParts)
	parts := make([]types.CompletedPart, (size+partSize-1)/partSize)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parallel.Each(len(parts), s.o.Parallel, func(i int) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		start := int64(i) * partSize
		body := o.Body[start:min(start+partSize, size)]
		sum, number := checksum(body), aws.Int32(int32(i+1))
		out, err := s.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &s.o.Bucket, Key: &o.Name, UploadId: upload, PartNumber: number,
			Body: bytes.NewReader(body), ChecksumCRC32C: sum,
		})
		if err == nil {
			err = awserr.CheckTagged(out.ETag)
		}
		if err != nil {
			cancel(err)
			return err
		}
		parts[i] = types.CompletedPart{PartNumber: number, ETag: out.ETag, ChecksumCRC32C: sum}
		return nil
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return parts, nil
}

// abort aborts an upload, even if ctx has ended. It ignores an error, since the lifecycle rule of the bucket deletes
// the parts later.
func (s *Store) abort(ctx context.Context, name string, upload *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	_, _ = s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.o.Bucket, Key: &name,
		UploadId: upload})
}

// retriedCodes has the error codes of S3 that justify a retry of the whole Put.
var retriedCodes = map[string]bool{
	"ConditionalRequestConflict": true, // another writer uses the name; the next try finds its object
	"OperationAborted":           true,
	"NoSuchUpload":               true, // the upload was aborted, or completed by a request whose answer was lost
}

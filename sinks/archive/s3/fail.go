package s3

import (
	"context"
	"errors"
	"fmt"
	"strings"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/internal/awserr"
)

// failed is the error of a call, marked for the pipeline, with what to do.
func (s *Store) failed(ctx context.Context, op string, err error) error {
	op = fmt.Sprintf("%s in the bucket %s", op, s.o.Bucket)
	if again[awserr.Code(err)] {
		return pipeline.Transient(&awserr.Error{Op: op, Code: awserr.Code(err), Err: err})
	}
	return awserr.Call(ctx, op, err, map[awserr.Kind]string{
		awserr.Denied:  "allow s3:PutObject, s3:GetObject and s3:ListBucket on it, s3:PutObjectTagging for tags, s3:AbortMultipartUpload, and kms:GenerateDataKey and kms:Decrypt for a kms_key; check credentials and region",
		awserr.Missing: "make the bucket, have `tablewake replay --live --create` make it (in Go, aws.Create), or check its name and the region",
	})
}

// exists reports whether the server says that an object of that name is there.
func exists(err error) bool { return awserr.Code(err) == "PreconditionFailed" }

// status is the HTTP status that an error came with, 0 where there is none.
func status(err error) int {
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && r.Response != nil {
		return r.HTTPStatusCode()
	}
	return 0
}

// shellQuoted is text as one word of a shell.
func shellQuoted(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:@%+,") == "" && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

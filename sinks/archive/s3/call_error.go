package s3

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
)

// callError marks the error of a call as transient or fatal for the pipeline, and adds a hint.
func (s *Store) callError(ctx context.Context, op string, err error) error {
	right := cmp.Or(rights[op], "s3:"+op)
	op = fmt.Sprintf("%s in the bucket %s", op, s.o.Bucket)
	if retriedCodes[awserr.Code(err)] {
		return pipeline.Transient(&awserr.Error{Op: op, Code: awserr.Code(err), Err: err})
	}
	return awserr.CallError(ctx, op, err, map[awserr.Kind]string{
		awserr.Denied: "allow " + right +
			" on it, and the use of its KMS key where it has one (kms:GenerateDataKey, kms:Decrypt); check credentials and region",
		awserr.Missing: "check the bucket's name, Region and account, or make it with --create (`tablewake consume`, `backfill` and `replay`; in Go, aws.Create)",
	})
}

// rights maps a call to the right that it needs, if the right has another name than the call.
var rights = map[string]string{
	"HeadBucket": "s3:ListBucket", "ListObjectsV2": "s3:ListBucket", "DeleteObjects": "s3:DeleteObject",
	"PutObject":             "s3:PutObject (with tags also s3:PutObjectTagging)",
	"CreateMultipartUpload": "s3:PutObject (with tags also s3:PutObjectTagging)",
	"UploadPart":            "s3:PutObject", "CompleteMultipartUpload": "s3:PutObject",
	"PutBucketLifecycleConfiguration": "s3:PutLifecycleConfiguration",
}

// exists reports whether err means that an object of the name already exists.
func exists(err error) bool { return awserr.Code(err) == "PreconditionFailed" }

// shellQuoted quotes text as one word of a shell.
func shellQuoted(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:@%+,") == "" && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

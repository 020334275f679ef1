package target

import (
	"context"
	"path"
	"strings"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/archive/s3"
)

// IsS3 tells whether an argument names objects in S3.
func IsS3(arg string) bool { return strings.HasPrefix(arg, "s3://") }

// S3Options are what objects are written with.
type S3Options struct{ Class, Key string }

// OpenS3 opens the bucket of s3://BUCKET/PREFIX, with what the SDK's variables and
// files say. Servers other than AWS (AWS_ENDPOINT_URL_S3) have no host names for buckets.
func OpenS3(ctx context.Context, url string, o S3Options) (store *s3.Store, prefix string, err error) {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(url, "s3://"), "/")
	if bucket == "" {
		return nil, "", cli.Usagef("%q names no bucket: write s3://BUCKET/PREFIX", url)
	}
	sdk, err := LoadAWS(ctx)
	if err != nil {
		return nil, "", err
	}
	client := awss3.NewFromConfig(sdk, func(o *awss3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
	folder, _ := path.Split(prefix)
	store, err = s3.New(s3.Options{Client: client, Bucket: bucket, Folder: folder, StorageClass: o.Class, KMSKey: o.Key})
	return store, prefix, err
}

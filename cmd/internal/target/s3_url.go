package target

import (
	"context"
	"path"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/archive/s3"
)

// IsS3 reports whether a command's argument is an s3:// URL.
func IsS3(arg string) bool { return strings.HasPrefix(arg, "s3://") }

// S3Options configure [OpenS3]. StorageClass and KMSKey are for new objects. Without them, the bucket's defaults apply.
// OnRetry is called before a read is repeated.
type S3Options struct {
	StorageClass, KMSKey string
	OnRetry              func(err error, wait time.Duration)
}

// S3 returns a client of S3. If AWS_ENDPOINT_URL_S3 is set, the client puts bucket names into the path, because servers
// other than AWS have no host name for each bucket.
func S3(sdk awssdk.Config) *awss3.Client {
	return awss3.NewFromConfig(sdk, func(o *awss3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
}

// OpenS3 opens the bucket of the URL s3://BUCKET/PREFIX with the configuration of [LoadAWS]. It also returns the
// prefix; "" if the URL has none.
func OpenS3(ctx context.Context, url string, opts S3Options) (store *s3.Store, prefix string, err error) {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(url, "s3://"), "/")
	if bucket == "" {
		return nil, "", cli.Usagef("%q names no bucket: write s3://BUCKET/PREFIX", url)
	}
	sdk, err := LoadAWS(ctx)
	if err != nil {
		return nil, "", err
	}
	folder, _ := path.Split(prefix)
	store, err = s3.New(s3.Options{Client: S3(sdk), Bucket: bucket, Folder: folder, StorageClass: opts.StorageClass,
		KMSKey: opts.KMSKey, OnRetry: opts.OnRetry})
	return store, prefix, err
}

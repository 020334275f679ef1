package s3

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/sinks/internal/awserr"
)

// abandoned is after how many days a bucket drops the parts that a killed process left.
const abandoned = 7

// Create makes the bucket where there is none, private as S3 makes it, and has it drop
// uploads that were never finished. A bucket that is there stays as it is.
func (s *Store) Create(ctx context.Context) error {
	_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.o.Bucket}, patient)
	if err == nil {
		return nil
	}
	if status(err) != 404 {
		return fmt.Errorf("archive: look for the bucket %s: %w", s.o.Bucket, s.failed(ctx, "HeadBucket", err))
	}
	in := &s3.CreateBucketInput{Bucket: &s.o.Bucket}
	if region := s.client.Options().Region; region != "" && region != "us-east-1" {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
	}
	_, err = s.client.CreateBucket(ctx, in, patient)
	if code := awserr.Code(err); err != nil && code != "BucketAlreadyOwnedByYou" {
		return fmt.Errorf("archive: make the bucket %s: %w", s.o.Bucket, s.failed(ctx, "CreateBucket", err))
	}
	_, err = s.client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: &s.o.Bucket,
		LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
			ID:                             aws.String("tablewake-unfinished-uploads"),
			Status:                         types.ExpirationStatusEnabled,
			Filter:                         &types.LifecycleRuleFilter{Prefix: aws.String("")},
			AbortIncompleteMultipartUpload: &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.Int32(abandoned)},
		}}},
	}, patient)
	if code := awserr.Code(err); err != nil && code != "NotImplemented" && code != "MethodNotAllowed" { // some servers expire by themselves, or never
		return fmt.Errorf("archive: have the bucket %s drop unfinished uploads: %w", s.o.Bucket, s.failed(ctx, "PutBucketLifecycleConfiguration", err))
	}
	return nil
}

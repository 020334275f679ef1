package s3

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
)

// abandonedDays is the number of days after which a bucket deletes unfinished uploads, and older versions of expired
// objects.
const abandonedDays = 7

// Check returns an error if the bucket does not exist, or cannot be reached.
func (s *Store) Check(ctx context.Context) error {
	_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.o.Bucket}, moreRetries)
	if err != nil {
		return fmt.Errorf("archive: %w", s.callError(ctx, "HeadBucket", err))
	}
	return nil
}

// Create creates the bucket if it does not exist. The bucket is private, which is S3's default, and has a rule that
// deletes unfinished uploads. Create does not change an existing bucket.
func (s *Store) Create(ctx context.Context) error { return s.createBucket(ctx, 0) }

// CreateExpiring is like Create, but the objects of the new bucket expire after a time, rounded up to whole days. Older
// versions expire a week later.
func (s *Store) CreateExpiring(ctx context.Context, after time.Duration) error {
	const day = 24 * time.Hour
	return s.createBucket(ctx, int32(max((after+day-1)/day, 1)))
}

// createBucket creates the bucket. Its objects expire after days; 0 means never.
func (s *Store) createBucket(ctx context.Context, days int32) error {
	_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.o.Bucket}, moreRetries)
	if err == nil {
		return nil
	}
	if awserr.Status(err) != 404 {
		return fmt.Errorf("archive: look for the bucket %s: %w", s.o.Bucket, s.callError(ctx, "HeadBucket", err))
	}
	in := &s3.CreateBucketInput{Bucket: &s.o.Bucket}
	if region := s.client.Options().Region; region != "" && region != "us-east-1" {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(
			region)}
	}
	_, err = s.client.CreateBucket(ctx, in, moreRetries)
	if code := awserr.Code(err); err != nil && code != "BucketAlreadyOwnedByYou" {
		return fmt.Errorf("archive: make the bucket %s: %w", s.o.Bucket, s.callError(ctx, "CreateBucket", err))
	}
	return s.setLifecycle(ctx, days)
}

// setLifecycle sets the rules that delete unfinished uploads, and expired objects. Objects expire after days; 0 means
// never.
func (s *Store) setLifecycle(ctx context.Context, days int32) error {
	rules := []types.LifecycleRule{{
		ID:                             aws.String("tablewake-unfinished-uploads"),
		Status:                         types.ExpirationStatusEnabled,
		Filter:                         &types.LifecycleRuleFilter{Prefix: aws.String("")},
		AbortIncompleteMultipartUpload: &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.Int32(abandonedDays)},
	}}
	if days > 0 {
		rules = append(rules, types.LifecycleRule{
			ID:                          aws.String("tablewake-expired"),
			Status:                      types.ExpirationStatusEnabled,
			Filter:                      &types.LifecycleRuleFilter{Prefix: aws.String("")},
			Expiration:                  &types.LifecycleExpiration{Days: aws.Int32(days)},
			NoncurrentVersionExpiration: &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(abandonedDays)},
		})
	}
	_, err := s.client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: &s.o.Bucket, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: rules},
	}, moreRetries)
	// Some servers have no lifecycle rules.
	if code := awserr.Code(err); err != nil && code != "NotImplemented" && code != "MethodNotAllowed" {
		return fmt.Errorf("archive: set the lifecycle of the bucket %s: %w", s.o.Bucket,
			s.callError(ctx, "PutBucketLifecycleConfiguration", err))
	}
	return nil
}

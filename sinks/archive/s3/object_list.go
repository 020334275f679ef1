package s3

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/archive"
)

// List implements [archive.Lister]. It reads the names in pages of a thousand.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) {
		input := &s3.ListObjectsV2Input{Bucket: &s.o.Bucket, Prefix: nilIfEmpty(prefix)}
		pages := s3.NewListObjectsV2Paginator(s.client, input)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx, moreRetries, verifyAnswer)
			if err != nil {
				yield(archive.Info{}, fmt.Errorf("archive: list %s: %w", prefix, s.callError(ctx, "ListObjectsV2", err)))
				return
			}
			for _, o := range page.Contents {
				name := aws.ToString(o.Key)
				if isOwn(name) {
					continue
				}
				info := archive.Info{Name: name, Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified),
					Class: string(o.StorageClass)}
				if !yield(info, nil) {
					return
				}
			}
		}
	}
}

// maxRemoved is the maximum number of objects that one request may remove.
const maxRemoved = 1000

// Remove removes objects, and ignores missing ones. If the bucket has versioning, the older versions of the objects
// stay.
func (s *Store) Remove(ctx context.Context, names []string) error {
	for chunk := range slices.Chunk(names, maxRemoved) {
		ids := make([]types.ObjectIdentifier, len(chunk))
		for i := range chunk {
			ids[i].Key = &chunk[i]
		}
		out, err := s.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &s.o.Bucket,
			Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}}, moreRetries)
		if err != nil {
			return fmt.Errorf("archive: remove: %w", s.callError(ctx, "DeleteObjects", err))
		}
		for _, e := range out.Errors {
			code := aws.ToString(e.Code)
			if code == "NoSuchKey" {
				continue
			}
			return fmt.Errorf("archive: remove %s, and %d more: %w", aws.ToString(e.Key), len(out.Errors)-1,
				awserr.EntryError("DeleteObjects in the bucket "+s.o.Bucket, code, false,
					map[awserr.Kind]string{awserr.Denied: "allow s3:DeleteObject"}))
		}
	}
	return nil
}

// Tags returns the tags of an object, sorted by key.
func (s *Store) Tags(ctx context.Context, name string) ([]archive.Tag, error) {
	in := &s3.GetObjectTaggingInput{Bucket: &s.o.Bucket, Key: &name}
	out, err := s.client.GetObjectTagging(ctx, in, moreRetries, verifyAnswer)
	if awserr.Code(err) == "NoSuchTagSet" || awserr.Code(err) == "NoSuchTagSetError" {
		return nil, nil
	}
	if err != nil {
		return nil, s.readError(ctx, name, err)
	}
	tags := make([]archive.Tag, len(out.TagSet))
	for i, t := range out.TagSet {
		tags[i] = archive.Tag{Key: aws.ToString(t.Key), Value: aws.ToString(t.Value)}
	}
	slices.SortFunc(tags, func(a, b archive.Tag) int { return strings.Compare(a.Key, b.Key) })
	return tags, nil
}

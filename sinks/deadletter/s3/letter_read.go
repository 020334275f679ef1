package s3

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/seq"
)

// object is a letter in a listing.
type object struct {
	key string
	id  letterID
}

// Read yields the letters in the order of their times, each once. It may run while others Put and Remove. The sequence
// ends after the first error.
func (s *Store) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	return func(yield func(pipeline.DeadLetter, error) bool) {
		seen := make(map[letterID]bool)
		letters := seq.FlatMap(s.listChunks(ctx), func(chunk []object) ([]pipeline.DeadLetter, error) {
			return s.getNew(ctx, chunk, seen)
		})
		letters(yield)
	}
}

// getNew gets the letters of a chunk concurrently, except for those that were seen. It adds the letters to seen. Of a
// letter that is in the chunk twice, both objects are read, because one of them may be removed meanwhile.
func (s *Store) getNew(
	ctx context.Context, chunk []object, seen map[letterID]bool,
) (letters []pipeline.DeadLetter, err error) {
	got, found := make([]pipeline.DeadLetter, len(chunk)), make([]bool, len(chunk))
	err = s.each(ctx, "GetObject", len(chunk), func(i int) (err error) {
		if !seen[chunk[i].id] {
			got[i], found[i], err = s.get(ctx, chunk[i].key)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, letter := range got {
		isNew := found[i] && !seen[chunk[i].id] // the chunk may have had the letter before
		if isNew {
			seen[chunk[i].id] = true
			letters = append(letters, letter)
		}
	}
	return letters, nil
}

// get reads a letter. found is false if the letter was removed meanwhile.
func (s *Store) get(ctx context.Context, key string) (l pipeline.DeadLetter, found bool, err error) {
	out, err := s.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: &key})
	if err != nil {
		if _, isMissing := errors.AsType[*types.NoSuchKey](err); isMissing {
			return l, false, nil
		}
		return l, false, s.wrapError(ctx, "GetObject", err)
	}
	defer out.Body.Close()
	b, err := bounded.ReadAll(out.Body, bounded.Object)
	if err != nil {
		return l, false, s.wrapError(ctx, "GetObject", err)
	}
	if l, _, err = deadletter.Parse(b); err != nil {
		return l, false, fmt.Errorf("s3://%s/%s: %w", s.Bucket, key, err)
	}
	return l, true, nil
}

// verifyAnswer makes the SDK accept only a complete answer of S3. Otherwise the SDK would take an empty body for an
// empty listing.
func verifyAnswer(o *s3.Options) { o.HTTPClient = awshttp.VerifyS3(o.HTTPClient) }

// listChunks lists the letters by name, at most Concurrency of them in each slice, and remembers their names for
// Remove. It skips other objects. It yields all letters of a page before it lists the next page.
func (s *Store) listChunks(ctx context.Context) iter.Seq2[[]object, error] {
	return func(yield func([]object, error) bool) {
		p := s3.NewListObjectsV2Paginator(s.Client, &s3.ListObjectsV2Input{Bucket: &s.Bucket, Prefix: &s.Prefix})
		for p.HasMorePages() {
			out, err := p.NextPage(ctx, verifyAnswer)
			if err != nil {
				yield(nil, s.wrapError(ctx, "ListObjectsV2", err))
				return
			}
			for chunk := range slices.Chunk(s.rememberLetters(out.Contents), s.Concurrency) {
				if !yield(chunk, nil) {
					return
				}
			}
		}
	}
}

// rememberLetters notes the names of listed letters for Remove, and returns the letters. It skips other objects.
func (s *Store) rememberLetters(objects []types.Object) []object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var page []object
	for _, o := range objects {
		id, position, ok := parseName(strings.TrimPrefix(*o.Key, s.Prefix))
		if !ok {
			continue
		}
		page = append(page, object{*o.Key, id})
		if !slices.Contains(s.names[id], position) {
			s.names[id] = append(s.names[id], position)
		}
	}
	return page
}

// maxDeleted is the maximum number of objects of a DeleteObjects call.
const maxDeleted = 1000

// Remove removes letters by ID, and blocks until the removal is durable. It uses the object names that the last Read
// listed, and lists the objects if a name is unknown. An object with another name that is put after the listing
// stays.
func (s *Store) Remove(ctx context.Context, ids []string) error {
	keys, allKnown := s.objectKeys(ids)
	if !allKnown {
		if err := s.rememberAll(ctx); err != nil {
			return err
		}
		keys, _ = s.objectKeys(ids)
	}
	for chunk := range slices.Chunk(keys, maxDeleted) {
		in := &s3.DeleteObjectsInput{Bucket: &s.Bucket, Delete: &types.Delete{Quiet: new(true)},
			ChecksumAlgorithm: types.ChecksumAlgorithmCrc32}
		for i := range chunk {
			in.Delete.Objects = append(in.Delete.Objects, types.ObjectIdentifier{Key: &chunk[i]})
		}
		out, err := s.Client.DeleteObjects(ctx, in)
		if err != nil {
			return s.wrapError(ctx, "DeleteObjects", err)
		}
		for _, e := range out.Errors {
			if code := *e.Code; code != "NoSuchKey" {
				return awserr.EntryError(fmt.Sprintf("deadletter: DeleteObjects in the bucket %s", s.Bucket), code, true, nil)
			}
		}
	}
	s.forget(ids)
	return nil
}

// rememberAll lists all letters, so that Remove knows their names.
func (s *Store) rememberAll(ctx context.Context) error {
	for _, err := range s.listChunks(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

// objectKeys returns the object keys of the letters with these IDs. allKnown is false if a letter has no known key.
func (s *Store) objectKeys(ids []string) (keys []string, allKnown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	allKnown = true
	for _, text := range ids {
		id, _ := idOf(text)
		positions := s.names[id]
		if len(positions) == 0 {
			allKnown = false
		}
		for _, position := range positions {
			keys = append(keys, s.Prefix+position.name(id))
		}
	}
	return keys, allKnown
}

func (s *Store) forget(ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range ids {
		if id, ok := idOf(text); ok {
			delete(s.names, id)
		}
	}
}

// Release forgets the names that Read remembered for Remove.
func (s *Store) Release(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.names)
	return nil
}

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
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// listed is an object of the store.
type listed struct {
	key string
	id  letterID
}

// Read yields the letters that are there, in the order in which they came, each
// once. It may run while others Put and Remove. A pulled error ends the sequence.
func (s *Store) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	return func(yield func(pipeline.DeadLetter, error) bool) {
		seen := make(map[letterID]struct{})
		for page, err := range s.pages(ctx) {
			if err != nil {
				yield(pipeline.DeadLetter{}, err)
				return
			}
			for some := range slices.Chunk(page, s.Concurrency) {
				if !s.read(ctx, some, seen, yield) {
					return
				}
			}
		}
	}
}

// read yields some letters, which it reads at once.
func (s *Store) read(ctx context.Context, some []listed, seen map[letterID]struct{}, yield func(pipeline.DeadLetter, error) bool) (more bool) {
	letters, there := make([]pipeline.DeadLetter, len(some)), make([]bool, len(some))
	err := s.each(ctx, "GetObject", len(some), func(i int) (err error) {
		if _, again := seen[some[i].id]; !again {
			letters[i], there[i], err = s.get(ctx, some[i].key)
		}
		return err
	})
	if err != nil {
		yield(pipeline.DeadLetter{}, err)
		return false
	}
	for i, l := range letters {
		if _, again := seen[some[i].id]; again || !there[i] {
			continue
		}
		seen[some[i].id] = struct{}{}
		if !yield(l, nil) {
			return false
		}
	}
	return true
}

// get reads a letter; false where it is removed by now.
func (s *Store) get(ctx context.Context, key string) (l pipeline.DeadLetter, there bool, err error) {
	out, err := s.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: &key})
	if err != nil {
		if _, gone := errors.AsType[*types.NoSuchKey](err); gone {
			return l, false, nil
		}
		return l, false, s.failed(ctx, "GetObject", err)
	}
	defer out.Body.Close()
	b, err := bounded.ReadAll(out.Body, bounded.Object)
	if err != nil {
		return l, false, s.failed(ctx, "GetObject", err)
	}
	if l, _, err = deadletter.Parse(b); err != nil {
		return l, false, fmt.Errorf("s3://%s/%s: %w", s.Bucket, key, err)
	}
	return l, true, nil
}

// pages lists the objects by their names, a page at a time, and remembers them for
// Remove. Objects that are no letters are left out.
func (s *Store) pages(ctx context.Context) iter.Seq2[[]listed, error] {
	return func(yield func([]listed, error) bool) {
		p := s3.NewListObjectsV2Paginator(s.Client, &s3.ListObjectsV2Input{Bucket: &s.Bucket, Prefix: &s.Prefix})
		for p.HasMorePages() {
			out, err := p.NextPage(ctx)
			if err != nil {
				yield(nil, s.failed(ctx, "ListObjectsV2", err))
				return
			}
			if page := s.remember(out.Contents); !yield(page, nil) {
				return
			}
		}
	}
}

func (s *Store) remember(objects []types.Object) []listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var page []listed
	for _, o := range objects {
		id, st, ok := parse(strings.TrimPrefix(*o.Key, s.Prefix))
		if !ok {
			continue
		}
		page = append(page, listed{*o.Key, id})
		if !slices.Contains(s.names[id], st) {
			s.names[id] = append(s.names[id], st)
		}
	}
	return page
}

// maxDeleted is how many objects one call deletes.
const maxDeleted = 1000

// Remove takes letters away by their IDs, and blocks until that is durable. It knows
// the objects from the last Read, and lists them where it does not; one that another
// process put again since then stays.
func (s *Store) Remove(ctx context.Context, ids []string) error {
	keys, known := s.objects(ids)
	if !known {
		for _, err := range s.pages(ctx) {
			if err != nil {
				return err
			}
		}
		keys, _ = s.objects(ids)
	}
	for some := range slices.Chunk(keys, maxDeleted) {
		in := &s3.DeleteObjectsInput{Bucket: &s.Bucket, Delete: &types.Delete{Quiet: new(true)}, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32}
		for i := range some {
			in.Delete.Objects = append(in.Delete.Objects, types.ObjectIdentifier{Key: &some[i]})
		}
		out, err := s.Client.DeleteObjects(ctx, in)
		if err != nil {
			return s.failed(ctx, "DeleteObjects", err)
		}
		for _, e := range out.Errors {
			if code := *e.Code; code != "NoSuchKey" {
				return awserr.Entry(fmt.Sprintf("deadletter: DeleteObjects in the bucket %s", s.Bucket), code, true, nil)
			}
		}
	}
	s.forget(ids)
	return nil
}

// objects are the keys of the letters with these IDs; known is false where one of
// them has none.
func (s *Store) objects(ids []string) (keys []string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known = true
	for _, text := range ids {
		id, _ := idOf(text)
		names := s.names[id]
		known = known && len(names) > 0
		for _, st := range names {
			keys = append(keys, s.Prefix+st.name(id))
		}
	}
	return keys, known
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

// Release forgets what Read remembered for Remove.
func (s *Store) Release(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.names)
	return nil
}

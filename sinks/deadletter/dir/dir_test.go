package dir_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
)

func open(t *testing.T, path string, fileBytes int64) *dir.Store {
	t.Helper()
	s, err := dir.New(dir.Options{Dir: path, FileBytes: fileBytes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func letters(ids ...int) []pipeline.DeadLetter {
	var ls []pipeline.DeadLetter
	for _, id := range ids {
		ls = append(ls, pipeline.DeadLetter{Class: "undecodable", Error: "cut", Index: id, Raw: fmt.Appendf(nil, `{"n":%d`, id)})
	}
	return ls
}

func put(t *testing.T, s *dir.Store, ids ...int) {
	t.Helper()
	if err := s.Put(t.Context(), letters(ids...)); err != nil {
		t.Fatal(err)
	}
}

// read returns the indexes of all dead letters in the order of reading.
func read(t *testing.T, s *dir.Store) string {
	t.Helper()
	var ids []string
	for l, err := range s.Read(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, fmt.Sprint(l.Index))
	}
	return strings.Join(ids, " ")
}

func TestLetters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dead")
	s := open(t, path, 300)
	if got := read(t, s); got != "" {
		t.Errorf("a new folder holds %s", got)
	}
	put(t, s, 1, 2)
	put(t, s)
	put(t, s, 2, 3, 3)
	put(t, s, 4)
	put(t, s, 5)
	put(t, s, 1)
	if got := read(t, s); got != "1 2 3 4 5" {
		t.Errorf("letters %s", got)
	}
	files, err := filepath.Glob(filepath.Join(path, "0000000?.jsonl"))
	if err != nil || len(files) < 2 {
		t.Errorf("files %q (%v), want some", files, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// A crash cut the last line. The dead letter of this line is put again, and each other one is still there once.
	last := files[len(files)-1]
	info, err := os.Stat(last)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(last, info.Size()-3); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, 300)
	if got := read(t, s); got != "1 2 3 4" {
		t.Errorf("after the cut: letters %s", got)
	}
	put(t, s, 1, 2, 3, 4, 5, 6)
	if got := read(t, s); got != "1 2 3 4 5 6" {
		t.Errorf("after the repair: letters %s", got)
	}
}

func TestWritersAndAReaderAtOnce(t *testing.T) {
	s := open(t, t.TempDir(), 1000)
	const writers, each = 4, 20
	errs := make([]error, writers+1)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				errs[w] = errors.Join(errs[w], s.Put(context.Background(), letters(100*w+i)))
			}
		})
	}
	wg.Go(func() {
		for range each {
			for _, err := range s.Read(context.Background()) {
				errs[writers] = errors.Join(errs[writers], err)
			}
		}
	})
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := len(strings.Fields(read(t, s))); got != writers*each {
		t.Errorf("%d letters, want %d", got, writers*each)
	}
}

func TestErrors(t *testing.T) {
	for want, o := range map[string]dir.Options{"Dir": {}, "FileBytes": {Dir: t.TempDir(), FileBytes: -1}} {
		if _, err := dir.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %s", err, want)
		}
	}
	s := open(t, t.TempDir(), 0)
	put(t, s, 1, 2)
	for range s.Read(t.Context()) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, retry := pipeline.Retryable(s.Put(ctx, letters(3))); !retry {
		t.Error("a canceled Put is not to be tried again")
	}
	for _, err := range s.Read(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("canceled, the reading continues: %v", err)
		}
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if err := s.Put(t.Context(), letters(4)); err == nil {
		t.Error("a closed store takes letters")
	}
}

// The time of a Put with very many dead letters grows linearly with their number. One large call takes at most three
// times as long as several small calls.
func TestPut_ManyInLinearTime(t *testing.T) {
	many := make([]int, 40_000)
	for i := range many {
		many[i] = i
	}
	took := func(each int) time.Duration {
		s, began := open(t, t.TempDir(), 0), time.Now()
		for some := range slices.Chunk(many, each) {
			put(t, s, some...)
		}
		return time.Since(began)
	}
	if several, one := took(1000), took(len(many)); one > 3*several {
		t.Errorf("one call of %d letters takes %v, calls of 1000 take %v", len(many), one, several)
	}
}

// endsIn is a context that ends after a number of calls of Err.
type endsIn struct {
	context.Context
	looks int
}

func (c *endsIn) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// If the context ends during a Put, the Put fails and writes no dead letter.
func TestPut_EndsWithItsContext(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	if err := s.Put(&endsIn{t.Context(), 50}, letters(make([]int, 100)...)); !errors.Is(err, context.Canceled) {
		t.Errorf("Put: %v, want the context's error", err)
	}
	if got := read(t, s); got != "" {
		t.Errorf("letters %s, want none", got)
	}
}

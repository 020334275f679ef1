package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive"
)

// drain reads a source to its end and returns all changes, as item@sequence.
func drain(t *testing.T, s *archive.Source) (string, error) {
	t.Helper()
	var all []string
	for {
		p, err := s.Read(t.Context())
		if p != nil {
			q, err := p.Decode()
			if err != nil || len(q.Errors) > 0 || p.Partition != archive.Partition || p.Bytes == 0 {
				t.Fatalf("page %+v: %v, %v", p, q.Errors, err)
			}
			for _, c := range q.Changes {
				all = append(all, fmt.Sprintf("%s@%s", c.Key, c.Sequence))
			}
		}
		if err != nil {
			return strings.Join(all, " "), err
		}
	}
}

func TestSource(t *testing.T) {
	store := &memory{}
	want := scattered(t, store, 200)
	for _, page := range []int{0, 1, 2000} {
		dir := t.TempDir()
		s, err := archive.NewSource(archive.SourceOptions{Store: store, PageBytes: page, Read: archive.ReadOptions{Memory: 5000, TempDir: dir}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := drain(t, s)
		if got != want || !errors.Is(err, io.EOF) {
			t.Errorf("pages of %d bytes: %.200s (%v)", page, got, err)
		}
		if p := s.Progress(); int(p.Objects) != len(store.objects) {
			t.Errorf("progress %+v", p)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left on disk: %v", left)
		}
	}
}

// A prefix without an object is probably wrong: its source does not end like one that was read.
func TestSource_NoObject(t *testing.T) {
	store := &memory{}
	scattered(t, store, 3)
	s, err := archive.NewSource(archive.SourceOptions{Store: store, Read: archive.ReadOptions{Prefix: "other/"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := drain(t, s); errors.Is(err, io.EOF) || !strings.Contains(fmt.Sprint(err), `"other/"`) || got != "" {
		t.Errorf("read %s, %v", got, err)
	}
}

func TestSourceThatIsStopped(t *testing.T) {
	store := &memory{}
	scattered(t, store, 50)
	s, err := archive.NewSource(archive.SourceOptions{Store: store, PageBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := s.Read(t.Context()); p == nil || err != nil {
		t.Fatalf("page %v (%v)", p, err)
	}
	why := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for range 3 {
		if _, err := s.Read(ctx); errors.Is(err, io.EOF) {
			t.Error("a source that was stopped has ended")
		}
	}
	if _, err := s.Read(ctx); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

func TestSourceRefuses(t *testing.T) {
	if _, err := archive.NewSource(archive.SourceOptions{}); err == nil || !strings.Contains(err.Error(), "Store") {
		t.Errorf("without a store: %v", err)
	}
	store := &memory{}
	mustWrite(t, newSink(t, archive.Options{Store: store, Images: archive.PlainJSON}), changes(t, line("INSERT", "a", 1, ""))...)
	s, err := archive.NewSource(archive.SourceOptions{Store: store, Decoder: record.DecoderOptions{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := drain(t, s); !errors.Is(err, archive.ErrPlain) {
		t.Errorf("plain images: %v", err)
	}
}

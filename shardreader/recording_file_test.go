package shardreader_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

func TestRecordFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		st.Put(st.Shards()[0], items(0, 3)...)
		st.Disable()
		path := filepath.Join(t.TempDir(), "stream.jsonl")
		r, err := shardreader.RecordFile(t.Context(), path, shardreader.RecordOptions{API: server, Source: "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"})
		if err != nil || r.Records != 3 {
			t.Fatal(r, err)
		}
		b, err := os.ReadFile(path)
		if err != nil || int64(len(b)) != r.Bytes || bytes.Count(b, []byte("\n")) != 3 {
			t.Errorf("the file holds %q, %v", b, err)
		}
	})
}

// The name says whether the file is compressed; replay takes it either way.
func TestRecordFile_Compressed(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	st := server.AddStream("shop")
	st.Put(st.Shards()[0], items(0, 300)...)
	st.Disable()
	for name, magic := range map[string]string{"stream.jsonl": `{"`, "stream.jsonl.gz": "\x1f\x8b", "stream.jsonl.zst": "\x28\xb5\x2f\xfd"} {
		path := filepath.Join(t.TempDir(), name)
		r, err := shardreader.RecordFile(t.Context(), path, shardreader.RecordOptions{API: server, Source: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(b, []byte(magic)) || name != "stream.jsonl" && int64(len(b)) > r.Bytes/2 {
			t.Errorf("%s has %d of %d bytes and begins with %q, %v", name, len(b), r.Bytes, b[:4], err)
		}
		if n := replayed(t.Context(), t, path); n != 300 {
			t.Errorf("%s gives %d changes, want 300", name, n)
		}
	}
}

// replayed counts the changes that replay finds in a file.
func replayed(ctx context.Context, t *testing.T, path string) (n int) {
	t.Helper()
	source, err := replay.Open(replay.Options{Paths: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for {
		page, err := source.Read(ctx)
		if page != nil && page.Decode != nil {
			if page, err := page.Decode(); err != nil || len(page.Errors) > 0 {
				t.Fatal(err, page.Errors)
			} else {
				n += len(page.Changes)
			}
		} else if page != nil {
			n += len(page.Changes)
		}
		if errors.Is(err, io.EOF) {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

package backfill

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
)

// If the table can be described, --keys that differ from its key are refused.
func TestKeysOfTheTable(t *testing.T) {
	file, name, _ := clitest.OnServers(t)
	path := filepath.Join(t.TempDir(), "items.jsonl")
	if err := os.WriteFile(path, []byte(`{"PK":{"S":"a"},"Status":{"S":"paid"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"backfill", "-c", file, "--live", "--lag", "1s", "--items", path, "--dry-run", "--keys"}
	program := clitest.Program{New}
	want := fmt.Sprintf("--keys names Status, and the key of the table %s-source is PK", name)
	if _, said := program.Run(t, cli.ExitUsage, append(args, "Status")...); !strings.Contains(said, want) {
		t.Errorf("it says %s, want %s", said, want)
	}
}

// onePart is a snapshot with one page.
type onePart struct {
	snapshot.Snapshot
	o     record.SnapshotOptions
	lines string
}

func (s onePart) Parts() []snapshot.Part { return []snapshot.Part{{ID: "data/1.json.gz"}} }

func (s onePart) Open(context.Context, string, pipeline.Position) (snapshot.Reader, error) {
	return s, nil
}

func (s onePart) Read(context.Context) (*pipeline.Page, error) {
	return &pipeline.Page{Decode: func() (*record.Page, error) { return record.NewSnapshotDecoder(s.o).DecodeLines([]byte(s.lines)), nil }}, nil
}

func (s onePart) Close() error { return nil }

// --keys are compared with the keys in the changes of an incremental export.
func TestKeysOfAnIncrementalExport(t *testing.T) {
	const line = `{"Metadata":{"WriteTimestampMicros":{"N":"1767398400000000"}},"Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"},"SK":{"S":"b"}}}` + "\n"
	for keys, problem := range map[string]string{"PK": "", "SK": "another key than --keys SK", "PK,SK": "another key than --keys PK,SK"} {
		j := &job{keys: strings.Split(keys, ","), selection: &selection{}}
		err := j.checkKeys(t.Context(), onePart{o: record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true, Table: "shop"}, Keys: j.keys, Layer: 1}, lines: line + line})
		if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("by --keys %s: %v, want %q", keys, err, problem)
		}
	}
}

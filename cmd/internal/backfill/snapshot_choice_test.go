package backfill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
)

// A line that cannot be decoded is refused before anything is written if it would block the backfill: there are no dead
// letters, or they take no such lines. A folder always has dead letters.
func TestOpenItems_LineThatWouldBlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.jsonl")
	if err := os.WriteFile(path, []byte(`{"PK":{"S":"a"}}`+"\n"+`{"PK":{"S":"b"},"N":{"N":"x"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	letters, block, only := &config.DeadLetters{Bucket: "b"}, &config.DeadLetters{Dir: "d", BlockUndecodable: true}, &config.DeadLetters{}
	for _, test := range []struct {
		letters *config.DeadLetters
		live    bool
		refused bool
	}{{nil, true, true}, {only, true, true}, {letters, true, false}, {block, true, true}, {nil, false, false}, {only, false, false}, {block, false, true}} {
		j := &job{cfg: &config.Config{DeadLetters: test.letters}, o: &options{Flags: target.Flags{Live: test.live}}}
		j.o.items = []string{path}
		_, err := j.openItems(t.Context(), record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK"}})
		if refused := err != nil && strings.Contains(err.Error(), "items.jsonl:2 (byte "); refused != test.refused || !refused && err != nil {
			t.Errorf("%+v, live %t: %v", test.letters, test.live, err)
		}
	}
}

package world

import (
	"bytes"
	"os"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
)

// Fixture is the path of the shop's folder from the folder of a test package in test/e2e.
const Fixture = "../../fixtures/shop/"

// ShopStream returns the records of the fixture.
func ShopStream(t *testing.T) [][]byte {
	t.Helper()
	b, err := os.ReadFile(Fixture + "stream.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(b), []byte("\n"))
}

// Begun returns the first n records of the fixture, or a fifth of them with -short.
func Begun(t *testing.T, n int) [][]byte {
	t.Helper()
	if testing.Short() {
		n /= 5
	}
	return ShopStream(t)[:n]
}

// Pass runs the pipeline over the records. The ledgers must balance, and nothing may be pending afterwards.
func Pass(t *testing.T, p *pipeline.Pipeline, records [][]byte) pipeline.Ledger {
	t.Helper()
	before := p.Ledger().Source.Read
	src, err := replay.Open(replay.Options{
		Paths: []string{"-"}, Stdin: bytes.NewReader(bytes.Join(records, []byte("\n"))),
		Decoder: record.DecoderOptions{Table: "shop", EpochZero: true}, BlockBytes: 64 << 10,
	})
	if err != nil {
		t.Error(err)
		return pipeline.Ledger{}
	}
	defer src.Close()
	if err := p.Run(t.Context(), src, nil); err != nil {
		t.Error(err)
	}
	l := p.Ledger()
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	if read := l.Source.Read - before; read != int64(len(records)) {
		t.Errorf("read %d records of %d", read, len(records))
	}
	for name, s := range l.Sinks {
		if s.Pending != 0 {
			t.Errorf("%s: %d are pending after the run", name, s.Pending)
		}
	}
	return l
}

package replay

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// hourlyLines reads as n records of 300 KB, one an hour. Only several of them fill a block that replay reads.
type hourlyLines struct {
	n    int
	rest []byte
}

func (h *hourlyLines) Read(b []byte) (int, error) {
	if len(h.rest) == 0 {
		if h.n == 0 {
			return 0, io.EOF
		}
		time.Sleep(time.Hour)
		h.n--
		h.rest = fmt.Appendf(nil, `{"eventID":"%[1]d","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"%[1]d"}},"NewImage":{"PK":{"S":"%[1]d"},"x":{"S":"%[2]s"}},"SequenceNumber":"%[3]d","StreamViewType":"NEW_AND_OLD_IMAGES"}}`+"\n",
			h.n, strings.Repeat("wake ", 60_000), 100-h.n)
	}
	n := copy(b, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

// If the input of a replay is slower than roll.age, the replay still makes the object that a fast replay makes.
func TestReplay_CutsByInputAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte("version: 1\nname: shop\nsource: {table: shop}\nsinks: {history: {archive: {prefix: changes/}}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		c := New(cli.Streams{In: &hourlyLines{n: 12}, Out: &out, Err: &errs})
		c.SetArgs([]string{"-c", file, "--local", dir, "-"})
		if err := c.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
		}
	})
	var objects []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".zst" {
			objects = append(objects, path)
		}
		return err
	})
	if err != nil || len(objects) != 1 {
		t.Errorf("objects %q, %v", objects, err)
	}
}

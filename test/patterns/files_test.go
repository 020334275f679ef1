package patterns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/notify/jsonl"
)

// unmarshal decodes JSON, with exact numbers.
func unmarshal(t *testing.T, b []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
}

// deletedItems checks that each deleted item has an object at a readable path, with the image before its last
// deletion.
func (r *readers) deletedItems(t *testing.T, bucket string, items map[string]row) {
	t.Helper()
	var want, got []string
	for path, o := range items {
		want = append(want, fmt.Sprintf("%s %v %v", path, o["Total"], o["Status"]))
	}
	root := r.stores.Dir().Archive(bucket)
	check(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, root+string(filepath.Separator))
		if err != nil || d.IsDir() || !strings.HasPrefix(name, "archive") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var change struct{ Old row }
		unmarshal(t, b, &change)
		got = append(got, fmt.Sprintf("%s %v %v", filepath.ToSlash(name), change.Old["Total"], change.Old["Status"]))
		return nil
	}))
	slices.Sort(want)
	slices.Sort(got)
	same(t, "deleted items", want, got)
}

// confirmations checks that each order that was placed or moved has a confirmation with the text of the mail.
func (r *readers) confirmations(t *testing.T) {
	t.Helper()
	var got []string
	for line, err := range jsonl.Read(r.stores.Dir().Events("mail")) {
		check(t, err)
		var event struct {
			Type string
			Data struct{ Attributes row }
		}
		unmarshal(t, line, &event)
		a := event.Data.Attributes
		name := event.Type[strings.LastIndexByte(event.Type, '.')+1:]
		got = append(got, fmt.Sprintf("%s %s of %s: %s", name, a["OrderId"], a["UserId"], a["Total"]))
	}
	slices.Sort(got)
	same(t, "confirmations", slices.Sorted(slices.Values(r.events)), got)
}

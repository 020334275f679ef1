package query_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// A query shows as many results as --limit says, or all for 0, and says if there are more.
func TestQuery_Limit(t *testing.T) {
	dir := t.TempDir()
	file, input, out := filepath.Join(dir, "tablewake.yaml"), filepath.Join(dir, "stream.jsonl"), filepath.Join(dir, "out")
	config := "version: 1\nname: shop\nsource: {table: shop}\nsinks:\n  found: {search: {index: products}}\n"
	var records strings.Builder
	for i := range 12 {
		fmt.Fprintf(&records, `{"eventID":"%[1]d","eventName":"INSERT","eventSource":"aws:dynamodb","dynamodb":{"ApproximateCreationDateTime":1767323045,"SequenceNumber":"%[1]d","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"k%[1]d"}},"NewImage":{"PK":{"S":"k%[1]d"},"Note":{"S":"red"}}}}`+"\n", i+100)
	}
	for path, body := range map[string]string{file: config, input: records.String()} {
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var both bytes.Buffer
	if code := program.Main([]string{"replay", "-c", file, "--local", out, input}, cli.Streams{Out: &both, Err: &both}); code != cli.ExitOK {
		t.Fatalf("replay ends with %d: %s", code, &both)
	}
	for line, want := range map[string]int{
		"search products red": 10, "search products red -n 0": 12, "search products red -n 3": 3, "search products red -n 12": 12, "search products red -n 99": 12,
		"search products": 12, "search products -n 0": 12, "search products -n 11": 11, "search products -n 12": 12,
	} {
		var text, errs bytes.Buffer
		code := program.Main(append(append([]string{"query"}, strings.Fields(line)...), "--local", out), cli.Streams{Out: &text, Err: &errs})
		got, more := strings.Count(text.String(), "\n"), strings.Contains(errs.String(), "there are more")
		if code != cli.ExitOK || got != want || more != (want < 12) {
			t.Errorf("query %s ends with %d and shows %d results, want %d; on standard error: %q", line, code, got, want, &errs)
		}
	}
}

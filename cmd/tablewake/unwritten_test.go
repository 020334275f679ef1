package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// full is an output that has room for a number of bytes.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	}
	return len(b), nil
}

// A command that cannot write its output, wherever the output ends, says so once and does not exit with 0.
func TestRun_OutputCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	file, input, out := filepath.Join(dir, "tablewake.yaml"), filepath.Join(dir, "stream.jsonl"), filepath.Join(dir, "out")
	config := "version: 1\nname: shop\nsource: {table: shop}\nsinks:\n" +
		"  orders: {view: {table: rows, key: {PK: '{Status}', SK: '{@key}'}, attributes: {note: '{Note}'}}}\n" +
		"  found: {search: {index: products, fields: {include: [Note]}}}\n  log: {archive: {bucket: history, prefix: p/}}\n"
	record := `{"eventID":"1","eventName":"INSERT","eventSource":"aws:dynamodb","dynamodb":{"ApproximateCreationDateTime":1767323045,"SequenceNumber":"100","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"k"}},"NewImage":{"PK":{"S":"k"},"Status":{"S":"s"},"Note":{"S":"n"}}}}` + "\n"
	for path, body := range map[string]string{file: config, input: record} {
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var both bytes.Buffer
	if code := program.Main([]string{"replay", "-c", file, "--local", out, input}, cli.Streams{Out: &both, Err: &both}); code != cli.ExitOK {
		t.Fatalf("replay ends with %d: %s", code, &both)
	}
	for _, line := range []string{
		"replay -c FILE --local OUT INPUT", "replay -c FILE --local OUT -o json INPUT", "explain -c FILE INPUT", "explain -c FILE -o json INPUT",
		"validate -c SHOP", "validate --schema", "query --local OUT", "query view rows --local OUT", "query view rows --local OUT -o json",
		"query search products --local OUT", "query archive history --local OUT", "why -c FILE --local OUT --key PK=k INPUT",
		"redrive -c FILE --local OUT --list", "redrive -c FILE --local OUT", "cost -c FILE INPUT", "cost -c FILE -o json INPUT",
		"athena -c FILE", "athena -c FILE -o json", "adopt -c FILE --local OUT",
		"template -c SHOP", "status -c FILE --local OUT --no-stream", "leases list -c FILE --local OUT", "--help", "replay --help", "--version",
	} {
		args := strings.Fields(strings.NewReplacer("FILE", file, "SHOP", "../../test/fixtures/shop/tablewake.yaml", "OUT", out, "INPUT", input).Replace(line))
		var plain, errs bytes.Buffer
		code := program.Main(args, cli.Streams{Out: &plain, Err: &errs})
		if plain.Len() == 0 {
			t.Errorf("%s has no output, and ends with %d: %s", line, code, &errs)
			continue
		}
		for _, room := range []int{0, plain.Len() / 2} {
			var errs bytes.Buffer
			got := program.Main(args, cli.Streams{Out: &full{room}, Err: &errs})
			want := code
			if code == cli.ExitOK {
				want = cli.ExitFailure
			}
			said := 0
			for text := range strings.Lines(errs.String()) {
				if strings.HasPrefix(text, "tablewake: ") && strings.Contains(text, syscall.ENOSPC.Error()) {
					said++
				}
			}
			if got != want && got != cli.ExitFailure || said != 1 { // status finds problems, and may exit with 6 or with 1
				t.Errorf("%s, with room for %d bytes of %d, ends with %d, want %d, and says %d times why:\n%s", line, room, plain.Len(), got, want, said, &errs)
			}
		}
	}
}

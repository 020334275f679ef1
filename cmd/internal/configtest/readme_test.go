package configtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// records is the fixture that the tests in the README name.
const records = `{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"a"},"SK":{"S":"a"}},"NewImage":{"PK":{"S":"a"},"SK":{"S":"a"}},"SequenceNumber":"1"}}
{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"b"},"SK":{"S":"b"}},"NewImage":{"PK":{"S":"b"},"SK":{"S":"b"}},"SequenceNumber":"2"}}
{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"c"},"SK":{"S":"c"}},"NewImage":{"PK":{"S":"c"},"SK":{"S":"c"}},"SequenceNumber":"3"}}
`

// Every test that the README shows passes under the configuration that it shows.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("stream.jsonl", records)
	blocks := strings.Split(string(readme), "```yaml\n")[1:]
	for i := range blocks {
		blocks[i], _, _ = strings.Cut(blocks[i], "```")
	}
	cfg, err := config.Load(write("tablewake.yaml", blocks[0]))
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, text := range blocks[1:] {
		f, err := Load(write("readme_test.yaml", text), cfg)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		for _, r := range Run(t.Context(), cfg, f.Cases) {
			if !r.Passed() {
				t.Errorf("%s: %v %v %v", r.Case.Name, r.Err, r.Differences, r.Letters)
			}
			passed++
		}
	}
	if passed < 4 {
		t.Errorf("the README shows %d tests", passed)
	}
}

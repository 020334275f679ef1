package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
)

// Whatever fails, standard error has only JSON documents of one form. The last document is the error that ended the
// command.
func TestLogFormatJSON_Failures(t *testing.T) {
	_, sound := clitest.OnStream(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	wrong := write("wrong.yaml", "version: 1\nname: shop\nsource: {table: shop}\nsinks: {a: {vieww: {}}, b: {view: {}}}\n")
	elsewhere := write("elsewhere.yaml", "version: 1\nname: shop\nsource: {table: nosuch}\nsinks: {orders: {view: {table: orders, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}}}\n")
	unnamed := write("unnamed.jsonl", `{"eventID":"1","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"a"},"SK":{"S":"b"}},"NewImage":{"PK":{"S":"a"},"SK":{"S":"b"},"Status":{"S":"paid"}},"SequenceNumber":"1","StreamViewType":"NEW_AND_OLD_IMAGES"}}`+"\n")
	broken := write("broken.jsonl", "no record\n")
	warned := filepath.Join("..", "..", "pipeline", "config", "testdata", "good", "warnings.yaml")
	for command, want := range map[string]struct {
		code   int
		levels string // levels of the lines before the last one, each once
		class  string // start of the error
	}{
		"consume -c nosuch.yaml":                                         {cli.ExitConfig, "", "missing: "},
		"consume -c " + wrong:                                            {cli.ExitConfig, "", ""},
		"consume -c " + sound:                                            {cli.ExitUsage, "", ""},
		"consume -c " + sound + " --stop-timeout x":                      {cli.ExitUsage, "", ""},
		"consume --no-such-flag":                                         {cli.ExitUsage, "", ""},
		"consume --health off -c " + elsewhere + " --local":              {cli.ExitFailure, "", "missing: "},
		"replay -c nosuch.yaml x":                                        {cli.ExitConfig, "", "missing: "},
		"replay -c " + wrong + " x":                                      {cli.ExitConfig, "", ""},
		"replay -c " + sound + " " + unnamed:                             {cli.ExitUsage, "", ""},
		"replay -c " + sound + " nosuch.jsonl --local":                   {cli.ExitFailure, "", "missing: "},
		"replay -c " + sound + " " + unnamed + " " + broken + " --local": {cli.ExitDeadLetters, "WARN", ""},
		"redrive -c " + sound + " --local":                               {cli.ExitFailure, "", ""},
		"validate -c " + wrong:                                           {cli.ExitConfig, "", ""},
		"validate -c " + warned:                                          {cli.ExitConfig, "WARN", ""},
		"validate --no-such-flag":                                        {cli.ExitUsage, "", ""},
		"validate -c " + sound + " extra":                                {cli.ExitUsage, "", ""},
		"query view --profile " + wrong + " --local":                     {cli.ExitFailure, "", "system: "},
		"nosuch": {cli.ExitUsage, "", ""},
	} {
		args := strings.Fields(command)
		if args[len(args)-1] == "--local" {
			args = append(args, filepath.Join(t.TempDir(), "out"))
		}
		for _, args := range [][]string{append([]string{"--log-format", "json"}, args...), append(slices.Clone(args), "--log-format=json")} {
			var out, errs bytes.Buffer
			if code := program.Main(args, cli.Streams{Out: &out, Err: &errs}); code != want.code {
				t.Errorf("%v: exit code %d, want %d\n%s", args, code, want.code, errs.String())
				continue
			}
			var levels []string
			var last map[string]any
			for line := range strings.Lines(errs.String()) {
				last = nil
				if err := json.Unmarshal([]byte(line), &last); err != nil {
					t.Errorf("%v writes the line %q: %v", args, line, err)
				}
				level, _ := last["level"].(string)
				if text, _ := last["msg"].(string); last["time"] == nil || level == "" || text == "" {
					t.Errorf("%v writes the line %s, want time, level and msg", args, line)
				}
				if !slices.Contains(levels, level) {
					levels = append(levels, level)
				}
			}
			if text, _ := last["error"].(string); text == "" || last["level"] != "ERROR" || last["exit_code"] != float64(want.code) || !strings.HasPrefix(text, want.class) {
				t.Errorf("%v ends with %v, want an error with exit code %d that begins with %q", args, last, want.code, want.class)
			}
			if got := strings.TrimSuffix(strings.Join(levels, " "), "ERROR"); strings.TrimSpace(got) != want.levels {
				t.Errorf("%v has lines of %s before the last, want %q\n%s", args, got, want.levels, errs.String())
			}
		}
	}
}

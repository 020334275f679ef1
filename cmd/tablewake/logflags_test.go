package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// With --log-format json every line is a document, also those that are no line of the log;
// --log-level says which there are.
func TestLogFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                                    "debug=false info=true",
		"--log-level debug":                   "debug=true info=true",
		"--log-level WARN --log-format json":  "debug=false info=false",
		"--log-format json":                   "debug=false info=true",
		"--log-format json --log-level debug": "debug=true info=true",
	} {
		var flags logFlags
		c := &cobra.Command{Use: "x", Run: func(*cobra.Command, []string) {}}
		flags.add(c)
		c.SetArgs(strings.Fields(args))
		if err := c.Execute(); err != nil {
			t.Fatal(err)
		}
		flags.set = c.Flags().Changed("log-level")
		var b bytes.Buffer
		w := &logWriter{w: &b, flags: &flags}
		log := newLogger(w, 0, false)
		log.Debug("a debug line")
		log.Info("an info line")
		fmt.Fprint(w, "health: ")
		fmt.Fprintln(w, "http://127.0.0.1:8080")
		fmt.Fprint(w, "a line without an end")
		w.end()
		if got := fmt.Sprintf("debug=%v info=%v", strings.Contains(b.String(), "a debug line"), strings.Contains(b.String(), "an info line")); got != want {
			t.Errorf("%q has %s: %s", args, got, b.String())
		}
		if lines := strings.Count(b.String(), "health: http"); lines != 1 {
			t.Errorf("%q has a line in parts: %s", args, b.String())
		}
		for line := range strings.Lines(b.String()) {
			if strings.Contains(args, "json") != json.Valid([]byte(line)) {
				t.Errorf("%q writes the line %s", args, line)
			}
		}
	}
	var flags logFlags
	c := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, Run: func(*cobra.Command, []string) {}}
	flags.add(c)
	c.SetArgs([]string{"--log-level", "loud"})
	if c.Execute() == nil {
		t.Error("a level that is none is taken")
	}
}

// Whatever fails, standard error is documents of one form, and the last one is the error that ended the command.
func TestLogFormatJSON_Failures(t *testing.T) {
	_, sound := onStream(t)
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
		levels string // of the lines before the last one, once each
		class  string // the error begins with it
	}{
		"consume -c nosuch.yaml":                                         {exitConfig, "", "missing: "},
		"consume -c " + wrong:                                            {exitConfig, "", ""},
		"consume -c " + sound:                                            {exitUsage, "", ""},
		"consume -c " + sound + " --stop-timeout x":                      {exitUsage, "", ""},
		"consume --no-such-flag":                                         {exitUsage, "", ""},
		"consume --health off -c " + elsewhere + " --local":              {exitFailure, "INFO", "missing: "},
		"replay -c nosuch.yaml x":                                        {exitConfig, "", "missing: "},
		"replay -c " + wrong + " x":                                      {exitConfig, "", ""},
		"replay -c " + sound + " " + unnamed:                             {exitUsage, "", ""},
		"replay -c " + sound + " nosuch.jsonl --local":                   {exitFailure, "", "missing: "},
		"replay -c " + sound + " " + unnamed + " " + broken + " --local": {exitDeadLetters, "WARN", ""},
		"redrive -c " + sound + " --local":                               {exitFailure, "", ""},
		"validate -c " + wrong:                                           {exitConfig, "", ""},
		"validate -c " + warned:                                          {exitConfig, "WARN", ""},
		"validate --no-such-flag":                                        {exitUsage, "", ""},
		"validate -c " + sound + " extra":                                {exitUsage, "", ""},
		"query view --profile " + wrong + " --local":                     {exitFailure, "", "system: "},
		"nosuch": {exitUsage, "", ""},
	} {
		args := strings.Fields(command)
		if args[len(args)-1] == "--local" {
			args = append(args, filepath.Join(t.TempDir(), "out"))
		}
		for _, args := range [][]string{append([]string{"--log-format", "json"}, args...), append(slices.Clone(args), "--log-format=json")} {
			var out, errs bytes.Buffer
			if code := run(args, streams{strings.NewReader(""), &out, &errs}); code != want.code {
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

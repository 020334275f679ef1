package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// With --log-format json every line is a JSON document, even a line that the logger did not write. --log-level chooses
// which lines the logger writes.
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
		flags.levelGiven = c.Flags().Changed("log-level")
		var b bytes.Buffer
		w := &logWriter{w: &b, flags: &flags}
		log := NewLogger(w, 0, false)
		log.Debug("a debug line")
		log.Info("an info line")
		fmt.Fprint(w, "health: ")
		fmt.Fprintln(w, "http://127.0.0.1:8080")
		fmt.Fprint(w, "a line without an end")
		w.flush()
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

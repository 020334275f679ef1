package main

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// format is the form of a command's result: text for people, json for programs.
type format string

const (
	formatText format = "text"
	formatJSON format = "json"
)

var formats = []string{string(formatText), string(formatJSON)}

// addFormat adds -o to a command.
func addFormat(c *cobra.Command, f *format) {
	*f = formatText
	c.Flags().VarP(f, "output", "o", "text or json")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// String returns the value of the flag.
func (f *format) String() string { return string(*f) }

// Type returns the flag's type, as help shows it.
func (f *format) Type() string { return "format" }

// Set takes a value of the flag.
func (f *format) Set(s string) error {
	if !slices.Contains(formats, s) {
		return usageError("%q is no output format: %s", s, strings.Join(formats, " or "))
	}
	*f = format(s)
	return nil
}

// writeJSON writes v as one line, without HTML escapes.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// thousands is n with separators: 1,234,567.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

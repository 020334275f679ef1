package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Format is the form of a command's result: text for people, json for programs.
type Format string

// The forms of output.
const (
	FormatText Format = "text"
	FormatJSON Format = "json"
)

// formats are the values of -o.
var formats = []string{string(FormatText), string(FormatJSON)}

// AddFormat adds -o to a command.
func AddFormat(c *cobra.Command, f *Format) {
	*f = FormatText
	c.Flags().VarP(f, "output", "o", "text or json")
	completeFormat(c, "output")
}

// AddFormatBelow adds -o to a command and those below it.
func AddFormatBelow(c *cobra.Command, f *Format) {
	*f = FormatText
	c.PersistentFlags().VarP(f, "output", "o", "text or json")
	completeFormat(c, "output")
}

func completeFormat(c *cobra.Command, flag string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// String returns the value of the flag.
func (f *Format) String() string { return string(*f) }

// Type returns the flag's type, as help shows it.
func (f *Format) Type() string { return "format" }

// Set takes a value of the flag.
func (f *Format) Set(s string) error {
	if !slices.Contains(formats, s) {
		return Usagef("%q is no output format: %s", s, strings.Join(formats, " or "))
	}
	*f = Format(s)
	return nil
}

// WriteJSON writes v as one line, without HTML escapes.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Print writes a result: v as JSON where that is asked for, else the text. What cannot be written is told at the
// command's end.
func Print(w io.Writer, f Format, v any, text func(io.Writer)) error {
	if f == FormatJSON {
		return WriteJSON(w, v)
	}
	text(w)
	return nil
}

// Thousands is n with separators: 1,234,567.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Counted is "1 sink" or "2 sinks".
func Counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Either is a where first is true, else b.
func Either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// TextOf is the text of an error, "" without one.
func TextOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Known is a time, nil where there is none.
func Known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

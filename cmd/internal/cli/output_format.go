package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Format is the form of a command's result: text for people, json for programs.
type Format string

// The output formats.
const (
	FormatText Format = "text"
	FormatJSON Format = "json"
)

// formats are the values of -o.
var formats = []string{string(FormatText), string(FormatJSON)}

// AddFormat adds the flag -o to c.
func AddFormat(c *cobra.Command, f *Format) {
	*f = FormatText
	c.Flags().VarP(f, "output", "o", "text or json")
	completeFormat(c, "output")
}

// AddPersistentFormat adds the flag -o to c and its subcommands.
func AddPersistentFormat(c *cobra.Command, f *Format) {
	*f = FormatText
	c.PersistentFlags().VarP(f, "output", "o", "text or json")
	completeFormat(c, "output")
}

func completeFormat(c *cobra.Command, flag string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// String returns the value of the flag.
func (f *Format) String() string { return string(*f) }

// Type returns the name of the flag's type in the help text.
func (f *Format) Type() string { return "format" }

// Set sets the value of the flag.
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

// Print writes a result: v as JSON, or text. It ignores write errors of text, because [Run] reports them at the end.
func Print(w io.Writer, f Format, v any, text func(io.Writer)) error {
	if f == FormatJSON {
		return WriteJSON(w, v)
	}
	text(w)
	return nil
}

// Thousands formats n with separators: 1,234,567.
func Thousands(n int64) string {
	digits, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		digits, sign = digits[1:], "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Count returns n with separators and the noun, with an s unless n is 1: "1 record", "1,234 records".
func Count[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Thousands(int64(n)) + " " + noun
}

// CountWithVerb returns n with the noun and its verb. The verb is one if n is 1, and otherwise many. With "shard",
// "waits" and "wait" it returns "1 shard waits" or "1,234 shards wait".
func CountWithVerb[N int | int64](n N, noun, one, many string) string {
	return Count(n, noun) + " " + Choose(n == 1, one, many)
}

// Choose returns a if cond is true, else b.
func Choose[T any](cond bool, a, b T) T {
	if cond {
		return a
	}
	return b
}

// CountTrue returns how many of some conditions hold.
func CountTrue(conditions ...bool) (n int) {
	for _, holds := range conditions {
		if holds {
			n++
		}
	}
	return n
}

// ErrorText returns the text of err, or "" if err is nil.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// OptionalTime returns a pointer to t for a JSON field with omitempty, or nil if t is the zero time.
func OptionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

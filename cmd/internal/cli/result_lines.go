package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// Results writes the results of a query, one per line.
type Results struct {
	w         *bufio.Writer
	format    Format
	limit     int    // 0: no limit
	Written   int    // results written
	Truncated bool   // there are more results than limit
	NextFlags string // flags that show the next results, for End. Default: none
}

// NewResults returns a writer to the standard output of s. It writes at most limit results, or all results if limit is
// 0.
func NewResults(s Streams, f Format, limit int) *Results {
	return &Results{w: bufio.NewWriter(s.Out), format: f, limit: limit}
}

// End flushes the output of a query that ended with err, and returns the error of the command. If results were left
// out, it prints that to errs.
func (r *Results) End(err error, errs io.Writer) error {
	if errors.Is(err, errLimit) {
		err = nil
	}
	flushErr := r.w.Flush() // even after an error, to show the results before it
	err = cmp.Or(err, flushErr)
	if err != nil || !r.Truncated {
		return err
	}
	next := ""
	if r.NextFlags != "" {
		next = ", and " + r.NextFlags + " the next"
	}
	fmt.Fprintf(errs, "there are more: these are the first %s; --limit 0 shows all%s\n", Thousands(int64(r.Written)), next)
	return nil
}

// errLimit ends a query at its limit. [Results.End] drops it.
var errLimit = errors.New("the limit is reached")

// Add writes one result: v as JSON, or text. If Add returns an error, the caller ends the query and passes the error to
// [Results.End].
func (r *Results) Add(v any, text func() string) error {
	if r.limit > 0 && r.Written == r.limit {
		r.Truncated = true
		return errLimit
	}
	var err error
	if r.format == FormatJSON {
		err = WriteJSON(r.w, v)
	} else {
		_, err = fmt.Fprintln(r.w, text())
	}
	if err != nil {
		return err
	}
	r.Written++
	return nil
}

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Results writes what a query finds, a line each.
type Results struct {
	w      *bufio.Writer
	format Format
	limit  int // 0: none
	N      int
	More   bool // than were written
}

// NewResults writes to the output of s, limit results at most; 0: all.
func NewResults(s Streams, f Format, limit int) *Results {
	return &Results{w: bufio.NewWriter(s.Out), format: f, limit: limit}
}

// End ends a query that ended with err: it says on errs where there is more than was written.
func (r *Results) End(err error, errs io.Writer) error {
	if errors.Is(err, errEnough) {
		err = nil
	}
	if failed := r.w.Flush(); err == nil { // what was found before an error is shown
		err = failed
	}
	if err == nil && r.More {
		fmt.Fprintf(errs, "there are more: these are the first %s; --limit 0 shows all\n", Thousands(int64(r.N)))
	}
	return err
}

// errEnough ends a query that has found as much as was asked for.
var errEnough = errors.New("enough")

// Add writes one result: v as JSON, or text.
func (r *Results) Add(v any, text func() string) error {
	if r.limit > 0 && r.N == r.limit {
		r.More = true
		return errEnough
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
	r.N++
	return nil
}

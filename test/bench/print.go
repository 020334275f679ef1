package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const nameWidth = 26

// head prints what the figures were measured on, and the header of the table.
func (r *report) head(w io.Writer) {
	fmt.Fprintf(w, "%s, %d cores, %s, %s, %s\n", r.Machine, r.Cores, r.System, r.Go, r.Date)
	fmt.Fprintf(w, "peers: %s\n", strings.Join(r.Peers, ", "))
	for _, s := range r.Records {
		fmt.Fprintf(w, "  %-15s %s bytes (%s in a Lambda event): %s\n", s.Name, figure(float64(s.Bytes)), figure(float64(s.Lambda)), s.Note)
	}
	fmt.Fprintf(w, "at most %d rounds of each side, in turns\n\n", r.rounds)
	fmt.Fprintf(w, "%-*s  %-9s  %32s  %32s  %8s  %8s  %s\n", nameWidth, "", "", "ours, min / median / max", "peer, min / median / max", "ratio", "budget", "allocations a record")
}

// line prints a row of the table.
func (r result) line(w io.Writer) {
	verdict := ""
	if r.shortfall() != "" {
		verdict = "  MISSED"
	}
	fmt.Fprintf(w, "%-*s  %-9s  %32s  %32s  %8s  %8s  %s%s\n", nameWidth, r.name(), r.Unit, r.Ours, r.Peer, ratio(r.Ratio), r.budget(), r.allocations(), verdict)
}

// notes prints the work of each row.
func (r *report) notes(w io.Writer) {
	fmt.Fprintln(w)
	said := map[string]bool{}
	for _, row := range r.Rows {
		text := row.Work + "; against " + row.Against
		if row.Note != "" {
			text += "; " + row.Note
		}
		if shape := slices.ContainsFunc(r.Records, func(s size) bool { return s.Name == row.Variant }); shape || said[text] {
			continue // the row of the usual record has the same text
		}
		said[text] = true
		fmt.Fprintf(w, "%s: %s\n", row.name(), text)
		if why := row.shortfall(); why != "" {
			fmt.Fprintf(w, "  missed: %s\n", why)
		}
	}
}

func (s spread) String() string {
	return figure(s.Min) + " / " + figure(s.Median) + " / " + figure(s.Max)
}

// allocations returns the allocations of both sides, if they were counted.
func (r result) allocations() string {
	if r.OursAllocs == nil {
		return ""
	}
	text := few(*r.OursAllocs)
	if r.MostAllocs != nil {
		text += " (≤ " + few(*r.MostAllocs) + ")"
	}
	if r.PeerAllocs != nil {
		text += ", peer " + few(*r.PeerAllocs)
	}
	return text
}

// figure formats a number with at least three digits, and separates thousands.
func figure(x float64) string {
	if math.Abs(x) < 100 {
		return few(x)
	}
	digits := strconv.FormatFloat(x, 'f', 0, 64)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// few formats a number with at most three significant digits.
func few(x float64) string {
	if math.Abs(x) >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// ratio formats a ratio with two decimals, or with one if the ratio is 10 or more.
func ratio(x float64) string {
	if x < 10 {
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

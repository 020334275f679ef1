package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
)

// view is the data of the templates for a Status.
type view struct {
	Pipeline string
	Headline headline
	Totals   []total
	Problems []problem

	Sinks, Shards, Letters, Gaps, Fills, Consumers, Ledgers panel

	Foot string
}

// total is a number at the top.
type total struct {
	Label, Value, Note string
	Scope              string // the subject of the number: this process, or all consumers
	Tone               tone
}

// The scopes of totals and panels.
const (
	thisProcess = "this process"
	all         = "all"
)

// panel is a part of the page with a heading.
type panel struct {
	Title  string
	Blocks []block
}

// add adds blocks, and returns the panel.
func (p panel) add(blocks ...block) panel {
	p.Blocks = append(p.Blocks, blocks...)
	return p
}

// noteBlock returns a paragraph about all consumers.
func noteBlock(text string, t tone) block { return block{Scope: all, Text: text, Tone: t} }

// block is a paragraph, or a table. With Fold it is below a summary that opens it.
type block struct {
	Scope string
	Text  string
	Tone  tone
	Table *table
	Fold  string // the summary; "": it is always shown
	Open  bool   // with Fold: the block is open at first
	ID    string // id of the table and of the fold, unique on the page
}

// table is a table. Its rows have a cell for each column; the first one names the row.
type table struct {
	Caption string
	Head    []column
	Rows    [][]cell
}

type column struct {
	Name   string
	Number bool
	Long   bool // its texts are sentences, which are wrapped
}

// newTable returns a table with these columns. A # before the name is for numbers, and a ~ for sentences, which wrap.
func newTable(caption string, columns ...string) *table {
	t := &table{Caption: caption}
	for _, name := range columns {
		t.Head = append(t.Head, column{Name: strings.TrimLeft(name, "#~"), Number: name[0] == '#', Long: name[0] == '~'})
	}
	return t
}

// Class returns the classes of a cell of the column.
func (c column) Class(t tone) string {
	class := string(t)
	if c.Number {
		class += " n"
	}
	if c.Long {
		class += " long"
	}
	return strings.TrimSpace(class)
}

// cell is a cell of a table.
type cell struct {
	Text  string
	Tone  tone
	Depth int // number of generations above a shard
}

// tone is the importance of a text. It is a class of the stylesheet; a word always says the same.
type tone string

const (
	plain tone = ""
	dim   tone = "dim" // unknown, or done
	good  tone = "good"
	busy  tone = "busy" // in progress, such as a start
	warn  tone = "warn"
	bad   tone = "bad"
)

const unknown = "unknown"

// newView makes the view of s at now.
func newView(o Options, s Status, now time.Time) *view {
	if s.Fleet != nil && now.Sub(s.Fleet.At) > staleAfter {
		s.Fleet = nil // the last report is too old: all may be different now
	}
	v := &view{Pipeline: o.Pipeline}
	problems := findProblems(o, s, now)
	v.Headline = newHeadline(s, problems)
	v.Problems = shortenList(problems)
	v.Totals = totals(s)
	v.Sinks = sinksPanel(s, now)
	v.Shards = shardsPanel(s, now)
	v.Letters = lettersPanel(o, s)
	v.Gaps = gapsPanel(s)
	v.Fills = fillsPanel(s)
	v.Consumers = consumersPanel(s)
	v.Ledgers = ledgersPanel(s)
	v.Foot = footText(s, now)
	return v
}

// staleAfter is the age from which a report is not shown. It is the time of a look at large stores, the pause and the
// next look. A new report comes within seconds, or the error of the look.
const staleAfter = 45 * time.Second

// maxProblems is the maximum number of listed problems.
const maxProblems = 50

// footText describes the age of the page.
func footText(s Status, now time.Time) string {
	text := "As of " + clock(now)
	if s.Fleet != nil {
		text += "; what all consumers share was read at " + clock(s.Fleet.At)
	}
	return text + "."
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// count returns an exact number.
func count[N int | int64](n N) string { return cli.Thousands(int64(n)) }

func number[N int | int64](n N) cell { return cell{Text: count(n)} }

// counted returns the cell of a number, dim if n is 0.
func counted[N int | int64](n N) cell {
	if n == 0 {
		return cell{Text: "0", Tone: dim}
	}
	return number(n)
}

// whyUnknown returns the reason why there is no report of all consumers.
func whyUnknown(s Status) string {
	return cli.If(s.FleetError == "", "a look is under way", "the last look failed")
}

func unknownCell() cell { return cell{Text: unknown, Tone: dim} }

func noCell() cell { return cell{Text: "–", Tone: dim} }

// rate returns a number a second: whole from 10 on.
func rate(perSecond float64) string {
	switch {
	case perSecond > 0 && perSecond < 0.05:
		return "under 0.1 a second"
	case perSecond > 0 && perSecond < 10:
		return fmt.Sprintf("%.1f a second", perSecond)
	}
	return count(int64(math.Round(perSecond))) + " a second"
}

// optionalRate returns the cell of a rate that may be unknown.
func optionalRate(perSecond *float64) cell {
	if perSecond == nil {
		return unknownCell()
	}
	return cell{Text: rate(*perSecond)}
}

// age formats a duration in its two largest units.
func age(d time.Duration) string { return fleet.FormatAge(d) }

func ageOf(seconds float64) string { return age(time.Duration(seconds * float64(time.Second))) }

// durationSince returns the time since at; unknown if at is nil.
func durationSince(at *time.Time, now time.Time) string {
	if at == nil {
		return unknown
	}
	return age(max(now.Sub(*at), 0))
}

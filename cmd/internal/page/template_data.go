package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
)

// view is the data of the templates, made from a Status.
type view struct {
	Pipeline string
	Headline headline
	Totals   []total
	Problems []problem

	Sinks, Shards, Letters, Gaps, Fills, Consumers, Ledgers panel

	Foot string
}

// total is one of the numbers at the top of the page.
type total struct {
	Label, Value, Note string
	Scope              string // what the number is about: thisProcess or all
	Tone               tone
}

// The scopes of totals and blocks: this process or all consumers.
const (
	thisProcess  = "this process"
	allConsumers = "all"
)

// panel is a part of the page with a heading.
type panel struct {
	Title  string
	Blocks []block
}

// add returns the panel with additional blocks.
func (p panel) add(blocks ...block) panel {
	p.Blocks = append(p.Blocks, blocks...)
	return p
}

// noteBlock returns a paragraph about all consumers.
func noteBlock(text string, t tone) block { return block{Scope: allConsumers, Text: text, Tone: t} }

// block is a paragraph or a table. A block with Fold is hidden below a summary, which opens it.
type block struct {
	Scope string
	Text  string
	Tone  tone
	Table *table
	Fold  string // the summary; "": the block is always shown
	Open  bool   // with Fold: the block is open when the page is loaded
	ID    string // id of the table and of the fold, unique on the page
}

// table is a table of the page. Each row has a cell for each column, and the first cell names the row.
type table struct {
	Caption string
	Head    []column
	Rows    [][]cell
}

type column struct {
	Name   string
	Number bool
	Long   bool // its texts are sentences, which wrap
}

// newTable returns a table with these columns. A # before the name marks a column of numbers. A ~ marks a column of
// sentences, which wrap.
func newTable(caption string, columns ...string) *table {
	t := &table{Caption: caption}
	for _, name := range columns {
		t.Head = append(t.Head, column{Name: strings.TrimLeft(name, "#~"), Number: name[0] == '#', Long: name[0] == '~'})
	}
	return t
}

// Class returns the CSS classes of a cell of the column.
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
	Depth int // for a shard: number of shown generations above it; the cell is indented by this depth
}

// tone is the importance of a text. It is a class of the stylesheet, which shows it as a colour. The words of the text
// say the same, so that nobody depends on the colour.
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

// newView returns the view of s at the time now.
func newView(o Options, s Status, now time.Time) *view {
	if s.Fleet != nil && now.Sub(s.Fleet.At) > staleAfter {
		s.Fleet = nil // the last report is too old to be true now
	}
	v := &view{Pipeline: o.Pipeline}
	problems := findProblems(o, s, now)
	v.Headline = newHeadline(s, problems)
	v.Problems = listedProblems(problems)
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

// staleAfter is the age from which a report is not shown. A report needs a read of all stores. Even if they are large,
// staleAfter is long enough for a read, the pause after it, and the next read. Usually the next report or error comes
// within seconds.
const staleAfter = 45 * time.Second

// maxProblems is the maximum number of listed problems.
const maxProblems = 50

// footText returns the last line of the page, with the times of its data.
func footText(s Status, now time.Time) string {
	text := "As of " + formatTime(now)
	if s.Fleet != nil {
		text += "; what all consumers share was read at " + formatTime(s.Fleet.At)
	}
	return text + "."
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// formatCount formats a number exactly, with separators between thousands.
func formatCount[N int | int64](n N) string { return cli.Thousands(int64(n)) }

func numberCell[N int | int64](n N) cell { return cell{Text: formatCount(n)} }

// dimIfZeroCell returns the cell of a number, dim if n is 0.
func dimIfZeroCell[N int | int64](n N) cell {
	if n == 0 {
		return cell{Text: "0", Tone: dim}
	}
	return numberCell(n)
}

// whyUnknown returns the reason why there is no report of all consumers.
func whyUnknown(s Status) string {
	return cli.Choose(s.FleetError == "", "a look is under way", "the last look failed")
}

func unknownCell() cell { return cell{Text: unknown, Tone: dim} }

func dashCell() cell { return cell{Text: "–", Tone: dim} }

// formatRate formats a number per second. From 10 on it has no decimals.
func formatRate(perSecond float64) string {
	switch {
	case perSecond > 0 && perSecond < 0.05:
		return "under 0.1 a second"
	case perSecond > 0 && perSecond < 10:
		return fmt.Sprintf("%.1f a second", perSecond)
	}
	return formatCount(int64(math.Round(perSecond))) + " a second"
}

// rateCell returns the cell of a rate; nil is an unknown rate.
func rateCell(perSecond *float64) cell {
	if perSecond == nil {
		return unknownCell()
	}
	return cell{Text: formatRate(*perSecond)}
}

func formatAgeSeconds(seconds float64) string {
	return fleet.FormatAge(time.Duration(seconds * float64(time.Second)))
}

// durationSince formats the time from at to now. If at is nil, it returns "unknown".
func durationSince(at *time.Time, now time.Time) string {
	if at == nil {
		return unknown
	}
	return fleet.FormatAge(max(now.Sub(*at), 0))
}
